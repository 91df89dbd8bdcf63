"""Simulation of mechanisms: `simulate_mechanism`, and the stepwise `MechanismSimulation`.

Rosenbrock methods use algorithm 1 of Sandu et al. (2001), explicit methods their algorithm 2. The
coordinates are repartitioned whenever the condition number has grown by a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import ResultWithStatistics, Statistics
from manip_dyn.integration import (
    Events,
    Jacobian,
    Solution,
    Status,
    StepControl,
    integrate,
)
from manip_dyn.integration.formulation import checked_method
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.integration.settings import checked_control
from manip_dyn.multibody.change_points import (
    KINK,
    NEAR_CHANGE_POINT,
    SINGULAR,
    BranchSamples,
    State,
    cross_change_point,
    expand_along_branch,
    has_loops,
    interpolate_state,
    step_kinks,
)
from manip_dyn.multibody.equations.forces import UserForce
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.state_space import (
    GROWTH,
    expand,
    linearized_rates,
    needs_repartition,
    rates,
)
from manip_dyn.multibody.equations.tables import Bodies, Forces, Links, Loads, Memory
from manip_dyn.multibody.model.elements import Tyre
from manip_dyn.multibody.model.linearization import linear_motion, prepare_memory
from manip_dyn.multibody.model.mechanism import Mechanism

RTOL = 1e-6
"""Default relative tolerance."""
IMMEDIATE = 1e9
"""Tolerance of the event for a new partition, which does not require an exact time."""
KINK_CONDITION = 3.0
"""Ratio of the condition number to its minimum above which a kink may be a change point."""
RETRY_CONDITION = 8.0
"""Growth of the condition number after which a failed crossing is repeated."""
MOST_STEPS = 300
"""Maximum number of steps for the comparison of two steps across a change point."""
NARROW_TOLERANCES = (1e-6, 1e-9)
"""Tolerances that replace larger ones near a change point. The second one is used if the solution
changes to another motion with the first one."""
NARROWING = 0.1
"""Factor for the tolerances after a step to a state that cannot be assembled."""
NEAR_CONDITION = 100.0
"""Ratio of the condition number to its minimum above which a change point is near."""
REDUNDANT_TOLERANCE = 1e-8
"""Largest violation of redundant constraints."""


INSPECTION_INTERVAL = 5e-3
"""Default length of the intervals at which steps are inspected, s; see `StepControl.inspection`.
"""
STIFF = 50.0
"""Ratio of the fastest eigenvalue to the rate of the motion above which a mechanism is stiff."""


PREFERENCE = 0.01
"""Weight of the pivots of stiff coordinates, which tend to become independent."""


def stiff_coordinates(mechanism: Mechanism) -> np.ndarray | None:
    """Return flags (N,) of the stiff coordinates, or None if the mechanism is not stiff.

    A mechanism is stiff if its fastest eigenvalue at the start is more than `STIFF` times the rate
    of the motion, 1/s. The rate of the motion is the largest of the slowest eigenvalue, the speeds
    and the square roots of the accelerations of the independent coordinates (in m and rad). A
    coordinate is stiff if its own frequency or decay rate exceeds `STIFF` times the rate of the
    motion: the force, moment or damping per displacement or velocity of its body without joints,
    divided by mass or inertia.
    """
    memory, y = prepare_memory(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
    linear = linear_motion(memory, y, 0.0)
    sizes, speeds = np.abs(linear.eigenvalues), np.abs(y[len(y) // 2 :])
    rate = max(sizes.min(), speeds.max(), np.sqrt(np.abs(linear.acceleration).max()))
    if not sizes.max() > STIFF * rate:
        return None
    loads, bodies = memory.group(Loads), memory.group(Bodies)
    turning = bodies.inertia[:, :3].sum(axis=1)  # mean of the four Euler parameters
    masses = np.repeat(np.column_stack([bodies.mass, turning]), (3, 4), axis=1).ravel()
    frequencies = np.sqrt(np.abs(np.diag(loads.stiffness)) / masses)
    rates = np.maximum(frequencies, np.abs(np.diag(loads.damping)) / masses)
    return np.asarray(rates > STIFF * rate)


def has_unannounced_forces(mechanism: Mechanism) -> bool:
    """Return whether there may be brief forces other than bumps at the times in `switches`.

    These are user forces that depend on time or position, and bumps whose times were removed from
    `Mechanism.switches`.
    """
    return any(
        (isinstance(force, UserForce) and force.depends_on_place)
        or (isinstance(force, Tyre) and not set(force.switches) <= set(mechanism.switches))
        for force in mechanism.forces
    )


class Samples(NamedTuple):
    """Times (k,), s, coordinates (k, N) and their rates (k, N), including the start."""

    t: Vector
    q: Vector
    v: Vector


class SegmentStart(NamedTuple):
    """Start of a segment: time (s), coordinates and rates (N,), and spring angles (f,)."""

    t: float
    q: Vector
    v: Vector
    angles: Vector


class MechanismSimulation:
    """Stepwise simulation of a mechanism; `advance_to` advances the time.

    Attributes:
        mechanism: The mechanism.
        method: Name of the method.
        t: Current time, s.
        q: Coordinates (N,): position, m, and Euler parameters of each body.
        v: Rates of the coordinates (N,).
        status: SUCCESS while the simulation can continue.
        reason: Sentence that explains why the simulation cannot continue, or "".
        violation: Largest violation of a constraint since the start, including redundant ones.
        redundant: Names of the constraints that are redundant in the current partition.
        statistics: Steps, failures and evaluations since the start.
        partitions: Number of partitions since the start.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        method: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        step: float | None = None,
        control: StepControl | None = None,
        jacobian: Jacobian | None = None,
        growth: float = GROWTH,
    ):
        """Start at time zero; see `simulate_mechanism` for the other arguments.

        A `jacobian` with ``mass=True`` replaces the exact one of Rosenbrock methods, see
        `linearized_rates`. The coordinates are repartitioned when their condition number has
        grown by the factor `growth`, above 1. With a `method`, the partition is that of Sandu et
        al. (2001), eq. 6. Without one, stiff coordinates tend to be independent.
        """
        if not isinstance(mechanism, Mechanism):
            raise ManipDynError(f"mechanism must be a Mechanism, got {mechanism!r}.")
        stiff = stiff_coordinates(mechanism) if method is None else None
        if method is None:
            is_stiff = stiff is not None and step is None
            explicit = stiff is None and step is None and len(mechanism.partition.ranks) > 1
            method = "rodas5p" if is_stiff else "rkdp54" if explicit else "rosenbrock_nystrom"
        solver = checked_method(method)
        if isinstance(solver, Taylor):
            raise ManipDynError(
                "method must be rosenbrock_nystrom, rodas5p, rosenbrock_w or an explicit method, "
                "got 'taylor': a mechanism has no series."
            )
        options: dict[str, Any] = {"method": method, "step": step}
        if (step, rtol, atol) == (None, None, None) and not solver.adaptive:
            raise ManipDynError(
                f"step must be given for method '{method}', which has no error estimate."
            )
        if step is None:
            rtol = RTOL if rtol is None else rtol
            options |= {"rtol": rtol, "atol": rtol if atol is None else atol}
        elif rtol is not None or atol is not None:
            raise ManipDynError(f"step must be None with rtol or atol, got {step!r} s.")
        if isinstance(solver, Rosenbrock):
            exact = Jacobian(linearized_rates, mechanism.freedoms, mass=True)
            options["jacobian"] = exact if jacobian is None else jacobian
        if not growth > 1.0:
            raise ManipDynError(f"growth must be above 1, got {growth!r}.")
        self.mechanism, self.method, self._growth = mechanism, method, growth
        control = checked_control(control)
        if control.inspection == "quiet":
            inspection = "all" if has_unannounced_forces(mechanism) else "none"
            control = replace(control, inspection=inspection)
        if control.inspection_interval is None:
            control = replace(control, inspection_interval=INSPECTION_INTERVAL)
        self._options, self._user_control = options, control
        self._derivatives = "jacobian" in options
        self._weights = None if stiff is None else np.where(stiff, PREFERENCE, 1.0)
        self._memory: Memory
        self._looped = has_loops(mechanism)
        self.reset()

    def reset(self) -> None:
        """Restart at time zero in the initial state of the mechanism."""
        self.t, self.q, self.v = 0.0, self.mechanism.q0, self.mechanism.v0
        self.status, self.reason = Status.SUCCESS, ""
        self.statistics, self.partitions = Statistics(), 0
        self._worst = np.zeros(2)
        self._bridge: tuple[State, State] | None = None
        self._control, self._least, self._rejected = self._user_control, np.inf, 0.0
        self._narrow: float | None = None
        self._since, self._until = 0.0, np.inf
        self._use(self._roles(self.q), None)

    @property
    def violation(self) -> float:
        """Largest violation of a constraint over all samples."""
        return float(self._worst.max())

    def advance_to(self, end: float) -> list[Samples]:
        """Advance to time `end`, s, or until a failure; return the samples of all segments.

        Raises:
            ManipDynError: If the mechanism cannot be assembled during the motion.
        """
        parts: list[Samples] = []
        if self._bridge is not None and self.t < end:
            parts.append(self._over(*self._bridge, end))
        while self.t < end and not self.reason:
            self._widen()
            begin = SegmentStart(
                self.t, self.q, self.v, self._memory.array(Forces, "angles").copy()
            )
            solution = self._solved(min(end, self._until))
            self.statistics += solution.statistics
            branch, narrower = self._expanded(solution, begin), self._narrower()
            if narrower is not None and self._is_doubtful(branch, solution):
                until = float(solution.t[-1])
                if self._has_failed(solution) and len(branch.q) > 1 and not self._is_near(branch):
                    begin = self._before_last(parts, branch, solution)
                    narrower = max(narrower, NARROWING * self._active.get("rtol", 0.0))
                self._go_back(begin, until if until > begin.t else end, narrower)
                continue
            if len(branch.q) < len(solution.t):
                t = solution.t[len(branch.q)]
                raise ManipDynError(f"the mechanism cannot be assembled at t = {t:g} s.")
            parts.append(Samples(solution.t, branch.q, branch.v))
            self._y = solution.y_last
            self._set_state(parts[-1])
            if self._worst[1] > REDUNDANT_TOLERANCE:
                self._stop(
                    f"redundant constraints are violated by {self._worst[1]:.3g} at "
                    f"t = {self.t:.9g} s, and do not follow from the others: "
                    f"{', '.join(self.redundant)}"
                )
            elif self._has_changed_over(parts[-1]) and self._cross(parts, end):
                continue
            elif solution.status is Status.EVENT or (solution.success and self._is_due()):
                self._repartition(parts, end)
            elif not solution.success:
                self.status, self.reason = solution.status, solution.reason
        return parts

    # ----------------------------------------------------- temporary narrow tolerances
    @property
    def _active(self) -> dict[str, Any]:
        """Options of the current segment: the user's, or those with narrower tolerances."""
        if self._narrow is None:
            return self._options
        atol = min(self._narrow, self._options.get("atol", np.inf))
        return self._options | {"step": None, "rtol": self._narrow, "atol": atol}

    def _narrower(self) -> float | None:
        """Return the next narrower tolerance, or None if there is none."""
        current = self._active.get("rtol", np.inf)
        return (
            next((rtol for rtol in NARROW_TOLERANCES if rtol < current), None)
            if self._looped
            else None
        )

    def _is_doubtful(self, branch: BranchSamples, solution: Solution) -> bool:
        """Return whether a solution must be repeated with narrower tolerances."""
        if branch.strayed or self._narrow is not None:
            return branch.strayed
        if self._active.get("rtol", np.inf) <= NARROW_TOLERANCES[0]:
            return False
        if self._has_failed(solution):
            return True
        return self._is_near(branch, ended=solution.status is Status.EVENT)

    def _is_near(self, branch: BranchSamples, ended: bool = True) -> bool:
        """Return whether a segment passes near a change point or, if `ended`, ends near one."""
        last = self._condition_at(branch.q[-1]) if ended else 0.0
        return max(branch.condition, last) > NEAR_CONDITION * self._least

    def _has_failed(self, solution: Solution) -> bool:
        return not solution.success and solution.status is not Status.EVENT

    def _before_last(
        self, parts: list[Samples], branch: BranchSamples, solution: Solution
    ) -> SegmentStart:
        """Append the samples before the last step, and return the start of that step."""
        count = min(len(branch.q), len(solution.t) - 1)
        parts.append(Samples(solution.t[:count], branch.q[:count], branch.v[:count]))
        state = (float(solution.t[count - 1]), branch.q[count - 1], branch.v[count - 1])
        return SegmentStart(*state, self._memory.array(Forces, "angles").copy())

    def _go_back(self, begin: SegmentStart, until: float, rtol: float) -> None:
        """Return to the start of a segment, and use the tolerance `rtol` up to time `until`."""
        self._narrow, self._since, self._until = rtol, begin.t, until
        self._control = self._user_control
        self.t, self.q, self.v = begin.t, begin.q, begin.v
        self._use(self._roles(self.q), begin.angles)

    def _widen(self) -> None:
        """Restore the user's tolerances after the segment, unless a change point is near."""
        if self.t < self._until:
            return
        if self._condition_at(self.q) > KINK_CONDITION * self._least:
            self._until = self.t + (self.t - self._since)
        else:
            self._narrow, self._until, self._control = None, np.inf, self._user_control

    def _set_state(self, samples: Samples) -> None:
        self.t, self.q, self.v = samples.t[-1], samples.q[-1], samples.v[-1]

    def _stop(self, reason: str) -> None:
        self.status, self.reason = Status.EVENT, reason

    def _use(self, roles: Partition, angles: Vector | None) -> float:
        """Switch to a partition and return its condition number."""
        self.redundant = self.mechanism.names_of(roles.redundant)
        self._memory, self._y = prepare_memory(
            self.mechanism, self.q, self.v, roles, angles, self._derivatives
        )
        self.partitions += 1
        limits = self._memory.array(Links, "limits")
        condition = float(limits[1])
        limits[1] *= self._growth / GROWTH
        self._least = min(self._least, condition)
        return condition

    def _repartition(self, parts: list[Samples], end: float) -> None:
        """Switch to a new partition, or cross a change point that is near."""
        roles, angles = self._roles_at(self.q), self._memory.array(Forces, "angles")
        condition = self._use(roles, angles) if roles else np.inf
        if not condition > NEAR_CHANGE_POINT * self._least:
            self._rejected = 0.0
        elif condition > RETRY_CONDITION * self._rejected and not self._cross(parts, end, -2):
            self._rejected = condition
            if condition > SINGULAR * self._least:
                self._stop(f"the mechanism is in a singular position at t = {self.t:.9g} s")

    def _is_due(self) -> bool:
        needs_repartition(self.t, self._y, self._memory, need := np.zeros(1))
        return bool(need[0] > 0.0)

    def _has_changed_over(self, samples: Samples) -> bool:
        return len(samples.t) > 1 and bool(step_kinks(*samples).max() > KINK)

    def _cross(self, parts: list[Samples], end: float, index: int | None = None) -> bool:
        """Cross a change point that follows a sample; return whether this succeeded.

        `index` is the negative index of the sample in the last segment. By default, it is the
        sample before the sharpest kink, and the method returns False if the mechanism is far from
        a change point.
        """
        last, kinked = parts[-1], index is None
        if index is None:
            index = int(np.argmax(step_kinks(*last))) - len(last.t)
            if self._condition_at(last.q[index + 1]) < KINK_CONDITION * self._least:
                return False
        state = State(last.t[index], last.q[index], last.v[index], np.nan)
        lengths = (float(last.t[index + 1] - state.t), self._least)
        rtol = self._active.get("rtol", RTOL)
        target = cross_change_point(state, *lengths, self._one_step, self._steps, rtol, kinked)
        if target is None:
            return False
        rows = slice(None, len(last.t) + index + 1)
        parts[-1] = Samples(last.t[rows], last.q[rows], last.v[rows])
        self.t, self.q, self.v = state[:3]
        parts.append(self._over(state, target, end))
        return True

    def _over(self, first: State, last: State, end: float) -> Samples:
        """Set the state after a step across a change point, or at `end` if `end` is earlier.

        Return the samples before and after.
        """
        start = (self.t, self.q, self.v)
        if last.t <= end:
            self._bridge, state = None, (last.t, last.q, last.v)
        else:
            self._bridge, state = (first, last), (end, *interpolate_state(first, last, end))
            self._worst[0] = max(self._worst[0], np.abs(self.mechanism.violations(state[1])).max())
        self._set_state(samples := Samples(*map(np.array, zip(start, state, strict=True))))
        if self._bridge is None:
            self._use(self._roles(self.q), self._memory.array(Forces, "angles"))
        return samples

    def _roles_at(self, q: Vector) -> Partition | None:
        return self.mechanism.roles_at(q, self._weights)

    def _roles(self, q: Vector) -> Partition:
        roles = self._roles_at(q)
        if roles is None:
            raise ManipDynError("the mechanism is in a singular position.")
        return roles

    def _condition_at(self, q: Vector) -> float:
        roles = self._roles_at(q)
        if roles is None:
            return np.inf
        memory, _ = prepare_memory(self.mechanism, q, 0.0 * q, roles, derivatives=False)
        return float(memory.array(Links, "limits")[1])

    def _one_step(self, state: State, end: float) -> State:
        control = replace(self._user_control, first_step=end - state.t)
        return self._integrated(state, end, {"rtol": 1e9, "atol": 1e9, "control": control})

    def _steps(self, state: State, end: float) -> State:
        return self._integrated(
            state, end, {"control": replace(self._control, max_steps=MOST_STEPS)}
        )

    def _integrated(self, state: State, end: float, options: dict[str, Any]) -> State:
        """Return the final state of a solution from a state to a time."""
        angles = self._memory.array(Forces, "angles")
        roles = self._roles(state.q)
        memory, y = prepare_memory(
            self.mechanism, state.q, state.v, roles, angles, self._derivatives
        )
        solution = integrate(rates, (state.t, end), y, p=memory, **(self._active | options))
        q, v = np.empty((2, 1, self.mechanism.size))
        rows = solution.y_last[np.newaxis]
        if not solution.success or expand(rows, memory, q, v, np.zeros(2)) < 1:
            raise ManipDynError(f"no solution reaches t = {end:.9g} s.")
        return State(end, q[0], v[0], self._condition_at(q[0]))

    def _solved(self, end: float) -> Solution:
        events = Events(needs_repartition, terminal=True, direction=1, tolerance=IMMEDIATE)
        switches = self.mechanism.switches_between(self.t, end)
        solution = integrate(
            rates,
            (self.t, end),
            self._y,
            p=self._memory,
            events=events,
            t_switch=switches or None,
            control=self._control,
            **self._active,
        )
        if len(solution.t) > 1 and "rtol" in self._active:
            # A step that ends at `end` was shortened.
            last = float(np.diff(solution.t[-3:]).max())
            self._control = replace(self._control, first_step=last)
        return solution

    def _expanded(self, solution: Solution, begin: SegmentStart) -> BranchSamples:
        """Return coordinates and rates of a solution up to a state that cannot be assembled."""
        return expand_along_branch(
            solution.t,
            solution.y,
            self._memory,
            (begin.q, begin.angles),
            self._worst,
            self._looped and self._narrower() is not None,
        )


@dataclass(frozen=True, eq=False, repr=False)
class MechanismMotion(ResultWithStatistics):
    """Motion of a mechanism with k samples.

    Attributes:
        t: Times (k,) of the steps, s.
        q: Coordinates (k, N): position, m, and Euler parameters of each body.
        v: Rates of the coordinates (k, N).
        status: SUCCESS, EVENT in a position from which the motion cannot continue, or the status
            with which the integration failed.
        reason: Reason for the end as a sentence.
        statistics: Steps, failures and evaluations of the accelerations.
        partitions: Number of partitions.
        violation: Largest violation of a constraint over all samples, including redundant ones.
        redundant: Names of the redundant constraints of the last partition; empty for
            `simulate_by_adams`.
        method: Name of the method; "" for `simulate_by_adams`.
    """

    t: Vector
    q: Matrix
    v: Matrix
    status: Status
    reason: str
    statistics: Statistics
    partitions: int
    violation: float
    redundant: tuple[str, ...] = ()
    method: str = ""

    @property
    def success(self) -> bool:
        """Whether the motion was simulated for the whole duration."""
        return self.status is Status.SUCCESS


def simulate_mechanism(
    mechanism: Mechanism,
    duration: float,
    *,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    control: StepControl | None = None,
) -> MechanismMotion:
    """Simulate a mechanism from its initial state.

    Args:
        mechanism: The mechanism.
        duration: Duration, s.
        method: Name in `md.METHODS` except ``taylor``; use a Rosenbrock method for stiff
            mechanisms. Default: ``rodas5p`` if the mechanism is stiff at the start (see
            `stiff_coordinates`) and `step` is None; ``rkdp54`` for other mechanisms whose
            coordinates are partitioned block by block (more than 100 constraints) if `step` is
            None; else ``rosenbrock_nystrom``.
        rtol: Relative tolerance of the independent coordinates and velocities. Default: 1e-6
            without `step`.
        atol: Absolute tolerance: m or Euler parameters for coordinates, and m/s or 1/s for their
            rates. Default: `rtol`.
        step: Fixed step instead of tolerances, s.
        control: Step control.

    Returns:
        The motion with a sample at the start and after every step. Its `status` and `reason`
        report failures.

    Raises:
        ManipDynError: If an argument is invalid, or if the mechanism cannot be assembled during
            the motion.
    """
    positive("duration", duration, "s")
    simulation = MechanismSimulation(
        mechanism, method=method, rtol=rtol, atol=atol, step=step, control=control
    )
    parts = simulation.advance_to(duration)
    rows = [slice(None), *([slice(1, None)] * (len(parts) - 1))]
    t, q, v = (
        np.concatenate([part[k][row] for part, row in zip(parts, rows, strict=True)])
        for k in range(3)
    )
    return MechanismMotion(
        t=t,
        q=q,
        v=v,
        status=simulation.status,
        reason=simulation.reason or f"t = {duration:.9g} s was reached",
        violation=simulation.violation,
        redundant=simulation.redundant,
        statistics=simulation.statistics,
        partitions=simulation.partitions,
        method=str(simulation.method),
    )

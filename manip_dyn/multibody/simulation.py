"""Simulation of mechanisms: `simulate_mechanism`, and `MechanismSimulation` step by step.

Algorithm 1 of Sandu et al. (2001) with the Rosenbrock methods, their algorithm 2 with explicit
ones. The coordinates are partitioned again whenever the condition number has grown by a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import ResultWithStatistics, Statistics
from manip_dyn.integration import (
    METHODS,
    Events,
    Jacobian,
    Solution,
    Status,
    StepControl,
    integrate,
)
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.taylor import Taylor
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
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.state_space import (
    expand,
    linearized_rates,
    needs_repartition,
    rates,
)
from manip_dyn.multibody.equations.tables import Forces, Links, Memory
from manip_dyn.multibody.model.linearization import prepare_memory
from manip_dyn.multibody.model.mechanism import Mechanism

RTOL = 1e-6
"""Relative tolerance by default."""
IMMEDIATE = 1e9
"""Tolerance of the event that asks for a new partition: it need not be found in time."""


KINK_CONDITION = 3.0
"""A condition number so much larger than the least one asks if a kink was a change point."""
RETRY_CONDITION = 8.0
"""A change point that could not be crossed is tried again where the number is so much larger."""
MOST_STEPS = 300
"""From one end of a step across a change point to that of a longer one, to compare."""
NARROW_TOLERANCES = (1e-6, 1e-9)
"""Tolerances by which wide ones are replaced near a change point; the second where the first has
gone over to another motion."""
TENTH = 0.1
"""After a step to where the mechanism cannot be assembled, tolerances are so much narrower."""
NEAR_CONDITION = 100.0
"""A condition number by so much larger than the least one is near."""
REDUNDANT_TOLERANCE = 1e-8
"""Largest violation of constraints that were left out because they follow from the others."""


class Samples(NamedTuple):
    """Times (k,), s, coordinates (k, N) and their rates (k, N), the first where it began."""

    t: Vector
    q: Vector
    v: Vector


class SegmentStart(NamedTuple):
    """Where a part of the motion began: time, s, coordinates, rates (N,), and springs' angles."""

    t: float
    q: Vector
    v: Vector
    angles: Vector


class MechanismSimulation:
    """The state of one moving mechanism; `advance_to` moves it in time.

    Attributes:
        mechanism: What moves.
        t: Time, s.
        q: Coordinates (N,): position and Euler parameters of each body, m.
        v: Their rates (N,).
        status: SUCCESS as long as it can go on.
        reason: Why it cannot, in one sentence; empty as long as it can.
        violation: Largest violation of a constraint so far, redundant ones included.
        redundant: The constraints that are left out now, by name.
        statistics: Steps, failures and evaluations so far.
        partitions: Number of partitions so far.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        method: str = "rosenbrock_nystrom",
        rtol: float | None = None,
        atol: float | None = None,
        step: float | None = None,
        control: StepControl | None = None,
        jacobian: Jacobian | None = None,
    ):
        """Begin at the assembly; the arguments are those of `simulate_mechanism`.

        A `jacobian` with a mass, see `linearized`, takes the place of the exact one.
        """
        if not isinstance(mechanism, Mechanism):
            raise ManipDynError(f"mechanism is {mechanism!r}; expected a Mechanism")
        if isinstance(METHODS.get(method) if isinstance(method, str) else method, Taylor):
            raise ManipDynError(
                "method is 'taylor', but a mechanism has no series; expected rosenbrock_nystrom, "
                "rodas5p, rosenbrock_w or an explicit method"
            )
        options: dict[str, Any] = {"method": method, "step": step}
        if step is None:
            rtol = RTOL if rtol is None else rtol
            options |= {"rtol": rtol, "atol": rtol if atol is None else atol}
        if isinstance(METHODS.get(method), Rosenbrock):
            exact = Jacobian(linearized_rates, mechanism.freedoms, mass=True)
            options["jacobian"] = exact if jacobian is None else jacobian
        self.mechanism = mechanism
        self._options, self._given_control = options, control or StepControl()
        self._memory: Memory
        self._looped = has_loops(mechanism)
        self.reset()

    def reset(self) -> None:
        """Go back to the assembly at time zero."""
        self.t, self.q, self.v = 0.0, self.mechanism.q0, self.mechanism.v0
        self.status, self.reason = Status.SUCCESS, ""
        self.statistics, self.partitions = Statistics(), 0
        self._worst = np.zeros(2)
        self._bridge: tuple[State, State] | None = None
        self._control, self._least, self._refused = self._given_control, np.inf, 0.0
        self._narrow: float | None = None
        self._since, self._until = 0.0, np.inf
        self._use(self.mechanism.partition, None)

    @property
    def violation(self) -> float:
        """Largest violation of a constraint over all samples."""
        return float(self._worst.max())

    def advance_to(self, end: float) -> list[Samples]:
        """Move on to the time `end`, s, or until there is a `reason` not to; return the steps."""
        parts: list[Samples] = []
        if self._bridge is not None and self.t < end:
            parts.append(self._over(*self._bridge, end))
        while self.t < end and not self.reason:
            self._widen()
            begin = SegmentStart(self.t, self.q, self.v, self._memory.group(Forces).angles.copy())
            solution = self._solved(min(end, self._until))
            self.statistics += solution.statistics
            found, narrower = self._expanded(solution, begin), self._narrower()
            if narrower is not None and self._is_doubtful(found, solution):
                until = float(solution.t[-1])
                if self._has_failed(solution) and len(found.q) > 1 and not self._is_near(found):
                    begin = self._before_last(parts, found, solution)
                    narrower = max(narrower, TENTH * self._active.get("rtol", 0.0))
                self._go_back(begin, until if until > begin.t else end, narrower)
                continue
            if len(found.q) < len(solution.t):
                where = solution.t[len(found.q)]
                raise ManipDynError(f"the mechanism cannot be assembled at t = {where:g} s")
            parts.append(Samples(solution.t, found.q, found.v))
            self._y = solution.y_last
            self._stand_at(parts[-1])
            if self._worst[1] > REDUNDANT_TOLERANCE:
                self._stop(
                    f"constraints that were left out as redundant are violated by "
                    f"{self._worst[1]:.3g} at t = {self.t:.9g} s; expected them to follow from "
                    f"the others: {', '.join(self.redundant)}"
                )
            elif self._has_changed_over(parts[-1]) and self._cross(parts, end):
                continue
            elif solution.status is Status.EVENT or (solution.success and self._is_due()):
                self._repartition(parts, end)
            elif not solution.success:
                self.status, self.reason = solution.status, solution.reason
        return parts

    # ----------------------------------------------------- narrow tolerances for a while
    @property
    def _active(self) -> dict[str, Any]:
        """The options of the present part: those that are given, or with narrow tolerances."""
        if self._narrow is None:
            return self._options
        atol = min(self._narrow, self._options.get("atol", np.inf))
        return self._options | {"step": None, "rtol": self._narrow, "atol": atol}

    def _narrower(self) -> float | None:
        """Return the next tolerance that is narrower than the present one, if there is any."""
        now = self._active.get("rtol", np.inf)
        return (
            next((each for each in NARROW_TOLERANCES if each < now), None)
            if self._looped
            else None
        )

    def _is_doubtful(self, found: BranchSamples, solution: Solution) -> bool:
        """Return whether narrower tolerances should tell the motion that a solution is of."""
        if found.strayed or self._narrow is not None:
            return found.strayed
        if self._active.get("rtol", np.inf) <= NARROW_TOLERANCES[0]:
            return False
        if self._has_failed(solution):
            return True
        return self._is_near(found, ended=solution.status is Status.EVENT)

    def _is_near(self, found: BranchSamples, ended: bool = True) -> bool:
        """Return whether a part comes near a change point on the way, or where it has `ended`."""
        last = self._condition_at(found.q[-1]) if ended else 0.0
        return max(found.condition, last) > NEAR_CONDITION * self._least

    def _has_failed(self, solution: Solution) -> bool:
        return not solution.success and solution.status is not Status.EVENT

    def _before_last(
        self, parts: list[Samples], found: BranchSamples, solution: Solution
    ) -> SegmentStart:
        """Keep what was found before the last step, and return where that began."""
        kept = min(len(found.q), len(solution.t) - 1)
        parts.append(Samples(solution.t[:kept], found.q[:kept], found.v[:kept]))
        here = (float(solution.t[kept - 1]), found.q[kept - 1], found.v[kept - 1])
        return SegmentStart(*here, self._memory.group(Forces).angles.copy())

    def _go_back(self, begin: SegmentStart, until: float, rtol: float) -> None:
        """Stand where a part began, with narrower tolerances up to its end."""
        self._narrow, self._since, self._until = rtol, begin.t, until
        self._control = self._given_control
        self.t, self.q, self.v = begin.t, begin.q, begin.v
        self._use(self._roles(self.q), begin.angles)

    def _widen(self) -> None:
        """Take the given tolerances again behind the part, unless a change point is near."""
        if self.t < self._until:
            return
        if self._condition_at(self.q) > KINK_CONDITION * self._least:
            self._until = self.t + (self.t - self._since)
        else:
            self._narrow, self._until, self._control = None, np.inf, self._given_control

    def _stand_at(self, samples: Samples) -> None:
        self.t, self.q, self.v = samples.t[-1], samples.q[-1], samples.v[-1]

    def _stop(self, reason: str) -> None:
        self.status, self.reason = Status.EVENT, reason

    def _use(self, roles: Partition, angles: Vector | None) -> float:
        """Lead by a partition from now on; return its condition number."""
        self.redundant = self.mechanism.names_of(roles.redundant)
        self._memory, self._y = prepare_memory(self.mechanism, self.q, self.v, roles, angles)
        self.partitions += 1
        condition = self._memory.group(Links).limits[1]
        self._least = min(self._least, condition)
        return float(condition)

    def _repartition(self, parts: list[Samples], end: float) -> None:
        """Lead by a new partition; beside a change point begin on its other side."""
        roles, angles = self.mechanism.roles_at(self.q), self._memory.group(Forces).angles
        condition = self._use(roles, angles) if roles else np.inf
        if not condition > NEAR_CHANGE_POINT * self._least:
            self._refused = 0.0
        elif condition > RETRY_CONDITION * self._refused and not self._cross(parts, end, -2):
            self._refused = condition
            if condition > SINGULAR * self._least:
                self._stop(f"the mechanism is in a singular position at t = {self.t:.9g} s")

    def _is_due(self) -> bool:
        """Return whether a new partition is due at the end of a period."""
        needs_repartition(self.t, self._y, self._memory, need := np.zeros(1))
        return bool(need[0] > 0.0)

    def _has_changed_over(self, samples: Samples) -> bool:
        return len(samples.t) > 1 and bool(step_kinks(*samples).max() > KINK)

    def _cross(self, parts: list[Samples], end: float, place: int | None = None) -> bool:
        """Go on behind a change point that follows a sample; return whether that was possible.

        The sample is by default that before the sharpest kink, if a change point is near.
        """
        last, kinked = parts[-1], place is None
        if place is None:
            place = int(np.argmax(step_kinks(*last))) - len(last.t)
            if self._condition_at(last.q[place + 1]) < KINK_CONDITION * self._least:
                return False
        state = State(last.t[place], last.q[place], last.v[place], np.nan)
        lengths = (float(last.t[place + 1] - state.t), self._least)
        rtol = self._active.get("rtol", RTOL)
        found = cross_change_point(state, *lengths, self._one_step, self._steps, rtol, kinked)
        if found is None:
            return False
        rows = slice(None, len(last.t) + place + 1)
        parts[-1] = Samples(last.t[rows], last.q[rows], last.v[rows])
        self.t, self.q, self.v = state[:3]
        parts.append(self._over(state, found, end))
        return True

    def _over(self, first: State, last: State, end: float) -> Samples:
        """Stand behind a step across a change point, or where it is at a time before its end."""
        here = (self.t, self.q, self.v)
        if last.t <= end:
            self._bridge, there = None, (last.t, last.q, last.v)
        else:
            self._bridge, there = (first, last), (end, *interpolate_state(first, last, end))
            self._worst[0] = max(self._worst[0], np.abs(self.mechanism.violations(there[1])).max())
        self._stand_at(samples := Samples(*map(np.array, zip(here, there, strict=True))))
        if self._bridge is None:
            self._use(self._roles(self.q), self._memory.group(Forces).angles)
        return samples

    def _roles(self, q: Vector) -> Partition:
        roles = self.mechanism.roles_at(q)
        if roles is None:
            raise ManipDynError("the mechanism is in a singular position")
        return roles

    def _condition_at(self, q: Vector) -> float:
        roles = self.mechanism.roles_at(q)
        if roles is None:
            return np.inf
        memory, _ = prepare_memory(self.mechanism, q, 0.0 * q, roles)
        return float(memory.group(Links).limits[1])

    def _one_step(self, state: State, end: float) -> State:
        control = replace(self._given_control, first_step=end - state.t)
        return self._led(state, end, {"rtol": 1e9, "atol": 1e9, "control": control})

    def _steps(self, state: State, end: float) -> State:
        return self._led(state, end, {"control": replace(self._control, max_steps=MOST_STEPS)})

    def _led(self, state: State, end: float, options: dict[str, Any]) -> State:
        """Return where a solution from a state (time, coordinates, rates) to a time ends."""
        angles = self._memory.group(Forces).angles
        roles = self._roles(state.q)
        memory, y = prepare_memory(self.mechanism, state.q, state.v, roles, angles)
        options = self._active | options
        if options["step"] is not None:
            options = options | {"step": end - state.t}
            for name in ("rtol", "atol"):
                options.pop(name, None)
        solution = integrate(rates, (state.t, end), y, p=memory, **options)
        q, v = np.empty((2, 1, self.mechanism.size))
        rows = solution.y_last[np.newaxis]
        if not solution.success or expand(rows, memory, q, v, np.zeros(2)) < 1:
            raise ManipDynError(f"no step leads to t = {end:.9g} s")
        return State(end, q[0], v[0], self._condition_at(q[0]))

    def _solved(self, end: float) -> Solution:
        events = Events(needs_repartition, terminal=True, direction=1, tolerance=IMMEDIATE)
        switches = [time for time in self.mechanism.switches if self.t < time < end]
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
            # The last step was shortened if it met the end.
            last = float(np.diff(solution.t[-3:]).max())
            self._control = replace(self._control, first_step=last)
        return solution

    def _expanded(self, solution: Solution, begin: SegmentStart) -> BranchSamples:
        """Return all coordinates of a solution's samples, as far as they can be assembled."""
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
    """A motion of k samples.

    Attributes:
        t: Times of the steps (k,), s.
        q: Coordinates (k, N): position and Euler parameters of each body, m.
        v: Their rates (k, N).
        status: How it ended; EVENT in a position that it cannot leave.
        reason: The same in one sentence.
        statistics: Steps, failures and evaluations of the accelerations.
        partitions: How many partitions were used.
        violation: Largest violation of a constraint over all samples, redundant ones included.
        redundant: The constraints that were left out last because they follow from the others,
            by name.
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

    @property
    def success(self) -> bool:
        """Whether the whole duration was simulated."""
        return self.status is Status.SUCCESS


def simulate_mechanism(
    mechanism: Mechanism,
    duration: float,
    *,
    method: str = "rosenbrock_nystrom",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    control: StepControl | None = None,
) -> MechanismMotion:
    """Simulate a mechanism from its assembly on.

    Args:
        mechanism: What moves.
        duration: s.
        method: Name in `md.METHODS`; those of Rosenbrock for stiff mechanisms.
        rtol: Relative tolerance of the independent coordinates and velocities. Default: 1e-6
            without a step.
        atol: Absolute tolerance, m and per s. Default: as much as rtol.
        step: Fixed step, s, instead.
        control: How steps are chosen.
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
    )

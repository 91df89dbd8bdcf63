"""`execute`: closed-loop execution of a plan with model errors, disturbances, delay and noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.codegen.kernel_addresses import addresses
from manip_dyn.control.state_estimation import HISTORY, white_noise
from manip_dyn.core.checks import Matrix, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.ensembles.sweeps.closed_loop.feedback import Law, Reference
from manip_dyn.ensembles.sweeps.closed_loop.loop import (
    DIVERGED,
    FINISHED,
    STOPPED_FOR_EXECUTOR,
    Arm,
    Kernels,
    Loop,
    Scratch,
    one_period,
    run_loop,
)
from manip_dyn.planning import Plan, PlanExecutor, Tuning
from manip_dyn.planning.execution.executor import Tracking
from manip_dyn.planning.execution.identification import CAPACITY
from manip_dyn.planning.execution.segments import MOST_SEGMENTS
from manip_dyn.robot import Robot


@lru_cache(maxsize=64)
def kernels_of(robot: Robot) -> Kernels:
    """Return the addresses of a robot's kernels."""
    return Kernels(*addresses(robot, *Kernels._fields))


def arm_of(robot: Robot, conditions: Conditions) -> Arm:
    """Return the actual arm under the conditions."""
    n = robot.n
    push, friction = (
        np.full(n, value) if np.ndim(value) == 0 else value
        for value in (conditions.disturbance, conditions.friction)
    )
    payload = np.zeros(10)
    payload[0] = conditions.payload / conditions.mass_scale
    return Arm(
        mass_scale=float(conditions.mass_scale),
        payload=payload,
        wrench=np.zeros(6),
        damping=np.array(robot.damping),
        stiffness=np.array(robot.stiffness),
        rest=np.array(robot.rest),
        armature=np.array(robot.armature),
        friction=finite_vector("friction", friction, n),
        push=finite_vector("disturbance", push, n),
        push_begin=float(conditions.disturbance_start),
        push_end=float(conditions.disturbance_start + conditions.disturbance_duration),
        step=float(conditions.step),
    )


def scratch_of(n: int) -> Scratch:
    """Allocate working memory for an arm of n joints."""
    return Scratch(
        **{name: np.zeros(n) for name in ("q", "v", "zero", "bias", "pivots", "tau")},
        **{name: np.zeros(n) for name in ("low", "high", "impulse")},
        mass=np.zeros((n, n)),
        inverse=np.zeros((n, n)),
        place=np.zeros(2 * n),
        rates=np.zeros((4, 2 * n)),
    )


def law_of(robot: Robot, tuning: Tuning) -> Law:
    """Return the arrays of the feedback, with a zero integral."""
    n = robot.n
    predicted = ("slowed", "errors", "ahead")
    arrays = ("sum", "requested", "accelerations", *predicted, "there", "zero", "lack", "pivots")
    return Law(
        stiffness=float(tuning.stiffness),
        damping=float(tuning.damping),
        integral=float(tuning.integral),
        tolerance=float(tuning.tolerance),
        limit=np.array(robot.tau_max),
        fastest=np.array(robot.v_max),
        saturated=np.zeros(1),
        mass=np.zeros((n, n)),
        part=np.zeros((n, n)),
        **{name: np.zeros(n) for name in arrays},
    )


def reference_of(tracking: Tracking, returns: int, n: int) -> Reference:
    """Return the reference of an executor; `returns` counts deviations from the plan."""
    updated_at = np.nan if tracking.updated_at is None else tracking.updated_at
    reference = tracking.reference._asdict()
    return Reference(
        **{name: np.array(value, dtype=np.float64) for name, value in reference.items()},
        goal=np.array(tracking.goal),
        begin=float(tracking.begin),
        off_plan=float(tracking.off_plan),
        off_speed=np.array(tracking.off_speed),
        stopping=bool(tracking.stopping),
        integrates=returns > 0,
        updated_at=np.array([updated_at, np.nan]),
        q_ref=np.zeros(n),
        v_ref=np.zeros(n),
        correction=np.zeros(n),
    )


def noise_of(conditions: Conditions, n: int, count: int) -> tuple[Matrix, Matrix | None]:
    """Return the noise (count, 2 n) of the measurements, and its measured deviations (2, n).

    The deviations are measured at rest before the motion. They are None without noise.
    """
    deviations = np.repeat([conditions.position_noise, conditions.velocity_noise], n)
    if not deviations.any():
        return np.zeros((count, 2 * n)), None
    random = np.random.default_rng(conditions.seed)
    noise = deviations * random.standard_normal((count, 2 * n))
    at_rest = deviations * random.standard_normal((HISTORY, 2 * n))
    times = conditions.control_period * np.arange(float(HISTORY))
    return noise, white_noise(times, at_rest).reshape(2, n)


MOST_PERIODS = 10_000_000
WATCH_TIME = 1.0
"""Default simulated time after the end of the plan, s."""


class ClosedLoop:
    """One closed-loop execution, in the compiled loop and, for other tasks, by `PlanExecutor`."""

    def __init__(self, plan: Plan, conditions: Conditions, tuning: Tuning):
        """Allocate the arrays."""
        robot, n, period = plan.robot, plan.robot.n, conditions.control_period
        assumed = (
            conditions.delay if conditions.assumed_delay is None else conditions.assumed_delay
        )
        duration = conditions.duration or plan.t_final + conditions.delay + WATCH_TIME
        self.last, ring = (
            max(round(duration / period), 1),
            max(int(conditions.delay / period + 1e-9) + 3, CAPACITY + 1),
        )
        if self.last + ring > MOST_PERIODS:
            raise ManipDynError(
                f"duration and delay must be at most {MOST_PERIODS} control periods of "
                f"{period:g} s, got {duration:g} s and {conditions.delay:g} s."
            )
        self._kernels = kernels_of(robot)
        self._arm = arm_of(robot, conditions)
        self._scratch = scratch_of(n)
        self._law = law_of(robot, tuning)
        noise, measured = noise_of(conditions, n, self.last)
        self.executor = PlanExecutor(robot, plan, period + assumed, tuning, period, noise=measured)
        self.loop = Loop(
            period=period,
            delay=conditions.delay,
            lead=assumed,
            horizon=period + assumed,
            offsets=np.zeros((ring, MOST_SEGMENTS)),
            efforts=np.zeros((ring, MOST_SEGMENTS, n)),
            counts=np.ones(ring),
            noise=noise,
            states=np.zeros((self.last + 1, 2 * n)),
            q=np.zeros(n),
            v=np.zeros(n),
        )
        self._y = np.concatenate([plan.q0, np.zeros(n)])
        zero = np.zeros(n)
        self.loop.efforts[:, 0] = customize(robot).unchecked.inverse_dynamics(plan.q0, zero, zero)

    def go(self, compiled: bool) -> int:
        """Run the execution and return the number of the last measurement."""
        number, compiled = 0, compiled and not self.loop.noise.any()
        while True:
            tracking = self.executor.tracking if compiled else None
            if tracking is not None:
                code, number = self._compiled(tracking, number)
                if code in (FINISHED, DIVERGED):
                    return number
            elif number == self.last:
                self.loop.states[number] = self._y
                return number
            number = self._by_executor(number, tracking is None)

    def _compiled(self, tracking: Tracking, number: int) -> tuple[int, int]:
        """Run compiled code until it requires the executor."""
        law, executor, n = self._law, self.executor, len(self.loop.q)
        law.sum[:], law.saturated[0] = tracking.sum, tracking.saturated
        law.slowed[:], law.errors[:] = tracking.slowed, tracking.velocity_errors
        followed = reference_of(tracking, executor.returns, n)
        if executor.arrival_time is not None:
            followed.updated_at[1] = executor.arrival_time
        loop = self.loop._replace(horizon=executor.horizon)
        code, number = run_loop(
            self._kernels, self._arm, law, followed, loop, self._scratch, number, self._y
        )
        updated_at = None if np.isnan(followed.updated_at[0]) else float(followed.updated_at[0])
        executor.tracked(
            updated_at,
            law.sum.copy(),
            bool(law.saturated[0]),
            law.slowed.astype(bool),
            law.errors.copy(),
        )
        if code == STOPPED_FOR_EXECUTOR:
            self._restore_record(number)
        return code, number

    def _restore_record(self, number: int) -> None:
        """Store the measurements and commands before measurement `number` in the executor."""
        loop, n, record = self.loop, len(self.loop.q), self.executor.record
        kept = np.arange(number - record.size_after(number), number)
        states, rows = loop.states[kept] + loop.noise[kept], kept % len(loop.counts)
        record.restore(
            number,
            np.asarray(kept * loop.period - loop.lead, dtype=np.float64),
            states[:, :n],
            states[:, n:],
            loop.offsets[rows],
            loop.efforts[rows],
            loop.counts[rows],
        )

    def _by_executor(self, number: int, measure: bool) -> int:
        """Call the executor for one measurement; return the number of the next one."""
        loop, n = self.loop, len(self.loop.q)
        if measure:
            loop.states[number] = self._y
            loop.q[:] = self._y[:n] + loop.noise[number, :n]
            loop.v[:] = self._y[n:] + loop.noise[number, n:]
        t = number * loop.period - loop.lead
        segments = self.executor.segments(t, loop.q.copy(), loop.v.copy())[:MOST_SEGMENTS]
        row = number % len(loop.counts)
        loop.counts[row] = len(segments)
        for k, segment in enumerate(segments):
            loop.offsets[row, k], loop.efforts[row, k] = segment.offset, segment.effort
        one_period(self._kernels, self._arm, loop, number, self._y, self._scratch)
        return number + 1


REST_TIME = 0.1
"""Minimum time at the goal at the end of the execution, s."""


@dataclass(frozen=True, eq=False, repr=False)
class Execution(Result):
    """Result of the closed-loop execution of a plan.

    Attributes:
        t: Times (k,) of the measurements, s.
        q: Noise-free positions (k, n), rad or m.
        v: Noise-free velocities (k, n), rad/s or m/s.
        arrival_time: Time after which the arm remains at the goal, s; NaN if it does not.
        returns: Number of deviations from the plan above `Tuning.off_plan`.
        status: ``arrived``, ``missed`` or ``diverged``.
        reason: Explanation of the status in one sentence.
    """

    t: Vector
    q: Matrix
    v: Matrix
    arrival_time: float
    returns: int
    status: str
    reason: str

    @property
    def success(self) -> bool:
        """Whether the arm is at its goal at the end."""
        return self.status == "arrived"


def execute(
    plan: Plan,
    conditions: Conditions | None = None,
    tuning: Tuning | None = None,
    compiled: bool = True,
) -> Execution:
    """Execute a plan on an arm that differs from the plan's model.

    In every control period a `PlanExecutor` responds to the measured state. Its regular tasks run
    in compiled code.

    Args:
        plan: Plan that ends at rest; the plan's robot is the assumed arm.
        conditions: Deviations from the assumptions of the plan.
        tuning: Parameters of the feedback.
        compiled: Whether to use the compiled loop. Otherwise, and with noise, `PlanExecutor`
            handles every measurement.

    Raises:
        ManipDynError: If the robot of the plan has dry friction, or the plan does not end at rest.
    """
    differences, robot = conditions or Conditions(), plan.robot
    if robot.has_dry_friction:
        raise ManipDynError(
            f"robot must have no dry friction for a closed loop, got '{robot.name}'; set "
            "coulomb_friction to zeros."
        )
    if plan.vf is not None and np.any(plan.vf):
        raise ManipDynError("the plan must end at rest, got final velocities.")
    closed = ClosedLoop(plan, differences, tuning or Tuning())
    count = closed.go(compiled)
    states = closed.loop.states[: count + 1]
    t: Vector = differences.control_period * np.arange(count + 1.0)
    q, v = states[:, : robot.n], states[:, robot.n :]
    arrival = _arrival_time(t, np.abs(q - plan.qf).max(axis=1), differences.tolerance)
    returns = closed.executor.returns
    if count < closed.last:
        reason = f"the arm's state diverged at {t[-1]:.3f} s"
        return Execution(t, q, v, np.nan, returns, "diverged", reason)
    if t[-1] - arrival >= REST_TIME:
        reason = f"at the goal since {arrival:.3f} s"
        return Execution(t, q, v, arrival, returns, "arrived", reason)
    off = float(np.abs(q[-1] - plan.qf).max())
    reason = f"{off:.3g} from the goal after {t[-1]:.3f} s, or there for less than {REST_TIME:g} s"
    return Execution(t, q, v, np.nan, returns, "missed", reason)


def _arrival_time(t: Vector, off: Vector, tolerance: float) -> float:
    away = np.flatnonzero(~(off <= tolerance))
    return float(t[0] if away.size == 0 else t[min(away[-1] + 1, len(t) - 1)])

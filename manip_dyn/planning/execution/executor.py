"""Closed-loop execution of a plan: efforts for the next period from the measured state."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.control.state_estimation import SIGMAS
from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.planning.execution.arrival import SPEED, Arrival, Breakaway
from manip_dyn.planning.execution.disturbance import DisturbanceObserver
from manip_dyn.planning.execution.effort_model import EffortModel
from manip_dyn.planning.execution.feedback import ErrorFilter, Feedback, Tuning
from manip_dyn.planning.execution.identification import MotionRecord
from manip_dyn.planning.execution.path_following import (
    SLOWEST,
    PathMotion,
    PathPoint,
    PlanPath,
    SpeedMargin,
)
from manip_dyn.planning.execution.pd_backup import PdBackup
from manip_dyn.planning.execution.progress_monitor import ProgressMonitor
from manip_dyn.planning.execution.return_motion import return_motion, stopping_motion
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.planning.execution.segments import Segment
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

LEAST_PROGRESS = 0.05
"""Smallest progress of an attempt to follow the rest of the path, as a fraction of the plan."""
SHORTEST_RETURN = 0.3
"""Shortest duration of a return to the path, s: a disturbance is compensated in the meantime."""
PAUSE = 0.5
"""Time at rest after a failed attempt to follow the rest of the path, s."""
CAUTIOUS = 0.75
"""Largest speed before a suspected delay is identified, as a fraction of the limit."""
SETTLING = 4
"""Periods in addition to the delay before a new motion is compared with the states."""
LAG = 0.1
"""Fraction of `Tuning.off_plan` above which a position error changes the motion."""
NOISY = 0.01
"""Standard deviation of the noise of the efforts, relative to their limits, from which a motion
leaves a reserve."""
UNEXPLAINED = 2.0
"""Multiple of the position error of `LAG` from which the arm follows the path more slowly without
a known cause."""
GROWTH = 1.25
"""Growth of the position error with which a motion is computed again."""
LEAST_RESERVE, RESERVE = 0.05, 0.25
"""Fraction of the effort limits that is reserved for the feedback on the path, and its increase at
the distance `Tuning.off_plan`."""
MOST_RESERVE = 0.3
"""Largest reserve."""
RESERVES = (0.95, 0.98, 1.0)
"""Fractions of the effort limits that a motion may use if the reserve is infeasible, in the order
in which they are tried."""
RESUMING = (0.7, 0.85, 0.98)
"""Fractions of the effort limits that a motion may use after the arm has left the path, in the
order in which they are tried."""
AT_REST = 0.05
"""Speed above which all joints are braked at the end of a brake along the path, rad/s or m/s."""
BRAKING = 0.9
"""Fraction of the effort limits that a braking motion may use, if this fraction suffices."""
EARLY = 1e-3
"""Fraction of `Tuning.off_plan` above which errors of the first periods are not corrected."""
SLIP = 50.0
"""Speed error per position error that feedback removes without another timing, 1/s."""
CELLS_AHEAD = 4
"""Maximum number of cells in a horizon that a transport delay extends beyond a period."""
LONGEST = 0.05
"""Longest time after a state for which efforts are computed in advance, s."""
REHEARSED = 48
"""Number of states of a rehearsal."""
LONGEST_DELAY = 0.02
"""Longest delay beyond the assumed one that can be identified, s."""


def spacing(horizon: float, period: float) -> float:
    """Return the cell length of an executor's reference, s."""
    return max(period, horizon / CELLS_AHEAD)


class Lead(NamedTuple):
    """Motion along the path until the next command acts.

    Attributes:
        points: Points (k + 1); `v` contains the velocities at the rate of the arm.
        offsets: Times at these points (k + 1,), s.
        efforts: Efforts between them (k, n).
        rate: Rate at the last point.
    """

    points: list[PathPoint]
    offsets: Vector
    efforts: Any
    rate: float


class Pace(NamedTuple):
    """Time rate at which an arm follows a plan, and the identified arm.

    Attributes:
        rate: Time of the plan per actual time.
        model: Masses and friction of the arm.
    """

    rate: float
    model: EffortModel


class Tracking(NamedTuple):
    """State of an executor from which a compiled control loop can continue.

    Attributes:
        reference: The reference motion.
        begin: Start time of the motion, s.
        goal: Final positions (n,).
        off_plan: Position error of a joint above which the executor is required, rad or m.
        off_speed: Velocity errors (n,) above which the executor is required, rad/s or m/s.
        stopping: Whether the motion is a stop, after which another motion is required.
        updated_at: Time of the last update, s; None before the first update.
        sum: Integral of the position error (n,).
        saturated: Whether the last efforts were clipped to their limits.
    """

    reference: SampledMotion
    begin: float
    goal: Vector
    off_plan: float
    off_speed: Vector
    stopping: bool
    updated_at: float | None
    sum: Vector
    saturated: bool


class PlanExecutor:
    """Executes a plan and then holds the arm at the goal.

    The efforts are those of the plan, with exact jump times, plus feedback, within the limits.
    After the end, feedback with an integral term holds the goal.

    If a position error exceeds a tenth of `Tuning.off_plan`, the executor identifies the delay of
    the commands, the masses and the friction from the recorded motion (`MotionRecord`). The arm
    then follows the rest of the path at the highest rate that its efforts permit (`PlanPath`). If
    a joint deviates by more than `Tuning.off_plan`, `Tuning.replan` sets the response. By default
    the arm stops on the path and then follows the rest of it. After repeated attempts without
    progress, the arm stops and holds its position (`missed`). After a plan with nonzero final
    velocities, the arm stops.

    Attributes:
        plan: The plan.
        goal: Final positions (n,): the goal of the plan, or the end of a stop.
        returns: Number of deviations from the plan above `Tuning.off_plan`, or with the response
            ``new_motion``, of motions to the goal.
        horizon: Time ahead for which efforts are computed, s.
    """

    def __init__(
        self,
        robot: Robot,
        plan: Plan,
        horizon: float,
        tuning: Tuning | None = None,
        period: float | None = None,
        backup: PdBackup | None = None,
        reference: SampledMotion | None = None,
        noise: Matrix | None = None,
    ):
        """Prepare the execution of a plan that starts at time 0.

        Args:
            robot: The arm.
            plan: The plan.
            horizon: Time ahead for which efforts are required, s: the control period plus the
                transport delay.
            tuning: Gains and thresholds. Default: `Tuning()`.
            period: Control period, s. Default: the horizon.
            backup: PD control that replaces return motions and holding of the goal, as in Fan
                (2003), section 6.3.2. Default: none.
            reference: The plan, sampled with the cell length `spacing`. Default: it is sampled.
            noise: Standard deviations (2, n) of the noise of positions and velocities that was
                measured before the motion. Default: none.
        """
        self.plan, self.goal = plan, plan.qf
        self.returns = 0
        self._zero = np.zeros(robot.n)
        self._robot, self._backup, self._backup_active = robot, backup, False
        if backup is not None:
            backup.efforts(
                robot, plan.qf, np.zeros(robot.n), plan.qf
            )  # checks the number of gains
        self.horizon = positive("horizon", horizon, "s")
        self._period = positive("period", period or horizon, "s")
        self._spacing, self._tuning = spacing(horizon, self._period), tuning or Tuning()
        self._off_plan = self._tuning.off_plan
        # Largest position error of an arm that is too heavy to be held at the same position.
        self._yields = self._off_plan if np.isfinite(self._off_plan) else Tuning.off_plan
        self._lag = self._threshold = LAG * self._off_plan
        self._feedback, self._monitor = Feedback(robot, self._tuning), ProgressMonitor(robot)
        self._sampled = reference or SampledMotion.of(plan, self._spacing)
        self._followed = ScheduledMotion(self._sampled)
        self._stopping = self._returning = False
        self._resumed_at: float | None = None
        self._paused = self._waits = False
        self._settles_at, self._reserve_is_feasible = -np.inf, True
        self._margin = SpeedMargin(robot)
        self._moves_on = plan.vf is not None and bool(np.any(plan.vf))
        self._adapts = backup is None and not self._moves_on and np.isfinite(self._off_plan)
        self._longest = self.delay + LONGEST_DELAY
        self._model = EffortModel.exact(robot.n)
        self._record = MotionRecord(robot, self._sampled.wait, noise, plan.v0)
        self._arrival = Arrival(self._record, self._tuning.tolerance)
        self._filter = ErrorFilter(robot, self._tuning, self._period, plan.qf)
        self._observer: DisturbanceObserver | None = None
        self._updated_at: float | None = None
        self._breakaway = Breakaway(self._tuning, self._period, self._filter.inertia)

    def prepare(self) -> None:
        """Compute the path and load its compiled functions, which only a deviation requires.

        Otherwise the response to the first deviation is late, by 0.2 to 0.3 s on a busy machine.
        """
        if self._adapts:
            self._path.brake(0.0, 1.0, self._model, BRAKING)

    def rehearse(self) -> None:
        """Execute the plan on a blocked arm, without any effect on this executor.

        This loads all compiled functions that respond to deviations. Otherwise the first
        deviation in a process stalls the control loop, by up to 0.3 s.
        """
        blocked = PlanExecutor(
            self._robot,
            self.plan,
            self.horizon,
            self._tuning,
            self._period,
            reference=self._sampled,
        )
        for k in range(REHEARSED):
            blocked.segments(k * self._period, self.plan.q0, self._zero)

    @property
    def arrived(self) -> bool:
        """Whether the arm rests at the goal."""
        return self._arrival.time is not None

    @property
    def arrival_time(self) -> float | None:
        """Time of the arrival, s; None before it."""
        return self._arrival.time

    @property
    def missed(self) -> str:
        """Why the arm was stopped before the goal, or ""."""
        return self._monitor.reason

    @property
    def delay(self) -> float:
        """Delay of the commands, s: the assumed one until another one is identified."""
        return self.horizon - self._period

    @property
    def friction(self) -> Vector:
        """Identified dry friction (n,) in addition to that of the model, N m or N."""
        return self._model.friction

    @property
    def disturbance(self) -> Vector:
        """Estimated efforts (n,) that neither commands nor identified model explain.

        They are estimated, and compensated, after the first deviation from the plan.
        """
        return self._zero if self._observer is None else self._observer.effort

    @property
    def extra_time(self) -> float | None:
        """Delay of the arrival compared with the plan, s; None before the arrival."""
        return None if self.arrival_time is None else self.arrival_time - self.plan.t_final

    def expected(self, t: float) -> tuple[Vector, Vector] | None:
        """Return the planned positions and velocities (n,) at time `t`, s, at the current pace.

        The result is None after the end of the plan, or if the arm follows another motion.
        """
        if not self.goes_by_plan or self._over(t):
            return None
        if self._followed.is_plan and self._followed.begin == 0.0:
            return self.plan.state(t)
        return self._followed.state(t)

    @property
    def goes_by_plan(self) -> bool:
        """Whether the arm follows the plan, at any pace, instead of another motion."""
        return not self.returns and self.goal is self.plan.qf

    @property
    def pace(self) -> Pace:
        """Latest time rate at which the plan is executed, and the identified arm."""
        rate = 1.0 if self._updated_at is None else self._followed.rate(self._updated_at)
        return Pace(rate, self._model)

    def begin_at(self, pace: Pace) -> None:
        """Start the plan at the pace of the previous motion."""
        self._record.clear()
        if not self._adapts or (pace.rate == 1.0 and pace.model.is_exact):
            return
        motion = self._path.follow(0.0, pace.rate, pace.model, RESERVES[1])
        if motion.slowest > SLOWEST:
            self._model = pace.model
            self._follow_path(0.0, motion)

    def plan_time(self, t: float) -> float:
        """Return the plan time (s) at `t` seconds after the start."""
        return self._followed.plan_time(t)

    def time_of(self, plan_time: float) -> float:
        """Return the time after the start (s) for a plan time (s)."""
        return self._followed.time_of(plan_time)

    def segments(self, t: float, q: Vector, v: Vector, until: float = 0.0) -> list[Segment]:
        """Return the efforts for a measured state.

        The first segment has offset 0. More segments follow if efforts change within the horizon,
        or until the end of the command.

        Args:
            t: Time of the state after the start, s. At negative times, the arm is held.
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
            until: Time after the state at which the command ends, s. Efforts after the horizon
                act if the next command is late. The last segment starts `LONGEST` after the state
                at the latest.
        """
        self._record.state(t, q, v)
        if self._observer is not None:
            if self._over(t):
                self._attribute_to_friction()
            else:
                self._observer.observe(self._record, self.delay, self._model)
        segments = self._tracked(t, q, v, until)
        self._record.command(segments)
        return segments

    def interrupt(self) -> None:
        """Exclude the period after the next state from the identification.

        Call this method before `segments` if no command acts at a state, but a brake, for example.
        Otherwise its effect is attributed to masses and friction.
        """
        self._record.interrupt()

    def stop(self, t: float, q: Vector, v: Vector) -> None:
        """Stop the arm as soon as possible, and hold it where it comes to rest."""
        self._moves_on = False
        self._stop(t, q, v)
        self.goal = self._followed.motion.goal
        self._arrival.time = None

    # ---------------------------------------------------------------------- in compiled loops
    @property
    def tracking(self) -> Tracking | None:
        """Current state for a compiled loop; None if a compiled loop cannot continue from it."""
        if self._moves_on or self._observer is not None or self._monitor.stopped:
            return None
        if self._waits or (self._adapts and self._record.is_starting):
            return None
        if self._updated_at is not None and self._updated_at <= self._settles_at:
            return None
        over = self._updated_at is not None and self._over(self._updated_at)
        if over and not self.arrived and self._arrival.is_noisy:
            return None
        return Tracking(
            self._followed.motion,
            self._followed.begin,
            self.goal,
            self._threshold if self._may_adapt else self._off_plan,
            self._margin.errors(self._record.noise[1])
            if self._may_adapt
            else np.full(self._robot.n, np.inf),
            self._stopping,
            self._updated_at,
            self._feedback.sum,
            self._feedback.saturated,
        )

    @renamed_arguments(heard="updated_at")
    def tracked(self, updated_at: float | None, total: Vector, saturated: bool) -> None:
        """Store the state after a compiled loop that started from `tracking`.

        Args:
            updated_at: Time of the last update, s.
            total: Integral of the position error (n,).
            saturated: Whether the last efforts were clipped to their limits.
        """
        self._updated_at = updated_at
        self._feedback.sum, self._feedback.saturated = total, saturated

    @property
    def reference(self) -> SampledMotion:
        """The motion that the arm follows."""
        return self._followed.motion

    @property
    def record(self) -> MotionRecord:
        """Measured states and commands, which a compiled loop must add."""
        return self._record

    # ------------------------------------------------------------------------------- tracking
    def _tracked(self, t: float, q: Vector, v: Vector, until: float) -> list[Segment]:
        if self._moves_on and self._over(t) and not self._stopping:
            self.stop(t, q, v)
        if self._backup is not None and self._misses(t, q):
            self._backup_active = True
        if self._backup_active:
            return self._backed(t, q, v)
        if self._monitor.stopped and np.abs(q - self.goal).max() > self._yields:
            self._yield(t, q)
        q_ref, v_ref = self._followed.state(t)
        # Measured positions and velocities (n,), filtered under noise.
        measured = self._filter.state(q, v, q_ref, v_ref, self._record.noise)
        error = float(np.abs(measured[0] - q_ref).max())
        noise = self._record.noise[1]
        is_fast = bool((np.abs(measured[1] - v_ref) > self._margin.errors(noise)).any())
        if is_fast and not self._record.is_starting:
            self._margin.note(t, np.abs(measured[1]) - np.abs(v_ref), noise)
        differs = (error > self._threshold or is_fast) and t > self._settles_at
        if (
            self._may_adapt
            and t > self._followed.begin
            and (differs or self._waits or self._record.is_pending or self._lacks_reserve)
        ):
            self._adapt(t, *measured, error)
            q_ref, v_ref = self._followed.state(t)
            error = float(np.abs(measured[0] - q_ref).max())
        if (error > self._off_plan and not self._record.is_pending) or (
            self._stopping and self._over(t)
        ):
            self._leave(t, q, v)
            if self._backup_active:
                return self._backed(t, q, v)
            q_ref, v_ref = self._followed.state(t)
        self._watch_arrival(t, q, v, q_ref)
        correction, early = self._zero, self._adapts and self._record.is_starting
        if not early or error < EARLY * self._tuning.off_plan:  # an early error shows the delay
            correction = self._feedback.correction(*measured, q_ref, v_ref)
        offsets, rows = self._followed.commands(t, max(self.horizon, min(until, LONGEST)))
        correction = correction - self.disturbance
        if self._over(t):
            correction = correction - self._breakaway.efforts(
                measured[0] - q_ref,
                self._arrival.is_slow(v),
                self._model.friction,
                self._record.noise[0],
                self.horizon,
            )
        efforts = self._feedback.limited(q, rows + correction)
        return [
            Segment(offset, effort)
            for offset, effort in zip(offsets.tolist(), efforts, strict=True)
        ]

    def _attribute_to_friction(self) -> None:
        """Attribute disturbances against the last motion to friction, because the arm is at rest.

        At rest, a constant compensation would hold the arm away from its goal. After a stop, the
        disturbances are forgotten, because a push may have caused them.
        """
        if self._observer is None:
            return
        velocities = self._followed.motion.v
        if len(velocities) > 1 and not self._stopping:
            against = -np.sign(velocities[-2]) * self._observer.effort
            self._model = self._model.with_friction(self._model.friction + against, self._robot)
        self._observer.effort = self._zero

    @property
    def _lacks_reserve(self) -> bool:
        """Whether noise near the effort limits requires a motion with a reserve."""
        is_noisy = self._filter.effort_noise > NOISY and self._followed.is_plan
        return is_noisy and self._reserve_is_feasible

    @property
    def _may_adapt(self) -> bool:
        """Whether the arm follows the path, so that a position error may change the motion."""
        along = self._followed.is_along_path and not self._stopping
        return self._adapts and along and self.goal is self.plan.qf

    def _adapt(self, t: float, q: Vector, v: Vector, error: float) -> None:
        """Identify the arm, and follow the rest of the path from the current point."""
        time = self.plan_time(t)
        if time >= self.plan.t_final:
            self._threshold = GROWTH * error
            return
        identified = self._record.identified(self.delay, self._longest, self._model)
        if identified is None:
            if self._record.is_starting:
                self._wait(t, time)
            return
        self._threshold = GROWTH * error
        explained = identified.delay != self.delay or not identified.model.is_exact
        self.horizon = self._period + identified.delay
        point = self._path.nearest(time, q)
        self._monitor.note_progress(t, point.time)
        if self._monitor.stopped:
            self._stop_on_path(t, q, v, point)
            return
        if self._observer is not None:
            more = identified.model.friction - self._model.friction
            self._observer.explain(-more * np.sign(point.v))
        self._model = identified.model
        if not self._model.is_exact:
            self._observe()
        if point.distance > self._off_plan:
            return
        lead = self._lead(point)
        begin = self.time_of(point.time)
        slip = float(np.abs(v - self._followed.state(begin)[1]).max())
        noise = SIGMAS * float(self._record.noise[1].max())
        on_time = slip < SLIP * self._lag + noise and (explained or point.distance < self._lag)
        waited, self._waits = self._waits, False
        if waited:
            on_time = False
            self._margin.leave(t, 1.0 - CAUTIOUS)
        noisy = self._lacks_reserve
        if not on_time or noisy or explained:
            if not (explained or noisy or waited) and error < UNEXPLAINED * self._lag:
                return
            reserve = min(LEAST_RESERVE + RESERVE * point.distance / self._off_plan, MOST_RESERVE)
            on_time = not self._follow_rest(t, lead, 1.0, (1.0 - reserve, *RESERVES))
            self._reserve_is_feasible = not on_time
        if on_time:  # an error along the path needs no correction
            self._followed = self._followed._replace(begin=self._followed.begin + (t - begin))
            self._filter.reset()
        self._threshold = max(self._lag, GROWTH * point.distance)

    def _wait(self, t: float, time: float) -> None:
        """Brake until the arm is identified, if a joint would otherwise be too fast.

        A delay of the commands, `LONGEST_DELAY` at most, is suspected. Lighter masses would
        accelerate the joints by the inverse of `CAUTIOUS`.
        """
        if self._waits or not self._followed.is_plan:
            return
        ahead = slice(self._sampled.cell(time), self._sampled.cell(time + self._longest) + 2)
        if np.all(np.abs(self._sampled.v[ahead]) <= CAUTIOUS * self._robot.v_max):
            return
        self._waits = True
        motion = self._path.brake(time + self.delay, 1.0, self._model, 1.0)
        offsets = np.linspace(0.0, self.delay, math.ceil(self.delay / self._spacing - 1e-6) + 1)
        states = [self._sampled.state(time + offset) for offset in offsets]
        lead = [PathPoint(time + o, *state, 0.0) for o, state in zip(offsets, states, strict=True)]
        efforts = self._sampled.efforts[[self._sampled.cell(time + o) for o in offsets[:-1]]]
        self._follow_path(t, motion.after(lead, offsets, efforts))

    def _lead(self, point: PathPoint) -> Lead:
        """Return the motion until the next command acts, from the current point of the path."""
        predicted = self._record.predicted(self.delay, self._model, self.disturbance)
        points = []
        for row in predicted:
            point = self._path.nearest(point.time, row.q)
            rate = self._path.rate(point, row.v)
            points.append(point._replace(v=rate * point.v))
        offsets = np.array([row.offset for row in predicted])
        return Lead(points, offsets, np.array([row.effort for row in predicted[:-1]]), rate)

    def _follow_rest(
        self, t: float, lead: Lead, fastest: float, fractions: tuple[float, ...]
    ) -> bool:
        """Follow the path after a lead; return whether this is feasible."""
        margin = self._margin.at(t)
        for fraction in fractions:
            motion = self._path.follow(
                lead.points[-1].time, lead.rate, self._model, fraction, fastest, margin
            )
            if motion.slowest > SLOWEST:
                break
        if motion.slowest <= SLOWEST:
            return False
        self._follow_path(t, motion.after(*lead[:3]))
        return True

    def _follow_path(self, t: float, motion: PathMotion) -> None:
        self._follow(t, motion.motion, motion.plan_times)
        self._settles_at = t + self.delay + SETTLING * self._period

    def _observe(self) -> None:
        if self._observer is None and self._tuning.observer_bandwidth > 0.0:
            self._observer = DisturbanceObserver(self._robot, self._tuning)

    def _misses(self, t: float, q: Vector) -> bool:
        """Return whether the plan has ended with a joint away from the goal."""
        return self._over(t) and np.abs(q - self.goal).max() > self._tuning.tolerance

    def _backed(self, t: float, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts of the PD backup control."""
        assert self._backup is not None
        self._arrival.update(self.goal, self._followed.end)
        return [Segment(0.0, self._backup.efforts(self._robot, q, v, self.goal))]

    def _watch_arrival(self, t: float, q: Vector, v: Vector, q_ref: Vector) -> None:
        end = self._followed.end
        over, updated_at = t >= end, self._updated_at
        integrates = over or (self.returns > 0 and self._observer is None)
        if updated_at is not None and integrates:
            error = q_ref - q
            if over and self._model.friction.any():
                error = self._breakaway.integration(error, self._record.noise[0]) * error
                error = self._arrival.unsettled(q - self.goal, v) * error
            self._feedback.integrate(error, t - updated_at)
        if over and not self.arrived and not self._monitor.stopped:
            self._arrival.update(self.goal, end)
            if self.arrived:
                self._monitor.reset()
            else:
                self._monitor.note(t, self._feedback.saturated, q, self.goal)
        self._updated_at = t

    def _follow(
        self, begin: float, motion: SampledMotion, plan_times: Vector | None = None
    ) -> None:
        """Follow a motion. Without plan times (k + 1,), s, it is not along the path."""
        self._filter.reset()
        if plan_times is None:
            plan_times = np.array([self.plan_time(begin)])
        self._followed = ScheduledMotion(motion, begin, plan_times)
        self._off_plan, self._threshold = self._tuning.off_plan, self._lag
        self._stopping = self._returning = False

    # -------------------------------------------------------------------------- off the plan
    def _leave(self, t: float, q: Vector, v: Vector) -> None:
        """Respond to a deviation from the motion, or to the end of a stop; see `Tuning.replan`."""
        if self._backup is not None:
            self._backup_active = True
            return
        self._arrival.time = None
        self._observe()
        if self._tuning.replan == "new_motion" or self.goal is not self.plan.qf:
            self._move_straight(t, q, v)
            return
        self._feedback.sum = self._zero
        point = self._path.nearest(self.plan_time(t), q)
        stopped = self._stopping and self._over(t)
        if not stopped and (self._returning or not self._stopping):
            self.returns += 1
            self._note_attempt(t, q, point)
        if stopped:
            self._after_stop(t, q, v, point)
        else:
            self._stop_on_path(t, q, v, point)

    @cached_property
    def _path(self) -> PlanPath:
        return PlanPath(self._robot, self.plan, self._sampled)

    def _note_attempt(self, t: float, q: Vector, point: PathPoint) -> None:
        """Count an attempt to follow the rest of the path, if it failed."""
        if self._tuning.replan == "stop":
            off = np.abs(q - self._followed.state(t)[0])
            self._monitor.note_stop(int(off.argmax()), float(off.max()))
        elif self._resumed_at is not None:
            progress = point.time - self._resumed_at
            self._monitor.note_attempt(progress > LEAST_PROGRESS * self.plan.t_final, point.time)

    def _stop_on_path(self, t: float, q: Vector, v: Vector, point: PathPoint) -> None:
        """Brake along the path, or all joints at once if the arm is too far from the path."""
        rate = self._path.rate(point, v)
        if rate == 0.0 or point.distance > max(self._tuning.max_deviation, self._tuning.off_plan):
            self._stop_at_once(t, q, v, point)
        else:
            lead = self._lead(point)
            motion = self._path.brake(lead.points[-1].time, lead.rate, self._model, BRAKING)
            self._follow_path(t, motion.after(*lead[:3]))
            self._off_plan = max(self._tuning.off_plan, GROWTH * point.distance)
        self._stopping = True

    def _stop_at_once(self, t: float, q: Vector, v: Vector, point: PathPoint) -> None:
        """Brake all joints at once, near a point of the path."""
        self._stop(t, q, v, np.array([point.time]))
        self._off_plan = np.inf
        self._stopping = True

    def _after_stop(self, t: float, q: Vector, v: Vector, point: PathPoint) -> None:
        """Follow the rest of the path, return to the path, or hold the arm."""
        moves = np.abs(v).max() > AT_REST + SIGMAS * self._record.noise[1].max()
        if moves and self._followed.is_along_path:
            self._stop_at_once(t, q, v, point)
            return
        if self._returning and point.distance > self._tuning.off_plan:
            self._note_attempt(t, q, point)
        if self._monitor.stopped:
            self._yield(t, q)
            return
        if self._monitor.failed and not self._paused:
            pause = SampledMotion.standing(q, self._feedback.hold(q), PAUSE)
            self._follow(t, pause, np.array([point.time]))
            self._off_plan = np.inf
            self._stopping = self._paused = True
            return
        self._paused = False
        self._resumed_at = point.time
        ends = point.time >= (1.0 - LEAST_PROGRESS) * self.plan.t_final
        near = not ends and point.distance <= self._tuning.off_plan
        if near:
            lead = Lead([point], np.zeros(1), np.zeros((0, self._robot.n)), 0.0)
            if self._follow_rest(t, lead, self._monitor.slower, RESUMING):
                return
            self._note_attempt(t, q, point)
        target = self.goal if ends else point.q
        straight = return_motion(
            self._robot, self._model, q, v, target, self._spacing, SHORTEST_RETURN
        )
        if straight is None:  # the arm moves too fast, or the load exceeds the effort limits
            self._note_attempt(t, q, point)
            self._stop_at_once(t, q, v, point)
            return
        self._follow(t, straight, np.array([self.plan.t_final if ends else point.time]))
        self._stopping = self._returning = not ends

    def _move_straight(self, t: float, q: Vector, v: Vector) -> None:
        """Start a return motion from the measured state to the goal, or stop if none is found."""
        if not self._stopping:  # the motion after a stop belongs to the same return
            self.returns += 1
            self._monitor.note_return()
            if self._monitor.stopped:
                self._yield(t, q)
                return
        motion = return_motion(self._robot, self._model, q, v, self.goal, self._spacing)
        if motion is not None:
            self._follow(t, motion)
        elif np.abs(v).max() > SPEED * self._tuning.tolerance:
            self._stop(t, q, v)
            self._stopping = True
        else:
            self._only_feedback(t)

    def _stop(self, t: float, q: Vector, v: Vector, plan_times: Vector | None = None) -> None:
        motion = stopping_motion(self._robot, self._model, q, v, self._spacing)
        if motion is None:
            motion = SampledMotion.standing(q.copy(), self._feedback.hold(q), PAUSE)
        self._follow(t, motion, plan_times)

    def _over(self, t: float) -> bool:
        return t >= self._followed.end

    def _yield(self, t: float, q: Vector) -> None:
        """Hold the arm near its current position, which may drift if the arm is too heavy."""
        self.goal = q - np.clip(q - self.goal, -self._yields, self._yields)
        self._observer = None
        self._only_feedback(t)

    def _only_feedback(self, t: float) -> None:
        self._follow(t, SampledMotion.standing(self.goal, self._feedback.hold(self.goal)))
        self._off_plan = np.inf

"""Closed-loop execution of a plan: efforts for the next period from the measured state."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector, positive
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.planning.execution.disturbance import DisturbanceObserver
from manip_dyn.planning.execution.feedback import Feedback, Tuning
from manip_dyn.planning.execution.path_recovery import PathPoint, PathRecovery
from manip_dyn.planning.execution.pd_backup import PdBackup
from manip_dyn.planning.execution.progress_monitor import ProgressMonitor
from manip_dyn.planning.execution.return_motion import return_motion, stopping_motion
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.segments import Segment, distinct, later
from manip_dyn.planning.execution.time_scaling import Pace, TimeScaling
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.planning.execution.online_switching import OnlineSwitching

LEAST_PROGRESS = 0.05
"""Smallest progress of an attempt to follow the rest of the path, as a fraction of the plan."""
SHORTEST_RETURN = 0.3
"""Shortest duration of a return to the path, s: a disturbance is compensated in the meantime."""
PAUSE = 0.5
"""Time at rest after a failed attempt to follow the rest of the path, s."""
GROWTH = 1.25
"""Growth of the position error with which the braking motion along the path is computed again."""
CELLS_AHEAD = 4
"""Maximum number of cells in a horizon that a transport delay extends beyond a period."""


def spacing(horizon: float, period: float) -> float:
    """Return the cell length of an executor's reference, s."""
    return max(period, horizon / CELLS_AHEAD)


class Tracking(NamedTuple):
    """State of an executor from which a compiled control loop can continue.

    Attributes:
        reference: The reference motion.
        begin: Start time of the motion, s.
        goal: Final positions (n,).
        off_plan: Position error of a joint above which another motion may be required, rad or m.
        stopping: Whether the motion is a stop, after which another motion is required.
        updated_at: Time of the last update, s; None before the first update.
        sum: Integral of the position error (n,).
        saturated: Whether the last efforts were clipped to their limits.
        switching: Online switching of the moving joint; None after its arrival.
    """

    reference: SampledMotion
    begin: float
    goal: Vector
    off_plan: float
    stopping: bool
    updated_at: float | None
    sum: Vector
    saturated: bool
    switching: OnlineSwitching | None


class PlanExecutor:
    """Executes a plan and then holds the arm at the goal.

    If a single joint moves with one switch, the measured state determines the switch
    (`OnlineSwitching`). Any other plan is tracked: the efforts are those of the plan, with exact
    jump times, plus feedback, within the limits. After the end, feedback with an integral term
    holds the goal.

    If the arm lags behind, the rest of the plan is executed more slowly (`TimeScaling`). If a
    joint deviates from the plan or the goal by more than `Tuning.off_plan`, `Tuning.replan` sets
    the response. By default the arm stops on the path of the plan and then follows the rest of the
    path (`PathRecovery`). After repeated attempts without progress, the arm stops and holds its
    position (`missed`). After a plan with nonzero final velocities, the arm stops.

    Attributes:
        plan: The plan.
        goal: Final positions (n,): the goal of the plan, or the end of a stop.
        arrived: Whether the arm rests at the goal.
        arrival_time: Time of the arrival, s; None before it.
        returns: Number of deviations from the plan above `Tuning.off_plan`, or with the response
            ``new_motion``, of motions to the goal.
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
        """
        self.plan, self.goal = plan, plan.qf
        self.arrived, self.returns = False, 0
        self._zero = np.zeros(robot.n)
        self.arrival_time: float | None = None
        self._robot, self._backup, self._backup_active = robot, backup, False
        if backup is not None:
            backup.efforts(
                robot, plan.qf, np.zeros(robot.n), plan.qf
            )  # checks the number of gains
        self._horizon = positive("horizon", horizon, "s")
        period = positive("period", period or horizon, "s")
        self._spacing, self._tuning = spacing(horizon, period), tuning or Tuning()
        self._period = period
        self._observer: DisturbanceObserver | None = None
        self._off_plan = self._tuning.off_plan
        # Largest position error of an arm that is too heavy to be held at the same position.
        self._yields = self._off_plan if np.isfinite(self._off_plan) else Tuning.off_plan
        self._feedback, self._monitor = Feedback(robot, self._tuning), ProgressMonitor(robot)
        self._reference = self._sampled = reference or SampledMotion.of(plan, self._spacing)
        self._begin, self._stopping, self._returning = 0.0, False, False
        # Plan times of the path, for motions after the plan: along the path, or at one point.
        self._path_times: Vector | None = None
        self._resumed_at: float | None = None
        self._paused = False
        self._moves_on = plan.vf is not None and bool(np.any(plan.vf))
        self._updated_at: float | None = None
        self._switching = self._online_switching()
        self._scaling = self._time_scaling()
        self._committed: tuple[float, list[Segment]] | None = None

    @property
    def timed(self) -> bool:
        """Whether the efforts depend on time, so that the transport delay must be compensated."""
        return self._switching is None

    @property
    def missed(self) -> str:
        """Why the arm was stopped before the goal, or ""."""
        return self._monitor.reason

    @property
    def disturbance(self) -> Vector:
        """Estimated efforts (n,) that act on the arm in addition to commands and model.

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
        if self.pace.rate == 1.0:
            return self.plan.state(t)
        return self._reference.state(t - self._begin)

    @property
    def goes_by_plan(self) -> bool:
        """Whether the arm follows the plan, at any pace, instead of another motion."""
        return not self.returns and self.goal is self.plan.qf

    @property
    def pace(self) -> Pace:
        """Time rate and mass ratio at which the plan is executed."""
        return Pace() if self._scaling is None else self._scaling.pace

    def begin_at(self, pace: Pace) -> None:
        """Start the plan at the pace of the previous motion."""
        motion = None if self._scaling is None else self._scaling.begin_at(pace)
        self._reference = motion or self._reference

    def plan_time(self, t: float) -> float:
        """Return the plan time (s) at `t` seconds after the start."""
        return t if self._scaling is None else self._scaling.plan_time(t - self._begin)

    def time_of(self, plan_time: float) -> float:
        """Return the time after the start (s) for a plan time (s)."""
        if self._scaling is None:
            return plan_time
        return self._begin + self._scaling.since(plan_time)

    def segments(self, t: float, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts for a measured state.

        The first segment has offset 0. More segments follow if efforts change within the horizon.

        Args:
            t: Time of the state after the start, s. At negative times, the arm is held.
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
        """
        if self._observer is not None:
            self._observer.observe(t, q, v)
        segments = []
        if self._switching is not None:
            segments = self._switched(self._switching, t, q, v)
        if not segments:
            segments = self._tracked(t, q, v)
        if self._observer is not None:
            self._observer.command(t, segments)
        return segments

    def stop(self, t: float, q: Vector, v: Vector) -> None:
        """Stop the arm as soon as possible, and hold it where it comes to rest."""
        self._moves_on = False
        self._stop(t, q, v)
        self.goal = self._reference.goal
        self.arrived, self.arrival_time = False, None

    # ---------------------------------------------------------------------- in compiled loops
    @property
    def tracking(self) -> Tracking | None:
        """Current state for a compiled loop; None if a compiled loop cannot continue from it."""
        if self._committed is not None or self._moves_on or self._observer is not None:
            return None
        if self._monitor.stopped:
            return None
        return Tracking(
            self._reference,
            self._begin,
            self.goal,
            self._off_plan if self._scaling is None else self._scaling.from_error,
            self._stopping,
            self._updated_at,
            self._feedback.sum,
            self._feedback.saturated,
            self._switching,
        )

    @renamed_arguments(heard="updated_at")
    def tracked(
        self, updated_at: float | None, arrival_time: float | None, total: Vector, saturated: bool
    ) -> None:
        """Store the state after a compiled loop that started from `tracking`.

        Args:
            updated_at: Time of the last update, s.
            arrival_time: Time of the arrival, s, or None.
            total: Integral of the position error (n,).
            saturated: Whether the last efforts were clipped to their limits.
        """
        self._updated_at, self.arrival_time = updated_at, arrival_time
        self.arrived = arrival_time is not None
        if self.arrived:
            self._monitor.reset()
        self._feedback.sum, self._feedback.saturated = total, saturated

    # ------------------------------------------------------------ one joint, by measured state
    def _online_switching(self) -> OnlineSwitching | None:
        if self.plan.single_switch is None:
            return None
        # Imported on first use because SciPy's solvers load slowly.
        from manip_dyn.planning.execution.online_switching import OnlineSwitching

        return OnlineSwitching(
            self._robot,
            self.plan.single_switch,
            self.plan.q0,
            self.plan.qf,
            self._horizon,
            self._feedback,
        )

    def _switched(
        self, switching: OnlineSwitching, t: float, q: Vector, v: Vector
    ) -> list[Segment]:
        """Return the segments of the switching joint, or [] if the executor must track instead.

        Tracking starts when the joint comes to rest at the goal, when another joint is farther
        than `off_plan` from its goal, or when the arm makes no progress.
        """
        if self._committed is None:
            others = np.delete(np.abs(q - self.goal), switching.joint)
            if others.max(initial=0.0) > self._off_plan:
                self._leave(t, q, v)
                return []
            if t > self.plan.t_final:
                self._monitor.note(t, True, q, self.goal)
            if self._monitor.stopped:
                self._yield(t, q)
                return []
            segments = switching.segments(q, v)
            if not switching.arrived:
                return segments
            self._committed = (t, segments)
        began, segments = self._committed
        rest = began + segments[-1].offset
        if t < rest:
            return later(segments, t - began)
        self._follow(rest, SampledMotion.standing(self.goal, self.plan.hold))
        return []

    # ------------------------------------------------------------------------------- tracking
    def _tracked(self, t: float, q: Vector, v: Vector) -> list[Segment]:
        if self._moves_on and self._over(t) and not self._stopping:
            self.stop(t, q, v)
        if self._backup is not None and self._misses(t, q):
            self._backup_active = True
        if self._backup_active:
            return self._backed(t, q, v)
        if self._monitor.stopped and np.abs(q - self.goal).max() > self._yields:
            self._yield(t, q)
        q_ref, v_ref = self._reference.state(t - self._begin)
        if self._rescale(t, q, v, q_ref):
            q_ref, v_ref = self._reference.state(t - self._begin)
        if np.abs(q - q_ref).max() > self._off_plan or (self._stopping and self._over(t)):
            self._leave(t, q, v)
            if self._backup_active:
                return self._backed(t, q, v)
            q_ref, v_ref = self._reference.state(t - self._begin)
        self._watch_arrival(t, q, v, q_ref)
        correction = self._feedback.correction(q, v, q_ref, v_ref)
        rows = self._reference.segments(t - self._begin, self._horizon)
        correction -= self.disturbance
        return distinct(
            [Segment(o, self._feedback.limited(q, effort + correction)) for o, effort in rows]
        )

    def _time_scaling(self) -> TimeScaling | None:
        """Return the time scaling of the plan, or None if the plan does not support it."""
        if self._moves_on or self._backup is not None or not self.timed:
            return None
        return TimeScaling(self._robot, self._reference, self._tuning)

    def _rescale(self, t: float, q: Vector, v: Vector, q_ref: Vector) -> bool:
        """Rescale the plan if the arm lags behind or leads; return whether it was rescaled."""
        if self._scaling is None:
            return False
        error = float(np.abs(q - q_ref).max())
        motion = self._scaling.for_error(error, t - self._begin, q, v)
        if motion is None:
            return False
        self._begin, self._reference = t, motion
        return True

    def _misses(self, t: float, q: Vector) -> bool:
        """Return whether the plan has ended with a joint away from the goal."""
        return self._over(t) and np.abs(q - self.goal).max() > self._tuning.tolerance

    def _backed(self, t: float, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts of the PD backup control."""
        assert self._backup is not None
        near = self._tuning.tolerance
        rests = np.abs(q - self.goal).max() <= near and np.abs(v).max() <= 10.0 * near
        if rests and not self.arrived:
            self.arrived, self.arrival_time = True, t
        return [Segment(0.0, self._backup.efforts(self._robot, q, v, self.goal))]

    def _watch_arrival(self, t: float, q: Vector, v: Vector, q_ref: Vector) -> None:
        end = self._begin + self._reference.t_final
        over, updated_at = t >= end, self._updated_at
        integrates = over or (self.returns > 0 and self._observer is None)
        if updated_at is not None and integrates:
            self._feedback.integrate(q_ref - q, t - updated_at)
        near = self._tuning.tolerance
        rests = np.abs(q - self.goal).max() <= near and np.abs(v).max() <= 10.0 * near
        if over and rests and not (self.arrived or self._monitor.stopped):
            self.arrived = True
            self.arrival_time = end if updated_at is None or updated_at <= end else t
            self._monitor.reset()
        if over and not self.arrived:
            self._monitor.note(t, self._feedback.saturated, q, self.goal)
        self._updated_at = t

    def _follow(self, begin: float, reference: SampledMotion) -> None:
        self._begin, self._reference = begin, reference
        self._off_plan = self._tuning.off_plan
        self._switching = self._committed = self._scaling = None
        self._stopping = self._returning = False

    # -------------------------------------------------------------------------- off the plan
    def _leave(self, t: float, q: Vector, v: Vector) -> None:
        """Respond to a deviation from the motion, or to the end of a stop; see `Tuning.replan`."""
        if self._backup is not None:
            self._backup_active = True
            return
        self.arrived, self.arrival_time = False, None
        if self._observer is None and self._tuning.observer_bandwidth > 0.0:
            self._observer = DisturbanceObserver(
                self._robot, self._tuning, self._horizon, self._period
            )
        if self._tuning.replan == "new_motion" or self.goal is not self.plan.qf:
            self._move_straight(t, q, v)
            return
        self._feedback.sum = self._zero
        point = self._recovery.nearest(self._path_time(t), q)
        stopped = self._stopping and self._over(t)
        if not stopped and (self._returning or not self._stopping):
            self.returns += 1
            self._note_attempt(t, q, point)
        if stopped:
            self._after_stop(t, q, v, point)
        else:
            self._stop_on_path(t, q, v, point)

    @cached_property
    def _recovery(self) -> PathRecovery:
        return PathRecovery(self._robot, self.plan, self._sampled)

    def _path_time(self, t: float) -> float:
        """Return the plan time (s) of the current motion at time `t`, s."""
        if self._path_times is None:
            return self.plan_time(t)
        if len(self._path_times) == 1:
            return float(self._path_times[0])
        return float(np.interp(t - self._begin, self._reference.times, self._path_times))

    def _note_attempt(self, t: float, q: Vector, point: PathPoint) -> None:
        """Count an attempt to follow the rest of the path, if it failed."""
        if self._tuning.replan == "stop":
            off = np.abs(q - self._reference.state(t - self._begin)[0])
            self._monitor.note_stop(int(off.argmax()), float(off.max()))
        elif self._resumed_at is not None:
            progress = point.time - self._resumed_at
            self._monitor.note_attempt(progress > LEAST_PROGRESS * self.plan.t_final, point.time)

    def _stop_on_path(self, t: float, q: Vector, v: Vector, point: PathPoint) -> None:
        """Brake along the path, or all joints at once if the arm is too far from the path."""
        rate = self._recovery.rate(point, v)
        if rate == 0.0 or point.distance > max(self._tuning.max_deviation, self._tuning.off_plan):
            self._stop(t, q, v)
            self._off_plan, self._path_times = np.inf, np.array([point.time])
        else:
            motion, times = self._recovery.brake(point.time, rate)
            self._follow(t, motion)
            self._off_plan = max(self._tuning.off_plan, GROWTH * point.distance)
            self._path_times = times
        self._stopping = True

    def _after_stop(self, t: float, q: Vector, v: Vector, point: PathPoint) -> None:
        """Follow the rest of the path, return to the path, or hold the arm."""
        if self._returning and point.distance > self._tuning.off_plan:
            self._note_attempt(t, q, point)
        if self._monitor.stopped:
            self._yield(t, q)
            return
        if self._monitor.failed and not self._paused:
            self._follow(t, SampledMotion.standing(q, self._feedback.hold(q), PAUSE))
            self._off_plan, self._path_times = np.inf, np.array([point.time])
            self._stopping = self._paused = True
            return
        self._paused = False
        self._resumed_at, motion = point.time, None
        ends = point.time >= (1.0 - LEAST_PROGRESS) * self.plan.t_final
        if not ends and point.distance <= self._tuning.off_plan:
            motion = self._recovery.resume(point.time, self._monitor.slower)
        if motion is not None:
            self._follow(t, motion.motion)
            self._path_times = motion.plan_times
            return
        target = self.goal if ends else point.q
        straight = return_motion(self._robot, q, v, target, self._spacing, SHORTEST_RETURN)
        if straight is None:
            self._only_feedback(t)
            return
        self._follow(t, straight)
        self._path_times = np.array([self.plan.t_final if ends else point.time])
        self._stopping = self._returning = not ends

    def _move_straight(self, t: float, q: Vector, v: Vector) -> None:
        """Start a return motion from the measured state to the goal, or stop if none is found."""
        if not self._stopping:  # the motion after a stop belongs to the same return
            self.returns += 1
            self._monitor.note_return()
            if self._monitor.stopped:
                self._yield(t, q)
                return
        motion = return_motion(self._robot, q, v, self.goal, self._spacing)
        if motion is not None:
            self._follow(t, motion)
        elif np.abs(v).max() > 10.0 * self._tuning.tolerance:
            self._stop(t, q, v)
            self._stopping = True
        else:
            self._only_feedback(t)

    def _stop(self, t: float, q: Vector, v: Vector) -> None:
        motion = stopping_motion(self._robot, q, v, self._spacing)
        hold = self._feedback.hold(q)
        self._follow(t, SampledMotion.standing(q.copy(), hold) if motion is None else motion)

    def _over(self, t: float) -> bool:
        return t >= self._begin + self._reference.t_final

    def _yield(self, t: float, q: Vector) -> None:
        """Hold the arm near its current position, which may drift if the arm is too heavy."""
        self.goal = q - np.clip(q - self.goal, -self._yields, self._yields)
        self._observer = None
        self._only_feedback(t)

    def _only_feedback(self, t: float) -> None:
        self._follow(t, SampledMotion.standing(self.goal, self._feedback.hold(self.goal)))
        self._off_plan = np.inf

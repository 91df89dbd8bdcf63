"""Closed-loop execution of a plan: efforts for the next period from the measured state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.planning.execution.adaptation import Adaptation
from manip_dyn.planning.execution.arm_estimate import ArmEstimate
from manip_dyn.planning.execution.arrival import Arrival, Breakaway
from manip_dyn.planning.execution.effort_model import EffortModel
from manip_dyn.planning.execution.feedback import Ahead, ErrorFilter, Feedback, Tuning
from manip_dyn.planning.execution.identification import MotionRecord
from manip_dyn.planning.execution.motion_scheduler import MotionScheduler, spacing
from manip_dyn.planning.execution.pd_backup import PdBackup
from manip_dyn.planning.execution.progress_monitor import ProgressMonitor
from manip_dyn.planning.execution.recovery import Recovery
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.planning.execution.segments import Segment
from manip_dyn.planning.execution.slow_start import with_slow_start
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

EARLY = 1e-3
"""Fraction of `Tuning.off_plan` above which errors of the first periods are not corrected."""
LONGEST = 0.05
"""Longest time after a state for which efforts are computed in advance, s."""
REHEARSED = 48
"""Number of states of a rehearsal."""
CONTINUED = (0.98,)
"""Fraction of the effort limits that a motion may use at the pace of the previous one."""


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
        slowed: Whether the speed limit of each joint (n,) limited its last acceleration.
        velocity_errors: Velocity errors (n,) of the last state; NaN if they are unknown.
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
    slowed: Vector
    velocity_errors: Vector


class PlanExecutor:
    """Executes a plan and then holds the arm at the goal.

    The efforts are those of the plan, with exact jump times, plus feedback, within the limits.
    After the end, feedback with an integral term holds the goal.

    If a position error exceeds a tenth of `Tuning.off_plan`, the executor identifies the delay of
    the commands, the masses and the friction from the recorded motion (`MotionRecord`). The arm
    then follows the rest of the path at the highest rate that its efforts permit (`Adaptation`).
    If a joint deviates by more than `Tuning.off_plan`, `Tuning.replan` sets the response
    (`Recovery`). By default the arm stops on the path and then follows the rest of it. After
    repeated attempts without progress, the arm stops and holds its position (`missed`). After a
    plan with nonzero final velocities, the arm stops.

    Attributes:
        plan: The plan, with a slower start if it would be too fast; see `with_slow_start`.
        record: Measured states and commands, which a compiled loop must add.
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
            reference: The plan, sampled with the cell length `spacing`. Default: the plan, with a
                slow start (`with_slow_start`), is sampled.
            noise: Standard deviations (2, n) of the noise of positions and velocities that was
                measured before the motion. Default: none.
        """
        self._robot, self._zero = robot, np.zeros(robot.n)
        self._backup, self._backup_active = backup, False
        if backup is not None:
            backup.efforts(robot, plan.qf, self._zero, plan.qf)  # checks the number of gains
        horizon = positive("horizon", horizon, "s")
        self._arrives_at = plan.t_final
        self.plan = plan = plan if reference else with_slow_start(plan, horizon)
        self._period = positive("period", period or horizon, "s")
        self._tuning = tuning = tuning or Tuning()
        cell = spacing(horizon, self._period)
        sampled = reference or SampledMotion.of(plan, cell)
        self._followed = ScheduledMotion(sampled, tuning.off_plan)
        self._moves_on = plan.vf is not None and bool(np.any(plan.vf))
        self._adapts = backup is None and not self._moves_on and bool(np.isfinite(tuning.off_plan))
        self._feedback, self._monitor = Feedback(robot, tuning), ProgressMonitor(robot)
        self.record = MotionRecord(robot, sampled.wait, noise, plan.v0)
        self._estimate = ArmEstimate(robot, tuning, self.record, horizon - self._period)
        self._scheduler = MotionScheduler(
            plan, sampled, tuning, self._period, cell, self._estimate
        )
        self._adaptation = Adaptation(self._scheduler, self._monitor)
        self._recovery = Recovery(self._scheduler, self._monitor)
        self._arrival = Arrival(self.record, tuning.tolerance)
        self._filter = ErrorFilter(robot, tuning, self._period, plan.qf)
        self._breakaway = Breakaway(tuning, self._period, self._filter.inertia)
        self._updated_at: float | None = None

    def prepare(self) -> None:
        """Compute the path and load its compiled functions, which only a deviation requires.

        Otherwise the response to the first deviation is late, by 0.2 to 0.3 s on a busy machine.
        """
        if self._adapts:
            self._scheduler.brake(0.0, self._scheduler.start(1.0))

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
            reference=self._scheduler.sampled,
        )
        for k in range(REHEARSED):
            blocked.segments(k * self._period, self.plan.q0, self._zero)

    @property
    def horizon(self) -> float:
        """Time ahead for which efforts are computed, s."""
        return self._period + self._estimate.delay

    @property
    def goal(self) -> Vector:
        """Final positions (n,) of the plan, or of a stop."""
        return self._recovery.goal

    @property
    def returns(self) -> int:
        """Number of deviations from the plan above `Tuning.off_plan`.

        With the response ``new_motion``, it is the number of motions to the goal.
        """
        return self._recovery.returns

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
        return self._estimate.delay

    @property
    def friction(self) -> Vector:
        """Identified dry friction (n,) in addition to that of the model, N m or N."""
        return self._estimate.model.friction

    @property
    def disturbance(self) -> Vector:
        """Estimated efforts (n,) that neither commands nor identified model explain.

        They are estimated, and compensated, after the first deviation from the plan.
        """
        return self._estimate.disturbance

    def load(self, q: Vector) -> Vector:
        """Return the efforts (n,) that hold the arm at `q` (n,) in addition to the robot's model.

        They are those of the identified masses and of the integral of the feedback.
        """
        integral = self._feedback.correction(
            q, self._zero, q, self._zero, Ahead(self._zero, self._period, 0.0)
        )
        model = self._estimate.model.holding(self._robot, q) - self._feedback.hold(q)
        return model + integral

    @property
    def extra_time(self) -> float | None:
        """Delay of the arrival compared with the plan, s; None before the arrival."""
        return None if self.arrival_time is None else self.arrival_time - self._arrives_at

    def expected(self, t: float) -> tuple[Vector, Vector] | None:
        """Return the planned positions and velocities (n,) at time `t`, s, at the current pace.

        The result is None after the end of the plan, or if the arm follows another motion.
        """
        if not self.goes_by_plan or self._followed.is_over(t):
            return None
        if self._followed.is_plan and self._followed.begin == 0.0:
            return self.plan.state(t)
        return self._followed.state(t)

    @property
    def goes_by_plan(self) -> bool:
        """Whether the arm follows the plan, at any pace, instead of another motion."""
        return not self.returns and self._recovery.leads_to_goal

    @property
    def pace(self) -> Pace:
        """Latest time rate at which the plan is executed, and the identified arm."""
        rate = 1.0 if self._updated_at is None else self._followed.rate(self._updated_at)
        return Pace(rate, self._estimate.model)

    def begin_at(self, pace: Pace) -> None:
        """Start the plan at the pace of the previous motion."""
        self.record.clear()
        if not self._adapts or (pace.rate == 1.0 and pace.model.is_exact):
            return
        exact, self._estimate.model = self._estimate.model, pace.model
        motion = self._scheduler.follow(0.0, self._scheduler.start(pace.rate), 1.0, CONTINUED)
        if motion is None:
            self._estimate.model = exact
        else:
            self._follow(motion)

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
        self.record.state(t, q, v)
        self._estimate.update(self._followed, t)
        segments = self._tracked(t, q, v, until)
        self.record.command(segments)
        return segments

    def interrupt(self) -> None:
        """Exclude the period after the next state from the identification.

        Call this method before `segments` if no command acts at a state, but a brake, for example.
        Otherwise its effect is attributed to masses and friction.
        """
        self.record.interrupt()

    def stop(self, t: float, q: Vector, v: Vector) -> None:
        """Stop the arm as soon as possible, and hold it where it comes to rest."""
        self._moves_on = False
        self._follow(self._scheduler.stop(t, q, v, self.plan_time(t)))
        self._recovery.goal = self._followed.motion.goal
        self._arrival.time = None

    # ---------------------------------------------------------------------- in compiled loops
    @property
    def tracking(self) -> Tracking | None:
        """Current state for a compiled loop; None if a compiled loop cannot continue from it."""
        followed, adaptation = self._followed, self._adaptation
        if self._moves_on or self._estimate.is_observed or self._monitor.stopped:
            return None
        if adaptation.waits or (self._adapts and self.record.is_starting):
            return None
        if self._updated_at is not None and self._updated_at <= followed.settles_at:
            return None
        over = self._updated_at is not None and followed.is_over(self._updated_at)
        if over and not self.arrived and self._arrival.is_noisy:
            return None
        adapts = self._may_adapt
        return Tracking(
            followed.motion,
            followed.begin,
            self.goal,
            adaptation.threshold(followed) if adapts else followed.off_plan,
            adaptation.errors() if adapts else np.full(self._robot.n, np.inf),
            followed.stopping,
            self._updated_at,
            self._feedback.sum,
            self._feedback.saturated,
            self._feedback.slowed,
            self._filter.velocity_errors,
        )

    @renamed_arguments(heard="updated_at")
    def tracked(
        self,
        updated_at: float | None,
        total: Vector,
        saturated: bool,
        slowed: Vector | None = None,
        velocity_errors: Vector | None = None,
    ) -> None:
        """Store the state after a compiled loop that started from `tracking`.

        Args:
            updated_at: Time of the last update, s.
            total: Integral of the position error (n,).
            saturated: Whether the last efforts were clipped to their limits.
            slowed: Whether the speed limit of each joint (n,) limited its last acceleration.
                Default: no joint.
            velocity_errors: Velocity errors (n,) of the last state. Default: unknown.
        """
        self._updated_at, feedback = updated_at, self._feedback
        feedback.sum, feedback.saturated = total, saturated
        feedback.slowed = np.zeros(self._robot.n, dtype=bool) if slowed is None else slowed
        self._filter.restore(velocity_errors)

    @property
    def reference(self) -> SampledMotion:
        """The motion that the arm follows."""
        return self._followed.motion

    # ------------------------------------------------------------------------------- tracking
    def _tracked(self, t: float, q: Vector, v: Vector, until: float) -> list[Segment]:
        if self._moves_on and self._followed.is_over(t) and not self._followed.stopping:
            self.stop(t, q, v)
        if self._backs_up(t, q):
            return self._backed(q, v)
        held = self._monitor.stopped and not self._followed.stopping
        if held and self._recovery.strays(q):
            self._follow(self._recovery.held(t, q, self._followed))
        # Measured positions and velocities (n,), filtered under noise.
        measured = self._filter.state(q, v, *self._followed.state(t), self.record.noise)
        error = self._adapted(t, *measured)
        followed = self._followed
        if (error > followed.off_plan and not self.record.is_pending) or (
            followed.stopping and followed.is_over(t)
        ):
            if self._backup is not None:
                self._backup_active = True
                return self._backed(q, v)
            self._leave(t, q, v)
        q_ref, v_ref = self._followed.state(t)
        self._watch_arrival(t, q, v, q_ref)
        correction = self._zero - self.disturbance
        early = self._adapts and self.record.is_starting  # an early error shows the delay
        if not early or error < EARLY * self._tuning.off_plan:
            delay = self._estimate.delay
            errors = measured[1] - v_ref + self._filter.change(delay)
            v_ahead = self._followed.state(t + delay + self._period)[1] + errors
            ahead = Ahead(v_ahead, self._period, delay + self._filter.lag)
            correction = correction + self._feedback.correction(*measured, q_ref, v_ref, ahead)
        if self._followed.is_over(t):
            arrival, off = self._arrival, measured[0] - q_ref
            correction = correction - self._breakaway.efforts(
                off,
                arrival.is_slow(v, off),
                arrival.is_slow(v, self._zero),
                arrival.unsettled(off, v) * (not arrival.is_noisy),
                self.friction,
                self.record.noise[0],
                self.horizon,
            )
        offsets, rows = self._followed.commands(t, max(self.horizon, min(until, LONGEST)))
        efforts = self._feedback.limited(q, rows + correction)
        return [
            Segment(offset, effort)
            for offset, effort in zip(offsets.tolist(), efforts, strict=True)
        ]

    @property
    def _may_adapt(self) -> bool:
        """Whether the arm follows the path, so that a position error may change the motion."""
        along = self._followed.is_along_path and not self._followed.stopping
        return self._adapts and along and self._recovery.leads_to_goal

    def _adapted(self, t: float, q: Vector, v: Vector) -> float:
        """Adapt the motion to the arm at a filtered state; return the position error."""
        followed, adaptation, noise = self._followed, self._adaptation, self._filter.effort_noise
        q_ref, v_ref = followed.state(t)
        error = float(np.abs(q - q_ref).max())
        is_fast = adaptation.note_speed(t, v, v_ref)
        if not (self._may_adapt and adaptation.is_due(t, followed, error, is_fast, noise)):
            return error
        motion = adaptation.motion(t, q, followed, error, noise)
        if motion is None:
            motion = self._recovery.stop_on_path(t, q, v, followed)
        if motion is not followed:
            self._follow(motion)
        return float(np.abs(q - self._followed.state(t)[0]).max())

    def _leave(self, t: float, q: Vector, v: Vector) -> None:
        """Respond to a deviation from the motion, or to the end of a stop."""
        self._arrival.time = None
        self._estimate.observe()
        if self._recovery.keeps_path:
            self._feedback.sum = self._zero
        self._follow(self._recovery.motion(t, q, v, self._followed))

    def _follow(self, motion: ScheduledMotion) -> None:
        self._filter.reset()
        self._followed = motion

    def _backs_up(self, t: float, q: Vector) -> bool:
        """Return whether the PD backup control is active."""
        if self._backup is not None and self._followed.is_over(t):
            self._backup_active |= bool(np.abs(q - self.goal).max() > self._tuning.tolerance)
        return self._backup_active

    def _backed(self, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts of the PD backup control."""
        assert self._backup is not None
        self._arrival.update(self.goal, self._followed.end)
        return [Segment(0.0, self._backup.efforts(self._robot, q, v, self.goal))]

    def _watch_arrival(self, t: float, q: Vector, v: Vector, q_ref: Vector) -> None:
        over, updated_at = self._followed.is_over(t), self._updated_at
        integrates = over or (self.returns > 0 and not self._estimate.is_observed)
        if updated_at is not None and integrates:
            error = q_ref - q
            if over and self.friction.any():
                error = self._arrival.unsettled(q - self.goal, v) * error
            self._feedback.integrate(error, t - updated_at)
        if over and not self.arrived and not self._monitor.stopped:
            self._arrival.update(self.goal, self._followed.end)
            if self.arrived:
                self._monitor.reset()
            else:
                self._monitor.note(t, self._feedback.saturated, q, self.goal)
        self._updated_at = t

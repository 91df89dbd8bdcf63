"""Response of an arm that has left its motion."""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.control.state_estimation import SIGMAS
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.arrival import SPEED
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.motion_scheduler import PAUSE, Lead, MotionScheduler
from manip_dyn.planning.execution.path_following import PathPoint
from manip_dyn.planning.execution.progress_monitor import ProgressMonitor
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.planning.execution.slow_start import CAUTIOUS

LEAST_PROGRESS = 0.05
"""Smallest progress of an attempt to follow the rest of the path, as a fraction of the plan."""
SHORTEST_RETURN = 0.3
"""Shortest duration of a return to the path, s: a disturbance is compensated in the meantime."""
RESUMING = (0.7, 0.98)
"""Fractions of the effort limits that a motion may use after the arm has left the path, in the
order in which they are tried."""
AT_REST = 0.05
"""Speed above which all joints are braked at the end of a brake along the path, rad/s or m/s."""
WIDER = 1.25
"""Ratio of the position error that ends a brake along the path, and the initial distance."""


class Recovery:
    """Computes the motions of an arm that has left its motion; see `Tuning.replan`.

    Attributes:
        goal: Final positions (n,): the goal of the plan, or the positions at which the arm stops.
        returns: Number of deviations from the plan, or with the response ``new_motion``, of
            motions to the goal.
    """

    def __init__(self, scheduler: MotionScheduler, monitor: ProgressMonitor):
        """Set the scheduler of the motions, and the monitor that counts failed attempts."""
        self._scheduler, self._monitor = scheduler, monitor
        self._plan, self._tuning = scheduler.plan, scheduler.tuning
        self.goal, self.returns = self._plan.qf, 0
        off_plan = self._tuning.off_plan
        # Largest position error of an arm that is too heavy to be held at the same position.
        self._yields = off_plan if np.isfinite(off_plan) else Tuning.off_plan
        self._resumed_at: float | None = None
        self._paused = False

    @property
    def keeps_path(self) -> bool:
        """Whether the arm stops on the path of the plan, or returns to it."""
        return self._tuning.replan != "new_motion" and self.leads_to_goal

    @property
    def leads_to_goal(self) -> bool:
        """Whether the arm moves to the goal of the plan."""
        return self.goal is self._plan.qf

    def motion(self, t: float, q: Vector, v: Vector, followed: ScheduledMotion) -> ScheduledMotion:
        """Return the motion after a deviation from the followed motion, or after its end.

        Args:
            t: Time, s.
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
            followed: The motion that the arm has left.
        """
        if not self.keeps_path:
            return self._straight(t, q, v, followed)
        point = self._scheduler.path.nearest(followed.plan_time(t), q)
        if followed.stopping and followed.is_over(t):
            return self._after_stop(t, q, v, followed, point)
        if followed.returning or not followed.stopping:
            self.returns += 1
            self._note_attempt(t, q, followed, point)
        return self._brake(t, q, v, point)

    def stop_on_path(
        self, t: float, q: Vector, v: Vector, followed: ScheduledMotion
    ) -> ScheduledMotion:
        """Brake along the path; see `motion` for the arguments."""
        return self._brake(t, q, v, self._scheduler.path.nearest(followed.plan_time(t), q))

    def _brake(self, t: float, q: Vector, v: Vector, point: PathPoint) -> ScheduledMotion:
        """Brake along the path, or all joints at once if the arm is too far from the path."""
        tuning = self._tuning
        rate = self._scheduler.path.rate(point, v)
        if rate == 0.0 or point.distance > max(tuning.max_deviation, tuning.off_plan):
            return self._stop_at_once(t, q, v, point)
        motion = self._scheduler.brake(t, self._scheduler.lead(point))
        off_plan = max(tuning.off_plan, WIDER * point.distance)
        return motion._replace(off_plan=off_plan, stopping=True)

    def strays(self, q: Vector) -> bool:
        """Return whether a stopped arm has left the positions at which it is held."""
        return bool(np.abs(q - self.goal).max() > self._yields)

    def held(self, t: float, q: Vector, followed: ScheduledMotion) -> ScheduledMotion:
        """Hold the arm at its current position, or near it if it has left the last one."""
        drift = 0.0 * q if self.leads_to_goal else q - self.goal
        self.goal = q - np.clip(drift, -self._yields, self._yields)
        self._scheduler.estimate.forget_disturbance()
        return self._by_feedback(t, followed)

    def _note_attempt(
        self, t: float, q: Vector, followed: ScheduledMotion, point: PathPoint
    ) -> None:
        """Count an attempt to follow the rest of the path, if it failed."""
        if self._tuning.replan == "stop":
            off = np.abs(q - followed.state(t)[0])
            self._monitor.note_stop(int(off.argmax()), float(off.max()))
        elif self._resumed_at is not None:
            progress = point.time - self._resumed_at
            succeeded = progress > LEAST_PROGRESS * self._plan.t_final
            self._monitor.note_attempt(succeeded, point.time)

    def _stop_at_once(self, t: float, q: Vector, v: Vector, point: PathPoint) -> ScheduledMotion:
        """Brake all joints at once, near a point of the path."""
        motion = self._scheduler.stop(t, q, v, point.time)
        return motion._replace(off_plan=math.inf, stopping=True)

    def _after_stop(
        self, t: float, q: Vector, v: Vector, followed: ScheduledMotion, point: PathPoint
    ) -> ScheduledMotion:
        """Follow the rest of the path, return to the path, or hold the arm."""
        scheduler, monitor = self._scheduler, self._monitor
        moves = np.abs(v).max() > AT_REST + SIGMAS * scheduler.estimate.noise[1].max()
        if moves and followed.is_along_path:
            return self._stop_at_once(t, q, v, point)
        if followed.returning and point.distance > self._tuning.off_plan:
            self._note_attempt(t, q, followed, point)
        if monitor.stopped:
            return self.held(t, q, followed)
        if monitor.failed and not self._paused:
            self._paused = True
            pause = scheduler.standing(t, q, point.time, PAUSE)
            return pause._replace(off_plan=math.inf, stopping=True)
        self._paused = False
        self._resumed_at = point.time
        ends = point.time >= (1.0 - LEAST_PROGRESS) * self._plan.t_final
        if not ends and point.distance <= self._tuning.off_plan:
            scheduler.margin.leave(t, 1.0 - CAUTIOUS)
            motion = scheduler.follow(t, Lead.at(point), monitor.slower, RESUMING)
            if motion is not None:
                return motion
            self._note_attempt(t, q, followed, point)
        target, time = (self.goal, self._plan.t_final) if ends else (point.q, point.time)
        straight = scheduler.straight(t, q, v, target, time, SHORTEST_RETURN)
        if straight is None:  # the arm moves too fast, or the load exceeds the effort limits
            self._note_attempt(t, q, followed, point)
            return self._stop_at_once(t, q, v, point)
        return straight._replace(stopping=not ends, returning=not ends)

    def _straight(
        self, t: float, q: Vector, v: Vector, followed: ScheduledMotion
    ) -> ScheduledMotion:
        """Return from the measured state to the goal, or stop if no such motion is found."""
        if not followed.stopping:  # the motion after a stop belongs to the same return
            self.returns += 1
            self._monitor.note_return()
            if self._monitor.stopped:
                return self.held(t, q, followed)
        time = followed.plan_time(t)
        motion = self._scheduler.straight(t, q, v, self.goal, time)
        if motion is not None:
            return motion
        if np.abs(v).max() > SPEED * self._tuning.tolerance:
            return self._scheduler.stop(t, q, v, time)._replace(stopping=True)
        return self._by_feedback(t, followed)

    def _by_feedback(self, t: float, followed: ScheduledMotion) -> ScheduledMotion:
        motion = self._scheduler.standing(t, self.goal, followed.plan_time(t))
        return motion._replace(off_plan=math.inf)

"""Adaptation of the timing of a motion to the estimated arm."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.identification import Identified
from manip_dyn.planning.execution.motion_scheduler import MotionScheduler
from manip_dyn.planning.execution.path_following import PathPoint
from manip_dyn.planning.execution.progress_monitor import ProgressMonitor
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.planning.execution.slow_start import CAUTIOUS

LAG = 0.1
"""Fraction of `Tuning.off_plan` above which a position error changes the motion."""
NOISY = 0.01
"""Standard deviation of the noise of the efforts, relative to their limits, from which a motion
leaves a reserve."""
GROWTH = 1.25
"""Growth of the position error with which a motion is computed again."""
LEAST_RESERVE, RESERVE = 0.05, 0.25
"""Fraction of the effort limits that is reserved for the feedback on the path, and its increase at
the distance `Tuning.off_plan`."""
MOST_RESERVE = 0.3
"""Largest reserve."""


class Adaptation:
    """Changes the timing of a motion along the path if the arm deviates from it.

    Attributes:
        waits: Whether the arm brakes until it is identified.
    """

    def __init__(self, scheduler: MotionScheduler, monitor: ProgressMonitor):
        """Set the scheduler of the motions, and the monitor of their progress."""
        self._scheduler, self._monitor = scheduler, monitor
        self._estimate, self._plan = scheduler.estimate, scheduler.plan
        self._lag = LAG * scheduler.tuning.off_plan
        self._compared: ScheduledMotion | None = None  # motion of the threshold
        self._threshold = self._lag
        self._reserve_is_feasible = True
        self.waits = False

    def threshold(self, followed: ScheduledMotion) -> float:
        """Return the position error above which a motion changes, rad or m."""
        return self._threshold if followed is self._compared else self._lag

    def errors(self) -> Vector:
        """Return the speed errors (n,) above which a motion changes, rad/s or m/s."""
        return self._scheduler.margin.errors(self._estimate.noise[1])

    def note_speed(self, t: float, v: Vector, v_ref: Vector) -> bool:
        """Record the speeds (n,) and those of the reference; return whether they differ."""
        is_fast = bool((np.abs(v - v_ref) > self.errors()).any())
        if is_fast and not self._estimate.record.is_starting:
            noise = self._estimate.noise[1]
            self._scheduler.margin.note(t, np.abs(v) - np.abs(v_ref), noise)
        return is_fast

    def is_due(
        self, t: float, followed: ScheduledMotion, error: float, is_fast: bool, effort_noise: float
    ) -> bool:
        """Return whether the timing may have to change.

        Args:
            t: Time, s.
            followed: The current motion.
            error: Largest position error, rad or m.
            is_fast: Whether the speeds differ from those of the motion.
            effort_noise: Standard deviation of the noise of the efforts, relative to their limits.
        """
        if t <= followed.begin:
            return False
        differs = error > self.threshold(followed) or is_fast
        if (differs and t > followed.settles_at) or self.waits:
            return True
        return self._estimate.record.is_pending or self._lacks_reserve(followed, effort_noise)

    def _lacks_reserve(self, followed: ScheduledMotion, effort_noise: float) -> bool:
        """Return whether noise near the effort limits requires a motion with a reserve."""
        return effort_noise > NOISY and followed.is_plan and self._reserve_is_feasible

    def motion(
        self,
        t: float,
        q: Vector,
        followed: ScheduledMotion,
        error: float,
        effort_noise: float,
    ) -> ScheduledMotion | None:
        """Identify the arm; return the motion along the rest of the path from the current point.

        The result is None if the arm has to stop, because it does not move along the path.

        Args:
            t: Time, s.
            q: Filtered positions (n,), rad or m.
            followed: The current motion. It is returned if it needs no change.
            error: Largest position error, rad or m.
            effort_noise: Standard deviation of the noise of the efforts, relative to their limits.
        """
        time = followed.plan_time(t)
        if time >= self._plan.t_final:
            return self._compare(followed, GROWTH * error)
        identified = self._estimate.identified()
        if identified is None:
            return self._waiting(t, time, followed)
        self._compare(followed, GROWTH * error)
        point = self._scheduler.path.nearest(time, q)
        self._monitor.note_progress(t, point.time)
        if self._monitor.stopped:
            return None
        explained = self._use(identified, point)
        if point.distance > followed.off_plan:
            return followed
        waited, self.waits = self.waits, False
        if waited:
            self._scheduler.margin.leave(t, 1.0 - CAUTIOUS)
        changed = None
        if explained or waited or self._lacks_reserve(followed, effort_noise):
            reserve = LEAST_RESERVE + RESERVE * point.distance / self._scheduler.tuning.off_plan
            fractions = 1.0 - min(reserve, MOST_RESERVE), 1.0
            changed = self._scheduler.follow(t, self._scheduler.lead(point), 1.0, fractions)
            self._reserve_is_feasible = changed is not None
        elif point.distance >= self._lag:
            return followed
        if changed is None:  # an error along the path needs no correction
            begin = followed.begin + (t - followed.time_of(point.time))
            changed = followed._replace(begin=begin)
        return self._compare(changed, max(self._lag, GROWTH * point.distance))

    def _compare(self, motion: ScheduledMotion, threshold: float) -> ScheduledMotion:
        """Set the threshold of a motion, and return the motion."""
        self._compared, self._threshold = motion, threshold
        return motion

    def _use(self, identified: Identified, point: PathPoint) -> bool:
        """Use an identified arm; return whether it deviates from the model."""
        estimate = self._estimate
        explained = identified.delay != estimate.delay or not identified.model.is_exact
        estimate.delay = identified.delay
        estimate.use(identified.model, point.v)
        return explained

    def _waiting(self, t: float, time: float, followed: ScheduledMotion) -> ScheduledMotion:
        """Brake until the arm is identified, if a joint would otherwise be too fast.

        A delay of the commands, `LONGEST_DELAY` at most, is suspected. Lighter masses would
        accelerate the joints by the inverse of `CAUTIOUS`.
        """
        estimate, sampled = self._estimate, self._scheduler.sampled
        if not estimate.record.is_starting or self.waits or not followed.is_plan:
            return followed
        ahead = slice(sampled.cell(time), sampled.cell(time + estimate.longest) + 2)
        if np.all(np.abs(sampled.v[ahead]) <= CAUTIOUS * self._plan.robot.v_max):
            return followed
        self.waits = True
        return self._scheduler.brake(t, self._scheduler.planned_lead(time), 1.0)

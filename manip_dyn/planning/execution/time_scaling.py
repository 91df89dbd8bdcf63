"""Time scaling: a motion is executed at a lower rate if the arm lags behind it.

A bang-bang motion has no effort reserve, so an arm that is heavier than its model cannot catch up.
If feedback accelerated it during braking, it would brake too little and overshoot the goal.
Therefore a motion that the arm cannot follow is rescaled. It continues from the arm's position on
the path, at a rate that is feasible for the arm with a reserve for the feedback (Dahl, Nielsen,
"Torque-limited path following by on-line trajectory time scaling", 1990). A lighter arm follows
the motion with lower efforts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.mass_estimation import MassEstimator
from manip_dyn.planning.execution.path_projection import project_on_path
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.robot import Robot

RESERVE = 0.02
"""Fraction of the efforts that is reserved for the feedback."""
LAG = 0.1
"""Fraction of `Tuning.off_plan` by which an arm must lag behind before its motion is rescaled."""
LATER = 1.25
"""Factor by which the error threshold grows after an error that is not due to a lag."""
LEAST_RATE = 0.5
"""Smallest ratio of consecutive rates that is attributed to different masses."""
LIGHTER = 0.03
"""Relative change of the masses in one correction of the estimate."""
LIGHTEST = 0.5
"""Smallest mass ratio."""


class Pace(NamedTuple):
    """Time rate and mass ratio at which an arm follows a motion.

    Attributes:
        rate: Time of the motion per actual time.
        mass_ratio: Ratio of the estimated masses to those of the model.
    """

    rate: float = 1.0
    mass_ratio: float = 1.0


class TimeScaling:
    """Rescales a motion for an arm whose masses differ from the model.

    Attributes:
        from_error: Joint error above which the motion may be rescaled, rad or m.
        pace: The current pace.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, tuning: Tuning):
        """Start at the planned pace.

        Args:
            robot: The arm.
            motion: The planned motion.
            tuning: Tuning of the feedback, with the largest distance from the path.
        """
        self._off_plan, self._lag = tuning.off_plan, LAG * tuning.off_plan
        self.from_error = self._lag
        self._robot, self._motion, self._begin = robot, motion, 0.0
        self._masses = MassEstimator(robot, motion, tuning)
        self._elapsed, self.pace = 0.0, Pace()

    def begin_at(self, pace: Pace) -> SampledMotion | None:
        """Return the motion at the pace of a previous motion, or None if it is not feasible."""
        rate = min(pace.rate, self._fastest(0.0, pace.mass_ratio))
        if pace == Pace() or rate < LEAST_RATE * pace.rate:
            return None
        self._masses.begun_at(pace.rate * self._motion.v[0])
        self.pace = Pace(rate, pace.mass_ratio)
        return self._scaled()

    def plan_time(self, t: float) -> float:
        """Return the time of the planned motion (s) at `t` seconds after the scaled one starts."""
        return self._begin + self.pace.rate * t

    def since(self, time: float) -> float:
        """Return the time after the start of the scaled motion (s) for a planned time (s)."""
        return (time - self._begin) / self.pace.rate

    def for_error(self, error: float, t: float, q: Vector, v: Vector) -> SampledMotion | None:
        """Return the rescaled rest of the motion if the arm lags behind or leads, else None.

        Args:
            error: Largest joint error relative to the scaled motion, rad or m.
            t: Time since the start of the scaled motion, s.
            q: Positions of the arm (n,), rad or m.
            v: Velocities of the arm (n,), rad/s or m/s.
        """
        now = self.plan_time(t)
        if error <= self.from_error:
            return None
        moving = 0.0 < now < self._motion.t_final
        lags = moving and self._adapt_to_lag(now, t, q, v)
        later = min(LATER * error, self._off_plan)
        self.from_error = self._lag if lags else later
        leads = moving and not lags and self._adapt_to_lead(now, t, q, v)
        return self._scaled() if lags or leads else None

    def _adapt_to_lag(self, now: float, t: float, q: Vector, v: Vector) -> bool:
        """Adapt the pace if the arm lags behind; return whether the pace was adapted."""
        previous = self.pace.mass_ratio
        projection = project_on_path(self._robot, self._motion, now, q, v)
        if (
            projection is None
            or projection.off > self._off_plan
            or projection.rate < LEAST_RATE * self.pace.rate
        ):
            return False
        if previous < 1.0 or np.abs(self._motion.state(now)[0] - projection.q).max() < self._lag:
            return False  # the feedback has a reserve, or the arm is close to the path
        # A braking arm may be slow because it brakes more than planned.
        mean = projection.time / (self._elapsed + t)
        rate = projection.rate if projection.speeds_up else max(projection.rate, mean)
        if previous > 1.0:  # an arm that lags again is heavier than estimated
            mass_ratio = (1.0 + RESERVE) * previous if projection.speeds_up else previous
        else:
            there = v if projection.speeds_up else rate * projection.v
            mass_ratio = self._masses.of_lagging(projection.time, q - projection.q, q, there)
        rate = min(self.pace.rate, rate, self._fastest(projection.time, mass_ratio))
        if rate < LEAST_RATE * self.pace.rate:
            return False
        self._continue(projection.time, t, Pace(rate, mass_ratio))
        return True

    def _adapt_to_lead(self, now: float, t: float, q: Vector, v: Vector) -> bool:
        """Adapt the mass ratio to the lead of an accelerating arm; return whether it changed."""
        motion, (rate, previous) = self._motion, self.pace
        there, speed = motion.state(now)
        speed = rate * speed
        along = customize(self._robot).unchecked.mass_matrix(q) @ speed
        cell = motion.cell(now)
        if previous > 1.0 or (motion.v[cell + 1] - motion.v[cell]) @ along <= 0.0:
            return False
        off, faster = q - there, v - speed
        ahead = off @ along > 0.0
        if previous < 1.0:
            mass_ratio = min((1.0 - LIGHTER if ahead else 1.0 + LIGHTER) * previous, 1.0)
        elif ahead and faster @ along > 0.0:
            mass_ratio = self._masses.of_leading(now, off, faster, q, v)
        else:
            mass_ratio = previous
        mass_ratio = max(mass_ratio, LIGHTEST)
        if abs(mass_ratio - previous) < 0.5 * LIGHTER:
            return False
        self._continue(now, t, Pace(rate, mass_ratio))
        return True

    def _continue(self, time: float, t: float, pace: Pace) -> None:
        self._elapsed, self._begin, self.pace = self._elapsed + t, time, pace

    def _fastest(self, time: float, mass_ratio: float) -> float:
        """Return the highest feasible rate for the motion after `time`, s."""
        components, limit = (
            self._masses.components.rest(self._motion.cell(time)),
            self._robot.tau_max,
        )
        at_rest = components.scaled(0.0, mass_ratio)
        moving = components.scaled(1.0, mass_ratio) - at_rest
        moves = np.abs(moving) > RESERVE * limit
        available = (1.0 - RESERVE) * limit * np.sign(moving) - at_rest
        ratio = np.where(moves, available, 1.0) / np.where(moves, moving, 1.0)
        return float(np.sqrt(max(ratio.min(initial=1.0), 0.0)))

    def _scaled(self) -> SampledMotion:
        """Return the rest of the motion at the current rate and mass ratio."""
        motion, time, robot = self._motion, self._begin, self._robot
        rate, mass_ratio = self.pace
        cell = motion.cell(time)
        q, v = motion.state(time)
        springs = robot.stiffness * (motion.goal - robot.rest)
        return SampledMotion(
            np.concatenate([[0.0], (motion.times[cell + 1 :] - time) / rate]),
            np.concatenate([q[None], motion.q[cell + 1 :]]),
            rate * np.concatenate([v[None], motion.v[cell + 1 :]]),
            self._masses.components.rest(cell).scaled(rate, mass_ratio),
            mass_ratio * (motion.hold - springs) + springs,
            motion.wait,
        )

"""Time scaling: the rest of a motion, slower, for an arm that lags behind it.

A bang-bang motion has no efforts left to catch up with: an arm that is heavier than its model, and
tries while it brakes, takes from its braking and passes the goal. So a motion that the arm cannot
follow gives way to it: it goes on from where the arm is on its path, at a rate for which that arm
has the efforts, as in Dahl and Nielsen, "Torque-limited path following by on-line trajectory time
scaling" (1990), with some left to the feedback. A lighter arm can follow it, by lower efforts.
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
"""Share of the efforts that is left to the feedback."""
LAG = 0.1
"""Share of `Tuning.off_plan` by which an arm lags behind a motion that gives way to it."""
LATER = 1.25
"""How much more an arm that did not lag behind has to be off before it is looked at again."""
SLOWER = 0.5
"""The least share of its rate at which an arm has only other masses than are planned for."""
LIGHTER = 0.03
"""Share of an arm's masses by which they are told once more."""
LIGHTEST = 0.5
"""Least share of the planned masses that is told."""


class Pace(NamedTuple):
    """How an arm follows a motion.

    Attributes:
        rate: Its rate, as a share of the motion's own.
        heavier: How many times heavier the arm seems than its model; below 1: lighter.
    """

    rate: float = 1.0
    heavier: float = 1.0


class TimeScaling:
    """A motion that gives way to an arm whose masses it was not planned for.

    Attributes:
        from_error: Error of a joint from which on it may, rad or m.
        pace: At which it goes on.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, tuning: Tuning):
        """Begin with the motion as it is.

        Args:
            robot: The arm.
            motion: What it is to do.
            tuning: Of the feedback, and how far a joint may be off its path.
        """
        self._off_plan, self._lag = tuning.off_plan, LAG * tuning.off_plan
        self.from_error = self._lag
        self._robot, self._motion, self._begin = robot, motion, 0.0
        self._masses = MassEstimator(robot, motion, tuning)
        self._elapsed, self.pace = 0.0, Pace()

    def begin_at(self, pace: Pace) -> SampledMotion | None:
        """Return the motion at the pace of one that the arm leaves for it, if it has one."""
        rate = min(pace.rate, self._fastest(0.0, pace.heavier))
        if pace == Pace() or rate < SLOWER * pace.rate:
            return None
        self._masses.begun_at(pace.rate * self._motion.v[0])
        self.pace = Pace(rate, pace.heavier)
        return self._scaled()

    def plan_time(self, t: float) -> float:
        """Return which time of the motion is that `t` s after what was returned last began."""
        return self._begin + self.pace.rate * t

    def since(self, time: float) -> float:
        """Return how long after what was returned last began a time of the motion is, s."""
        return (time - self._begin) / self.pace.rate

    def for_error(self, error: float, t: float, q: Vector, v: Vector) -> SampledMotion | None:
        """Return the rest of the motion for the arm's masses, if it lags behind or is ahead.

        Args:
            error: How far a joint is off what was returned last, or the motion, rad or m.
            t: Time since that began, s.
            q: Where the arm is (n,), rad or m.
            v: How fast it is (n,), per s.
        """
        now = self.plan_time(t)
        if error <= self.from_error:
            return None
        under_way = 0.0 < now < self._motion.t_final
        behind = under_way and self._for_lag(now, t, q, v)
        later = min(LATER * error, self._off_plan)
        self.from_error = self._lag if behind else later
        lighter = under_way and not behind and self._for_lead(now, t, q, v)
        return self._scaled() if behind or lighter else None

    def _for_lag(self, now: float, t: float, q: Vector, v: Vector) -> bool:
        """Take the pace of an arm that lags behind; return whether it does."""
        known = self.pace.heavier
        place = project_on_path(self._robot, self._motion, now, q, v)
        if place is None or place.off > self._off_plan or place.rate < SLOWER * self.pace.rate:
            return False
        if known < 1.0 or np.abs(self._motion.state(now)[0] - place.q).max() < self._lag:
            return False  # feedback has efforts left, or it is beside the path
        # While it brakes it may be slow because it brakes more than planned.
        mean = place.time / (self._elapsed + t)
        rate = place.rate if place.speeds_up else max(place.rate, mean)
        if known > 1.0:  # an arm that lags again is weaker still
            heavier = (1.0 + RESERVE) * known if place.speeds_up else known
        else:
            there = v if place.speeds_up else rate * place.v
            heavier = self._masses.of_lagging(place.time, q - place.q, q, there)
        rate = min(self.pace.rate, rate, self._fastest(place.time, heavier))
        if rate < SLOWER * self.pace.rate:
            return False
        self._go_on(place.time, t, Pace(rate, heavier))
        return True

    def _for_lead(self, now: float, t: float, q: Vector, v: Vector) -> bool:
        """Take the masses of an arm that is ahead while it speeds up, or behind such masses."""
        motion, (rate, known) = self._motion, self.pace
        there, speed = motion.state(now)
        speed = rate * speed
        along = customize(self._robot).unchecked.mass_matrix(q) @ speed
        cell = motion.cell(now)
        if known > 1.0 or (motion.v[cell + 1] - motion.v[cell]) @ along <= 0.0:
            return False
        off, faster = q - there, v - speed
        ahead = off @ along > 0.0
        if known < 1.0:
            heavier = min((1.0 - LIGHTER if ahead else 1.0 + LIGHTER) * known, 1.0)
        elif ahead and faster @ along > 0.0:
            heavier = self._masses.of_leading(now, off, faster, q, v)
        else:
            heavier = known
        heavier = max(heavier, LIGHTEST)
        if abs(heavier - known) < 0.5 * LIGHTER:
            return False
        self._go_on(now, t, Pace(rate, heavier))
        return True

    def _go_on(self, time: float, t: float, pace: Pace) -> None:
        self._elapsed, self._begin, self.pace = self._elapsed + t, time, pace

    def _fastest(self, time: float, heavier: float) -> float:
        """Return the highest rate from `time` s on for which the efforts are enough."""
        parts, limit = self._masses.parts.rest(self._motion.cell(time)), self._robot.tau_max
        at_rest = parts.scaled(0.0, heavier)
        moving = parts.scaled(1.0, heavier) - at_rest
        asked = np.abs(moving) > RESERVE * limit
        left = (1.0 - RESERVE) * limit * np.sign(moving) - at_rest
        ratio = np.where(asked, left, 1.0) / np.where(asked, moving, 1.0)
        return float(np.sqrt(max(ratio.min(initial=1.0), 0.0)))

    def _scaled(self) -> SampledMotion:
        """Return the rest of the motion for the arm's masses, at the rate."""
        motion, time, robot = self._motion, self._begin, self._robot
        rate, heavier = self.pace
        cell = motion.cell(time)
        q, v = motion.state(time)
        springs = robot.stiffness * (motion.goal - robot.rest)
        return SampledMotion(
            np.concatenate([[0.0], (motion.times[cell + 1 :] - time) / rate]),
            np.concatenate([q[None], motion.q[cell + 1 :]]),
            rate * np.concatenate([v[None], motion.v[cell + 1 :]]),
            self._masses.parts.rest(cell).scaled(rate, heavier),
            heavier * (motion.hold - springs) + springs,
            motion.wait,
        )

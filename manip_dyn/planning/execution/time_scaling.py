"""Time scaling: the rest of a motion, slower, for an arm that lags behind it.

A bang-bang motion has no efforts left to catch up with: an arm that is heavier than its model, and
tries while it brakes, takes from its braking and passes the goal. So a motion that the arm cannot
follow gives way to it: it goes on from where the arm is on its path, at a rate for which that arm
has the efforts, as in Dahl and Nielsen, "Torque-limited path following by on-line trajectory time
scaling" (1990), with some left to the feedback.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.parts_of_efforts import Parts, parts_of, works
from manip_dyn.planning.execution.place_on_path import Place, place_on
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
KNOWN = 0.1
"""Share of the energy of a moving start by which that has to grow before masses are told."""


class Pace(NamedTuple):
    """How an arm follows a motion.

    Attributes:
        rate: Its rate, as a share of the motion's own.
        heavier: How many times heavier the arm seems than its model.
    """

    rate: float = 1.0
    heavier: float = 1.0


class TimeScaling:
    """A motion that gives way to an arm that cannot follow it.

    Attributes:
        from_error: Error of a joint from which on it may, rad or m.
        pace: At which it goes on.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, off_plan: float):
        """Begin with the motion as it is.

        Args:
            robot: The arm.
            motion: What it is to do.
            off_plan: How far a joint may be off its path, rad or m.
        """
        self._off_plan, self._lag = off_plan, LAG * off_plan
        self.from_error = self._lag
        self._robot, self._motion, self._begin = robot, motion, 0.0
        self._elapsed, self.pace, self._start = 0.0, Pace(), motion.v[0]

    def begin_at(self, pace: Pace) -> SampledMotion | None:
        """Return the motion at the pace of one that the arm leaves for it, if it has one."""
        rate = min(pace.rate, self._fastest(0.0, pace.heavier))
        if pace == Pace() or rate < SLOWER * pace.rate:
            return None
        self.pace, self._start = Pace(rate, pace.heavier), pace.rate * self._start
        return self._slowed()

    def plan_time(self, t: float) -> float:
        """Return which time of the motion is that `t` s after what was returned last began."""
        return self._begin + self.pace.rate * t

    def since(self, time: float) -> float:
        """Return how long after what was returned last began a time of the motion is, s."""
        return (time - self._begin) / self.pace.rate

    def for_error(self, error: float, t: float, q: Vector, v: Vector) -> SampledMotion | None:
        """Return the rest of the motion from where the arm is on it, if it lags behind.

        Args:
            error: How far a joint is off what was returned last, or the motion, rad or m.
            t: Time since that began, s.
            q: Where the arm is (n,), rad or m.
            v: How fast it is (n,), per s.
        """
        if error <= self.from_error:
            return None
        rest = self._for_lag(t, q, v)
        later = min(LATER * error, self._off_plan)
        self.from_error = later if rest is None else self._lag
        return rest

    def _for_lag(self, t: float, q: Vector, v: Vector) -> SampledMotion | None:
        now = self.plan_time(t)
        if not 0.0 < now < self._motion.t_final:
            return None
        place = place_on(self._robot, self._motion, now, q, v)
        if place is None or place.off > self._off_plan or place.rate < SLOWER * self.pace.rate:
            return None
        if np.abs(self._motion.state(now)[0] - place.q).max() < self._lag:
            return None  # it is beside the path
        # While it brakes it may be slow because it brakes more than planned.
        mean = place.time / (self._elapsed + t)
        rate = place.rate if place.speeds_up else max(place.rate, mean)
        heavier = self._mass_scale(place, q, v if place.speeds_up else rate * place.v)
        rate = min(self.pace.rate, rate, self._fastest(place.time, heavier))
        if rate < SLOWER * self.pace.rate:
            return None
        self._elapsed, self._begin = self._elapsed + t, place.time
        self.pace = Pace(rate, heavier)
        return self._slowed()

    @cached_property
    def _parts(self) -> Parts:
        return parts_of(self._robot, self._motion)

    def _mass_scale(self, place: Place, q: Vector, v: Vector) -> float:
        """Return how much heavier the bodies of an arm are than in its model.

        What moves and lifts them is left of the work of the efforts by rotors and springs. Until
        it lags these are the motion's efforts; an arm that lags again is weaker still.
        """
        known = self.pace.heavier
        if known > 1.0:
            return (1.0 + RESERVE) * known if place.speeds_up else known
        motion, parts = self._motion, self._parts
        off, cell = q - place.q, motion.cell(place.time)
        done, lifted, held = (
            float(np.interp(place.time, motion.times, works(motion, each)) + each[cell] @ off)
            for each in (motion.efforts - parts.damping, parts.weight, parts.springs)
        )
        bodies, rotors = self._energies(q, v)
        first, first_rotors = self._energies(motion.q[0], self._start)
        gained, turned = bodies - first + lifted, rotors - first_rotors
        return max((done - held - turned) / gained, 1.0) if gained > KNOWN * first else 1.0

    def _energies(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the kinetic energies of the bodies, as they are planned for, and rotors, J."""
        mass = customize(self._robot).unchecked.mass_matrix(q)
        rotors = 0.5 * float(self._robot.armature @ v**2)
        return 0.5 * float(v @ mass @ v) - rotors, rotors

    def _fastest(self, time: float, heavier: float) -> float:
        """Return the highest rate from `time` s on for which the efforts are enough."""
        parts, limit = self._parts.rest(self._motion.cell(time)), self._robot.tau_max
        at_rest = parts.scaled(0.0, heavier)
        moving = parts.scaled(1.0, heavier) - at_rest
        asked = np.abs(moving) > RESERVE * limit
        left = (1.0 - RESERVE) * limit * np.sign(moving) - at_rest
        ratio = np.where(asked, left, 1.0) / np.where(asked, moving, 1.0)
        return float(np.sqrt(max(ratio.min(initial=1.0), 0.0)))

    def _slowed(self) -> SampledMotion:
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
            self._parts.rest(cell).scaled(rate, heavier),
            heavier * (motion.hold - springs) + springs,
            motion.wait,
        )

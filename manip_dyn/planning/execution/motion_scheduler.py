"""Motions of an executor: along the path at another rate, back to the path, and to rest."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.path_following import (
    SLOWEST,
    PathMotion,
    PathPoint,
    PlanPath,
    SpeedMargin,
)
from manip_dyn.planning.execution.return_motion import SHORTEST, return_motion, stopping_motion
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.planning.plan import Plan

if TYPE_CHECKING:
    from manip_dyn.planning.execution.arm_estimate import ArmEstimate
    from manip_dyn.planning.execution.feedback import Tuning

SETTLING = 4
"""Periods in addition to the delay before a new motion is compared with the states."""
BRAKING = 0.9
"""Fraction of the effort limits that a braking motion may use, if this fraction suffices."""
PAUSE = 0.5
"""Time at rest after a failed attempt to follow the rest of the path, s."""
CELLS_AHEAD = 4
"""Maximum number of cells in a horizon that a transport delay extends beyond a period."""


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

    @classmethod
    def at(cls, point: PathPoint, rate: float = 0.0) -> Lead:
        """Return the empty motion of an arm that passes a point at a rate."""
        return cls([point], np.zeros(1), np.zeros((0, len(point.q))), rate)


class MotionScheduler:
    """Computes motions for the estimated arm.

    Attributes:
        plan: The plan.
        sampled: The sampled plan.
        tuning: Gains and thresholds.
        estimate: The estimated arm.
        margin: Margin of the speeds of motions along the path.
    """

    def __init__(
        self,
        plan: Plan,
        sampled: SampledMotion,
        tuning: Tuning,
        period: float,
        spacing: float,
        estimate: ArmEstimate,
    ):
        """Set the plan and the arm.

        Args:
            plan: The plan.
            sampled: The sampled plan.
            tuning: Gains and thresholds.
            period: Control period, s.
            spacing: Cell length of motions away from the path, s.
            estimate: The estimated arm.
        """
        self.plan, self.sampled, self.tuning = plan, sampled, tuning
        self.estimate = estimate
        self._robot, self._period, self._spacing = plan.robot, period, spacing
        self.margin = SpeedMargin(plan.robot)

    @cached_property
    def path(self) -> PlanPath:
        """The path of the plan. It is computed at the first use."""
        return PlanPath(self._robot, self.plan, self.sampled)

    # ------------------------------------------------------------------------- along the path
    def lead(self, point: PathPoint) -> Lead:
        """Return the motion until the next command acts, from the current point of the path."""
        estimate = self.estimate
        predicted = estimate.record.predicted(estimate.delay, estimate.model, estimate.disturbance)
        points = []
        for row in predicted:
            point = self.path.nearest(point.time, row.q)
            rate = self.path.rate(point, row.v)
            points.append(point._replace(v=rate * point.v))
        offsets = np.array([row.offset for row in predicted])
        return Lead(points, offsets, np.array([row.effort for row in predicted[:-1]]), rate)

    def start(self, rate: float) -> Lead:
        """Return the empty motion of an arm that starts the plan at a rate."""
        return Lead.at(self.path.nearest(0.0, self.plan.q0), rate)

    def planned_lead(self, time: float) -> Lead:
        """Return the motion of an arm that follows its plan at a plan time (s)."""
        delay, sampled = self.estimate.delay, self.sampled
        offsets = np.linspace(0.0, delay, math.ceil(delay / self._spacing - 1e-6) + 1)
        states = [sampled.state(time + offset) for offset in offsets]
        points = [
            PathPoint(time + offset, *state, 0.0)
            for offset, state in zip(offsets, states, strict=True)
        ]
        efforts = sampled.efforts[[sampled.cell(time + offset) for offset in offsets[:-1]]]
        return Lead(points, offsets, efforts, 1.0)

    def follow(
        self, t: float, lead: Lead, fastest: float, fractions: tuple[float, ...]
    ) -> ScheduledMotion | None:
        """Return the fastest motion along the rest of the path, or None if it is infeasible.

        Args:
            t: Time, s.
            lead: Motion until the next command acts.
            fastest: Largest rate.
            fractions: Fractions of the effort limits that the motion may use, in the order in
                which they are tried.
        """
        for fraction in fractions:
            motion = self.path.follow(
                lead.points[-1].time,
                lead.rate,
                self.estimate.model,
                fraction,
                fastest,
                self.margin.at(t),
            )
            if motion.slowest > SLOWEST:
                return self._along_path(t, motion, lead)
        return None

    def brake(self, t: float, lead: Lead, fraction: float = BRAKING) -> ScheduledMotion:
        """Return the motion that brakes along the path with a fraction of the effort limits."""
        model = self.estimate.model
        motion = self.path.brake(lead.points[-1].time, lead.rate, model, fraction)
        return self._along_path(t, motion, lead)

    def _along_path(self, t: float, motion: PathMotion, lead: Lead) -> ScheduledMotion:
        motion = motion.after(*lead[:3])
        settles_at = t + self.estimate.delay + SETTLING * self._period
        off_plan = self.tuning.off_plan
        return ScheduledMotion(motion.motion, off_plan, t, motion.plan_times, settles_at)

    # ---------------------------------------------------------------------- away from the path
    def straight(
        self,
        t: float,
        q: Vector,
        v: Vector,
        goal: Vector,
        time: float,
        shortest: float = SHORTEST,
    ) -> ScheduledMotion | None:
        """Return the fastest straight motion to rest, or None; see `return_motion`.

        Args:
            t: Time, s.
            q: Positions (n,), rad or m.
            v: Velocities (n,), rad/s or m/s.
            goal: Final positions (n,), rad or m.
            time: Plan time of the motion, s.
            shortest: Shortest duration, s.
        """
        model = self.estimate.model
        motion = return_motion(self._robot, model, q, v, goal, self._spacing, shortest)
        if motion is None:
            return None
        return ScheduledMotion(motion, self.tuning.off_plan, t, np.array([time]))

    def stop(self, t: float, q: Vector, v: Vector, time: float) -> ScheduledMotion:
        """Return the motion that brakes all joints at once; see `straight` for the arguments."""
        motion = stopping_motion(self._robot, self.estimate.model, q, v, self._spacing)
        if motion is None:
            return self.standing(t, q.copy(), time, PAUSE)
        return ScheduledMotion(motion, self.tuning.off_plan, t, np.array([time]))

    def standing(self, t: float, q: Vector, time: float, duration: float = 0.0) -> ScheduledMotion:
        """Return the motion of an arm that is held at `q` (n,) for `duration` s."""
        motion = SampledMotion.standing(q, self.estimate.model.holding(self._robot, q), duration)
        return ScheduledMotion(motion, self.tuning.off_plan, t, np.array([time]))

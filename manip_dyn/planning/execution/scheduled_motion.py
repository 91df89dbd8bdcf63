"""Motion that an arm follows: its start, the plan times at its cells, and its end."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.execution.sampled_motion import SampledMotion

SHORTEST_CELL = 1e-9
"""Least duration of a cell in the computation of its rate, s."""


class ScheduledMotion(NamedTuple):
    """Motion of an executor.

    Attributes:
        motion: The motion, which starts at time 0.
        off_plan: Position error of a joint above which the arm has left the motion, rad or m.
        begin: Start time after the start of the plan, s.
        plan_times: Plan times (k + 1,) at the boundaries of its cells, s, if the motion is along
            the path of the plan. One plan time (1,) if the motion is not along the path. None if
            the motion is the plan.
        settles_at: Time until which the motion is not compared with the states, s.
        stopping: Whether another motion is required at the end of this one.
        returning: Whether the motion leads back to the path.
    """

    motion: SampledMotion
    off_plan: float
    begin: float = 0.0
    plan_times: Vector | None = None
    settles_at: float = -math.inf
    stopping: bool = False
    returning: bool = False

    @property
    def end(self) -> float:
        """End time, s."""
        return self.begin + self.motion.t_final

    @property
    def is_plan(self) -> bool:
        """Whether the motion is the plan, with its own timing."""
        return self.plan_times is None

    @property
    def is_along_path(self) -> bool:
        """Whether the motion is along the path of the plan."""
        return self.plan_times is None or len(self.plan_times) > 1

    def is_over(self, t: float) -> bool:
        """Return whether the motion has ended at time `t`, s."""
        return t >= self.end

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        return self.motion.state(t - self.begin)

    def commands(self, t: float, horizon: float) -> tuple[Vector, Matrix]:
        """Return offsets (k,) and efforts (k, n) after time `t`, s; see `SampledMotion`."""
        return self.motion.commands(t - self.begin, horizon)

    def plan_time(self, t: float) -> float:
        """Return the plan time (s) at time `t`, s."""
        if self.plan_times is None:
            return t - self.begin
        if len(self.plan_times) == 1:
            return float(self.plan_times[0])
        return float(np.interp(t - self.begin, self.motion.times, self.plan_times))

    def time_of(self, plan_time: float) -> float:
        """Return the time (s) for a plan time (s)."""
        if self.plan_times is None or len(self.plan_times) == 1:
            return self.begin + plan_time
        return self.begin + float(np.interp(plan_time, self.plan_times, self.motion.times))

    def rate(self, t: float) -> float:
        """Return the plan time per actual time at time `t`, s."""
        times, cells = self.plan_times, self.motion.times
        if times is None or len(times) == 1:
            return 1.0
        k = min(self.motion.cell(t - self.begin), len(cells) - 2)
        return float((times[k + 1] - times[k]) / max(cells[k + 1] - cells[k], SHORTEST_CELL))

"""What `time_path` returns: a motion along a path, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, finite, sampled
from manip_dyn.core.digits import apart
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.result import Result
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.motion import JointState, PathMotion, efforts, stacked
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

METHOD = "path_timing"
ROUNDING = 1e-9
"""How far outside a motion a time is taken for its end, s."""


class PathSamples(NamedTuple):
    """A motion at times (m,), s.

    Attributes:
        time: Times (m,), s.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), per s.
        a: Accelerations (m, n), per s^2.
        effort: Efforts (m, n), N m or N.
    """

    time: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    effort: Matrix


@dataclass(frozen=True, eq=False, repr=False)
class PathTiming(Result):
    """The fastest motion along a path.

    Attributes:
        robot: The arm.
        path: The path, ``path(s, order)``.
        payload: What the tool carries (10,), see `Kernels`; None: nothing.
        end_speeds: ds/dt at begin and end.
        t_final: How long it takes, s.
        t_relaxed: How long it would take with limits held at the grid points alone, s: what
            keeping them in between costs is the difference.
        motion: The motion by time; its `knots` are the times at the grid points.
        load: Greatest share of a limit that was read, 1 at most.
        reads: At how many places of the path, grid points and others, efforts, accelerations
            and speeds were read.
        status: ``solved``; ``uncertified`` where limits of jerk are kept, but a small change
            may be faster.
        reason: The same in words.
        jerk_limits: Of the joints (n,), rad/s^3 or m/s^3; None: none.
    """

    robot: Robot = field(repr=False)
    path: JointPath = field(repr=False)
    payload: Vector | None
    end_speeds: tuple[float, float]
    t_final: float
    t_relaxed: float
    motion: PathMotion
    load: float
    reads: int
    status: str
    reason: str
    jerk_limits: Vector | None = None

    @property
    def success(self) -> bool:
        """Whether there is a motion: always, as a path without one is an error."""
        return self.status in ("solved", "uncertified")

    def joints(self, t: float) -> JointState:
        """Return positions, velocities and accelerations (n,) at time `t`, s, on the path.

        Raises:
            ManipDynError: If `t` is before 0 or after `t_final`; `plan` holds the arm there.
        """
        return self.motion.joints(self._on_path(t))

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s, on the path, N m or N; see `joints`."""
        return self.motion.effort(self._on_path(t))

    def samples(self, period: float) -> PathSamples:
        """Return the motion every `period` s and at its end.

        Raises:
            ManipDynError: If that is not above 0, or gives more than ten million rows.
        """
        period = sampled(period, self.t_final)
        times = np.append(np.arange(0.0, self.t_final * (1.0 - 1e-9), period), self.t_final)
        q, v, a = stacked([self.joints(float(t)) for t in times])
        effort = np.array([self.motion.effort(float(t)) for t in times])
        return PathSamples(times, q, v, a, effort)

    def _on_path(self, t: float) -> float:
        """Return a time, s, that is within the motion, rounding apart."""
        time = finite("time", t, "s")
        if not -ROUNDING <= time <= self.t_final + ROUNDING:
            asked, end = apart(time, self.t_final)
            raise ManipDynError(
                f"time is {asked} s; expected 0 to {end} s, where the motion is on "
                "its path (its `plan` holds the arm after it)"
            )
        return min(max(time, 0.0), self.t_final)

    @cached_property
    def plan(self) -> Plan:
        """The motion as a plan, which a `PlanExecutor` takes; it begins and ends at rest.

        Its efforts carry the payload, which its `work_curves` leave out.

        Raises:
            ManipDynError: If a speed at an end is not 0.
        """
        if any(self.end_speeds):
            raise ManipDynError(
                f"the speeds at the ends of the path are {self.end_speeds}; expected 0 for a "
                "plan, which is from rest to rest"
            )
        ends = self.path(self.path.breaks[[0, -1]], 0)
        still = np.zeros(self.robot.n)
        moving = np.any(np.abs(self.path(self.motion.grid, 0) - ends[0]) > 0.0, axis=0)
        switches = self.motion.switches
        return Plan(
            self.robot,
            ends[0],
            ends[1],
            self.t_final,
            [list(switches) if each else [] for each in moving],
            [self.t_final if each else 0.0 for each in moving],
            self.motion,
            efforts(self.robot, self.payload, JointState(ends[1], still, still), still),
            METHOD,
            self.status,
            self.reason,
        )

"""`JointReference`: reference motion of the joints along a path, with an approach to it.

An arm off the path approaches it smoothly along a straight line, or by the feedback of the law.
Accelerations are differences of the velocities of consecutive steps, divided by the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.follower import PathFollower, path_address
from manip_dyn.clik.paths.curves import Line
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.clik.samples import TrackingSample
from manip_dyn.control.computed_torque import JointMotion
from manip_dyn.core.checks import finite_vector

ARRIVED = 1e-3
"""Error below which the tool is on its path, m and rad."""
PATIENCE = 5.0
"""Time after the end of the approach line, s, after which the path starts even for a larger error.
"""


class JointReference:
    """Reference motion of the joints from a follower, one step at a time.

    Attributes:
        follower: The follower, one step ahead of `sample`.
        path: The path that follows the approach.
        sample: Current sample.
        on_path: Whether the arm follows the path: no straight approach is in progress.
    """

    sample: TrackingSample

    def __init__(self, follower: PathFollower, speed: float = 0.1, angular_speed: float = 0.5):
        """Start with a follower of the path; the approach speeds are in m/s and rad/s."""
        self.follower, self.path = follower, follower.path
        path_address(Line.function, np.empty(0))  # so that no approach waits for the compiler
        self._speeds = speed, angular_speed
        self.begin()

    def begin(
        self, q: ArrayLike | None = None, path_time: float = 0.0, straight: bool = False
    ) -> None:
        """Restart from joint positions, by default those of the follower's last start.

        Args:
            q: Joint positions (n,) of the arm at rest; clipped to the limits.
            path_time: Path time at which to continue, s.
            straight: Whether to approach the path along a straight line if the error is above
                `ARRIVED`. Otherwise the feedback of the law approaches it. Ignored for a
                `SmoothTarget`, which starts at the tool.
        """
        follower = self.follower
        if q is not None:
            inside = finite_vector("q", q, follower.robot.n)
            q = np.clip(inside, follower.robot.q_min, follower.robot.q_max)
        self._path_time = path_time
        self.on_path = True
        follower.follow(self.path, q, path_time)
        if isinstance(self.path, SmoothTarget):
            self.path.begin(follower.sample().actual, path_time)
        elif straight:
            self._begin_straight(q)
        self.sample = follower.sample()
        self._look_ahead()

    def _begin_straight(self, q: ArrayLike | None) -> None:
        first = self.follower.sample()
        if np.abs(first.error).max() <= ARRIVED:
            return
        approach = Line(first.actual, first.desired, *self._speeds)
        self.on_path = False
        self.follower.follow(approach, q)

    def advance(self) -> TrackingSample:
        """Advance by one step and return the new sample."""
        self.sample = self._next
        if not self.on_path and self._arrived():
            self.on_path = True
            self.follower.follow(self.path, self.sample.q, self._path_time)
            self.sample = self.follower.sample()
        self._look_ahead()
        return self.sample

    @property
    def path_time(self) -> float:
        """Path time of the arm, s; during the approach, the path time at which it will join."""
        return self.sample.path_time if self.on_path else self._path_time

    @property
    def motion(self) -> JointMotion:
        """Reference motion of the joints for the current step."""
        step = self.follower.step_size
        return JointMotion(self.sample.q, self.sample.v, (self._next.v - self.sample.v) / step)

    def _look_ahead(self) -> None:
        follower = self.follower
        if isinstance(follower.path, SmoothTarget):
            follower.path.advance(follower.path_time, follower.step_size, self.sample.actual)
            follower.restart()
        self._next = follower.step()

    def _arrived(self) -> bool:
        overtime = self.sample.t - self.follower.path.duration
        near = float(np.abs(self.sample.error).max()) <= ARRIVED
        return overtime > PATIENCE or (overtime >= 0.0 and near)

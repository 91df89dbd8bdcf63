"""The motion of the joints that an arm is asked for: the path from wherever the arm is.

An arm that is not where its path is goes there first on a straight line, smoothly. Accelerations
are those that lead from the velocities of one step to those of the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.follower import PathFollower
from manip_dyn.clik.paths.curves import Line
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.clik.samples import TrackingSample
from manip_dyn.control.computed_torque import JointMotion
from manip_dyn.core.checks import finite_vector

ARRIVED = 1e-3
"""Error below which the tool is on its path, m and rad."""
PATIENCE = 5.0
"""How long to wait for that at the end of the approach to it, s."""


class JointReference:
    """What a follower wants of the joints, one step at a time.

    Attributes:
        follower: The follower; it is one step ahead of `sample`.
        path: The path that is to be followed, after the approach to it.
        sample: The present sample.
        on_path: Whether the approach to the path is over.
    """

    sample: TrackingSample

    def __init__(self, follower: PathFollower, speed: float = 0.1, angular_speed: float = 0.5):
        """Take a follower of the path and the speeds of the approach, m/s and rad/s."""
        self.follower, self.path = follower, follower.path
        self._speeds = speed, angular_speed
        self.begin()

    def begin(
        self, q: ArrayLike | None = None, path_time: float = 0.0, straight: bool = False
    ) -> None:
        """Go on from joint positions (n,), those of the follower's start by default.

        Args:
            q: Where the arm is, at rest; moved into its limits.
            path_time: Where on the path to go on, s.
            straight: Whether to get there on a straight line first; without it the feedback of
                the law does it.
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
        """Where on the path the arm is, or will be after the approach, s."""
        return self.sample.path_time if self.on_path else self._path_time

    @property
    def motion(self) -> JointMotion:
        """What is wanted of the joints in the step that begins now."""
        step = self.follower.step_size
        return JointMotion(self.sample.q, self.sample.v, (self._next.v - self.sample.v) / step)

    def _look_ahead(self) -> None:
        follower = self.follower
        if isinstance(follower.path, SmoothTarget):
            follower.path.advance(follower.path_time, follower.step_size, self.sample.actual)
            follower.restart()
        self._next = follower.step()

    def _arrived(self) -> bool:
        late = self.sample.t - self.follower.path.duration
        near = float(np.abs(self.sample.error).max()) <= ARRIVED
        return late > PATIENCE or (late >= 0.0 and near)

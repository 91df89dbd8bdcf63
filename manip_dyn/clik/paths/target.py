"""A target that somebody else moves: a pose and a twist that hold until the next ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.path import Path, harmonic
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import Pose, checked_pose
from manip_dyn.core.checks import finite_vector


class Target(Path):
    """A pose that moves on with constant twist; `set` changes it, also while it is followed."""

    def __init__(self, pose: tuple[ArrayLike, ArrayLike], twist: ArrayLike = (0.0,) * 6):
        """Begin at a pose, position (3,) in m and orientation, with a twist (6,)."""
        self.parameters = harmonic(Timing(1.0), np.zeros(3), np.eye(3))
        self.set(pose, twist)

    def set(
        self,
        pose: tuple[ArrayLike, ArrayLike],
        twist: ArrayLike = (0.0,) * 6,
        t: float = 0.0,
    ) -> None:
        """Let the target be at `pose` at path time `t`, s, moving with `twist` (6,) from then on.

        Bad values raise `ManipDynError` and leave the target as it was.
        """
        now: Pose = checked_pose("target", pose)
        velocity = finite_vector("target twist", twist, 6)
        linear, angular = velocity[:3], velocity[3:]
        from scipy.spatial.transform import Rotation  # slow to load

        back = Rotation.from_rotvec(-t * angular).as_matrix()
        self.parameters[:] = harmonic(
            Timing(1.0), now.position - t * linear, back @ now.rotation, linear, turn=angular
        )

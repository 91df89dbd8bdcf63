"""`posture_for`: where to begin, for a pose or for a whole path."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from manip_dyn.clik.law.settings import ClikSettings
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.posture import REACHED, posture_at
from manip_dyn.clik.task.pose import Pose
from manip_dyn.clik.track import track
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


def posture_for(
    robot: Robot,
    pose: Pose | Path,
    guess: ArrayLike | None = None,
    tolerance: float = REACHED,
    controlled: Sequence[bool] | None = None,
) -> Vector:
    """Return joint positions (n,), rad or m, at which the tool has a pose, or begins a path.

    Args:
        robot: The arm.
        pose: Where the tool is, or a path: then it is the start of
            ``md.track(robot, path, q0="best")``, on the path's first pose.
        guess: For a pose: joint positions (n,) that should be near; see `posture_at`.
        tolerance: For a pose: the error that counts as none, m and rad.
        controlled: Which rows of the task count (6,); default: all.

    Raises:
        ManipDynError: If the pose is not reached, or no start follows the path; the message tells
            how near the best came.
    """
    if not isinstance(pose, Path):
        return posture_at(robot, pose, guess, tolerance, controlled)
    if guess is not None:
        raise ManipDynError("guess is given with a path; expected none: many starts are tried")
    settings = None if controlled is None else ClikSettings(controlled=controlled)
    best = track(robot, pose, q0="best", settings=settings)
    if not best.success:
        raise ManipDynError(f"no posture of '{robot.name}' follows the path: {best.reason}")
    return best.q[0]

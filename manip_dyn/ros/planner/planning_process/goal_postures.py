"""Goals as data: joint positions, or a tool pose with its posture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manip_dyn import clik
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.pinocchio_model import Oracle

SAMPLES = 20
"""Number of postures at which the directions of tool motion are computed."""


class OutOfReachError(ManipDynError):
    """No posture was found for a tool pose."""


class Aim(Protocol):
    """Target of a goal, which can be sent to another process."""

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return joint positions (n,) for an arm at positions (n,); may be slow."""


class Goal(Protocol):
    """Request to move the arm."""

    @property
    def aim(self) -> Aim:
        """The target."""


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Joint positions `q` (n,), rad or m."""

    q: Vector

    @property
    def aim(self) -> JointGoal:
        """The goal itself."""
        return self

    def posture(self, _robot: Robot, _here: Vector) -> Vector:
        """Return the joint positions."""
        return self.q


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A pose of the tool in the base frame."""

    pose: clik.Pose

    @property
    def aim(self) -> PoseGoal:
        """The goal itself."""
        return self

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return the posture (n,) near (n,) with the tool at the pose.

        Arms with fewer than six joints use the position alone, along the axes that their tool can
        move.

        Raises:
            OutOfReachError: If no posture was found.
        """
        try:
            return clik.posture_for(robot, self.pose, here, controlled=controllable(robot))
        except ManipDynError as error:
            raise OutOfReachError(str(error)) from error


def controllable(robot: Robot) -> list[bool]:
    """Return whether a goal pose prescribes x, y, z and the rotations about them, (6,)."""
    if robot.n >= 6:
        return [True] * 6
    rng, kinematics = np.random.default_rng(0), Oracle(robot)
    postures = rng.uniform(-1.0, 1.0, (SAMPLES, robot.n))
    motion = np.max([np.abs(kinematics.jacobian(q)[:3]).max(axis=1) for q in postures], axis=0)
    return [*(motion > 1e-9).tolist(), False, False, False]

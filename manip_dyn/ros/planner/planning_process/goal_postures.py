"""Goals as joint positions or as tool poses, which are converted to postures."""

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
    """Interface of the target of a goal. It can be sent to another process."""

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return the goal posture (n,) of an arm at the positions `here` (n,). May be slow."""


class Goal(Protocol):
    """Interface of a request to move the arm."""

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
        """Return the joint positions of the goal (n,)."""
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
        """Return the posture (n,) near `here` (n,) with the tool at the pose.

        For arms with fewer than six joints, only the position is used, along the axes in which
        the tool can move.

        Raises:
            OutOfReachError: If no posture was found.
        """
        try:
            return clik.posture_for(robot, self.pose, here, controlled=controllable(robot))
        except ManipDynError as error:
            raise OutOfReachError(str(error)) from error


def controllable(robot: Robot) -> list[bool]:
    """Return flags (6,) of the pose components to reach: x, y, z, and rotations about the axes.

    An arm with at least six joints must reach all components. With fewer joints, only the
    positions along the axes in which the tool can move are reached.
    """
    if robot.n >= 6:
        return [True] * 6
    rng, kinematics = np.random.default_rng(0), Oracle(robot)
    postures = rng.uniform(-1.0, 1.0, (SAMPLES, robot.n))
    motion = np.max([np.abs(kinematics.jacobian(q)[:3]).max(axis=1) for q in postures], axis=0)
    return [*(motion > 1e-9).tolist(), False, False, False]

"""Goals as data: joint positions, or a pose of the tool and the posture that has it there."""

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
"""Postures at which is looked which way the tool can move."""


class OutOfReachError(ManipDynError):
    """No posture was found that has the tool there."""


class Aim(Protocol):
    """What is gone to; it can be sent to another process."""

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return joint positions (n,) for an arm that is at (n,); may take its time."""


class Goal(Protocol):
    """Somebody's wish that the arm goes somewhere."""

    @property
    def aim(self) -> Aim:
        """Where."""


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Joint positions `q` (n,), rad or m."""

    q: Vector

    @property
    def aim(self) -> JointGoal:
        """Itself."""
        return self

    def posture(self, _robot: Robot, _here: Vector) -> Vector:
        """Return them."""
        return self.q


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A pose of the tool in the base frame."""

    pose: clik.Pose

    @property
    def aim(self) -> PoseGoal:
        """Itself."""
        return self

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return the posture (n,) near (n,) that has the tool there.

        Arms with fewer than six joints take the position alone, along the axes their tool can
        move.

        Raises:
            OutOfReachError: If none was found.
        """
        try:
            return clik.posture_for(robot, self.pose, here, controlled=controllable(robot))
        except ManipDynError as error:
            raise OutOfReachError(str(error)) from error


def controllable(robot: Robot) -> list[bool]:
    """Return which of x, y, z and the rotations about them a goal pose has a say in, (6,)."""
    if robot.n >= 6:
        return [True] * 6
    rng, kinematics = np.random.default_rng(0), Oracle(robot)
    postures = rng.uniform(-1.0, 1.0, (SAMPLES, robot.n))
    motion = np.max([np.abs(kinematics.jacobian(q)[:3]).max(axis=1) for q in postures], axis=0)
    return [*(motion > 1e-9).tolist(), False, False, False]

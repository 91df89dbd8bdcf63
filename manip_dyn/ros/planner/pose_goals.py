"""Goals as poses of the tool: from ~/goal_pose, and from a marker that is dragged in RViz."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation

from manip_dyn import clik
from manip_dyn.clik.task.pose import UNIT
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.oracle import Oracle
from manip_dyn.ros.interactive_pose import InteractivePose
from manip_dyn.ros.messages.geometry import pose_numbers
from manip_dyn.ros.tracker.frames import RobotFrames

SAMPLES = 20
"""Postures at which is looked which way the tool can move."""


class OutOfReachError(ManipDynError):
    """No posture was found that has the tool there."""


class PoseGoals:
    """Subscribes to ~/goal_pose and serves the interactive marker ~/goal_marker."""

    def __init__(
        self,
        node: Node,
        robot: Robot,
        aim: Callable[[PoseStamped], None],
    ):
        """Call `aim` with every pose that the tool is to go to."""
        self._robot = robot
        self._frames = RobotFrames(robot, robot.base)
        self._newest: Vector | None = None
        menu = {"Go here": aim, "Back to the tool": lambda _: self.show()}
        self._marker = InteractivePose(
            node, "goal_marker", robot.base, "Goal", lambda _: None, menu
        )
        node.create_subscription(PoseStamped, "~/goal_pose", aim, 10)

    def show(self, q: Vector | None = None) -> None:
        """Put the marker where the tool is at joint positions (n,), by default the last ones."""
        self._newest = self._newest if q is None else q
        if self._newest is not None:
            self._marker.place(self._frames.of(self._robot.tip, self._newest))

    def pose(self, message: PoseStamped, q: Vector) -> clik.Pose:
        """Return a goal in the base frame, for an arm at joint positions (n,).

        Raises:
            ManipDynError: If its numbers or its frame are bad.
        """
        numbers = np.array(pose_numbers(message.pose))
        if not np.isfinite(numbers).all():
            raise ManipDynError(f"goal pose is {numbers.tolist()}; expected finite numbers")
        length = float(np.linalg.norm(numbers[3:]))
        if abs(length - 1.0) > UNIT:
            raise ManipDynError(f"goal pose has a quaternion of length {length:.4g}; expected 1")
        unknown = self._frames.problem(message.header.frame_id)
        if unknown:
            raise ManipDynError(f"goal pose {unknown}")
        given = clik.Pose(numbers[:3], Rotation.from_quat(numbers[3:]).as_matrix())
        return self._frames.pose(message.header.frame_id, q, given)


def posture_at(robot: Robot, pose: clik.Pose, guess: Vector) -> Vector:
    """Return joint positions (n,) at which the tool has a pose; this may take its time.

    Arms with fewer than six joints take the position alone, along the axes their tool can move.

    Raises:
        OutOfReachError: If none were found.
    """
    try:
        return clik.posture_for(robot, pose, guess, controlled=controllable(robot))
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

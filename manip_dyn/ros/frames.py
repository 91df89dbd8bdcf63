"""The frames that targets may be in: the base frame and every link of the robot."""

from __future__ import annotations

import numpy as np

from manip_dyn import clik
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.oracle import Oracle


class RobotFrames:
    """Turns poses and twists in a link's frame into the base frame."""

    def __init__(self, robot: Robot, base: str):
        """Take the robot and the name of its root's frame on topics."""
        self._robot, self._base, self._kinematics = robot, base, Oracle(robot)

    def moves(self, frame: str) -> bool:
        """Whether a frame may move against the base frame."""
        return frame.lstrip("/") not in ("", self._base, self._robot.base)

    def problem(self, frame: str) -> str:
        """Return why there is no such frame, or nothing."""
        if not self.moves(frame):
            return ""
        try:
            self._robot.frame(frame.lstrip("/"))
        except ManipDynError as error:
            return f"has frame_id '{frame}'; expected '{self._base}' or a link: {error}"
        return ""

    def of(self, frame: str, q: Vector) -> clik.Pose:
        """Return the pose of a frame in the base frame at joint positions (n,)."""
        link = frame.lstrip("/") if self.moves(frame) else self._robot.base
        matrix = self._kinematics.frame_pose(link, np.asarray(q, dtype=float))
        return clik.Pose(matrix[:3, 3], matrix[:3, :3])

    def pose(self, frame: str, q: Vector, pose: clik.Pose) -> clik.Pose:
        """Return a pose in a frame as one in the base frame."""
        if not self.moves(frame):
            return pose
        place, turn = self.of(frame, q)
        return clik.Pose(place + turn @ pose.position, turn @ pose.rotation)

    def twist(self, frame: str, q: Vector, twist: Vector) -> Vector:
        """Return a twist (6,) of the tool along a frame's axes as one along those of the base.

        As MoveIt Servo's `apply_twist_commands_about_ee_frame`: only the axes are those of the
        frame; the tool's own origin is what moves, and what the tool turns about.
        """
        if not self.moves(frame):
            return twist
        turn = self.of(frame, q).rotation
        return (turn @ twist.reshape(2, 3).T).T.ravel()

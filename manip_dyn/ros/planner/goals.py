"""Goals: joint positions, poses of the tool, and a marker that is dragged in RViz."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from manip_dyn import clik
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_numbers
from manip_dyn.ros.messages.joints import goal_from_message
from manip_dyn.ros.planner.planning_process.goal_postures import Goal, JointGoal, PoseGoal
from manip_dyn.ros.targets import InteractivePoseMarker, RobotFrames


class Goals:
    """Subscribes to ~/goal and ~/goal_pose, and serves the interactive marker ~/goal_marker."""

    def __init__(
        self,
        node: Node,
        robot: Robot,
        positions: Callable[[], Vector | None],
        begin: Callable[[Goal], object],
        refuse: Callable[[str, object], None],
    ):
        """Begin a good goal; refuse a bad one with a code and a reason.

        Args:
            node: The node.
            robot: The arm.
            positions: Returns where its joints are (n,), if it is heard.
            begin: Takes a goal.
            refuse: Takes code and reason.
        """
        self._robot, self._positions = robot, positions
        self._begin, self._refuse = begin, refuse
        self._frames = RobotFrames(robot, robot.base)
        menu = {"Go here": self._on_pose, "Back to the tool": lambda _: self.show()}
        self._marker = InteractivePoseMarker(
            node, "goal_marker", robot.base, "Goal", lambda _: None, menu
        )
        node.create_subscription(JointState, "~/goal", self._on_joints, 10)
        node.create_subscription(PoseStamped, "~/goal_pose", self._on_pose, 10)

    def show(self) -> None:
        """Put the marker where the tool is."""
        q = self._positions()
        if q is not None:
            self._marker.place(self._frames.of(self._robot.tip, q))

    def _on_joints(self, message: JointState) -> None:
        self._take("goal", lambda q: self._joints(message, q))

    def _on_pose(self, message: PoseStamped) -> None:
        self._take("goal pose", lambda q: self._posture(message, q))

    def _take(self, what: str, read: Callable[[Vector], Goal]) -> None:
        q = self._positions()
        if q is None:
            sentence = f"a {what} came before any joint state; expected the arm to be heard"
            self._refuse("no_joint_states", sentence)
            return
        try:
            goal = read(q)
        except ManipDynError as error:
            self._refuse("bad_goal", error)
        else:
            self._begin(goal)

    def _joints(self, message: JointState, q: Vector) -> Goal:
        goal = goal_from_message(message, self._robot, q)
        return JointGoal(goal)

    def _posture(self, message: PoseStamped, q: Vector) -> Goal:
        pose = self._pose(message, q)
        return PoseGoal(pose)

    def _pose(self, message: PoseStamped, q: Vector) -> clik.Pose:
        """Return a goal in the base frame, for an arm at joint positions (n,)."""
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

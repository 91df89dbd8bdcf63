"""Inputs for goals: joint positions, tool poses and an interactive marker for RViz."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn import clik
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_numbers, rotation_matrices
from manip_dyn.ros.messages.joints import goal_from_message
from manip_dyn.ros.planner.planning_process.goal_postures import Goal, JointGoal, PoseGoal
from manip_dyn.ros.targets import InteractivePoseMarker, RobotFrames


class Goals:
    """Subscriptions to ~/goal and ~/goal_pose, and the interactive marker ~/goal_marker."""

    def __init__(
        self,
        node: Node,
        robot: Robot,
        positions: Callable[[], Vector | None],
        begin: Callable[[Goal], object],
        reject: Callable[[str, object], None],
    ):
        """Create the subscriptions and the marker.

        Args:
            node: The node.
            robot: The arm.
            positions: Returns the joint positions (n,), or None before the first state.
            begin: Called with each valid goal.
            reject: Called with a code and a reason for each invalid goal.
        """
        self._robot, self._positions = robot, positions
        self._begin, self._reject = begin, reject
        self._frames = RobotFrames(robot, robot.base)
        menu = {"Go here": self._on_pose, "Back to the tool": lambda _: self.show()}
        self._marker = InteractivePoseMarker(
            node, "goal_marker", robot.base, "Goal", lambda _: None, menu
        )
        node.create_subscription(JointState, "~/goal", self._on_joints, 10)
        node.create_subscription(PoseStamped, "~/goal_pose", self._on_pose, 10)

    def show(self) -> None:
        """Move the marker to the current pose of the tool."""
        q = self._positions()
        if q is not None:
            self._marker.place(self._frames.of(self._robot.tip, q))

    def _on_joints(self, message: JointState) -> None:
        self._receive("goal", lambda q: self._joints(message, q))

    def _on_pose(self, message: PoseStamped) -> None:
        self._receive("goal pose", lambda q: self._posture(message, q))

    def _receive(self, subject: str, read: Callable[[Vector], Goal]) -> None:
        q = self._positions()
        if q is None:
            sentence = f"a {subject} arrived before the first joint state"
            self._reject("no_joint_states", sentence)
            return
        try:
            goal = read(q)
        except ManipDynError as error:
            self._reject("bad_goal", error)
        else:
            self._begin(goal)

    def _joints(self, message: JointState, q: Vector) -> Goal:
        goal = goal_from_message(message, self._robot, q)
        return JointGoal(goal)

    def _posture(self, message: PoseStamped, q: Vector) -> Goal:
        pose = self._pose(message, q)
        return PoseGoal(pose)

    def _pose(self, message: PoseStamped, q: Vector) -> clik.Pose:
        """Return the goal pose in the base frame; `q` (n,) are the current joint positions."""
        numbers = np.array(pose_numbers(message.pose))
        if not np.isfinite(numbers).all():
            raise ManipDynError(f"goal pose must be finite, got {numbers.tolist()}.")
        length = float(np.linalg.norm(numbers[3:]))
        if abs(length - 1.0) > UNIT:
            raise ManipDynError(
                f"goal pose must have a unit quaternion, got a quaternion of length {length:.4g}."
            )
        problem = self._frames.problem(message.header.frame_id)
        if problem:
            raise ManipDynError(f"goal pose {problem}")
        pose = clik.Pose(numbers[:3], rotation_matrices(numbers[3:]))
        return self._frames.pose(message.header.frame_id, q, pose)

"""Goals from topics, a marker for RViz and trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn import clik
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.collision import Scene, check_motion
from manip_dyn.control import JointMotion
from manip_dyn.control.computed_torque import unstable_feedback
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_trajectory import (
    Code,
    JointSplines,
    Outcome,
    RejectedTrajectoryError,
)
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.follow_joint_trajectory import ActiveTrajectory, Progress
from manip_dyn.ros.messages.geometry import pose_numbers, rotation_matrices
from manip_dyn.ros.messages.joints import goal_from_message
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.motions import FollowedMotion
from manip_dyn.ros.planner.planned_motion import PlannedMotion
from manip_dyn.ros.planner.planning_process.task import Goal, JointGoal, PoseGoal
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


class Leader(Protocol):
    """Interface of the planner that a goal uses."""

    @property
    def measured(self) -> MeasuredState | None:
        """The latest state."""

    @property
    def active_goal(self) -> object:
        """The goal of the current plan or motion."""

    @property
    def message(self) -> str:
        """The latest status message."""

    def halt(self) -> bool:
        """Cancel planning, stop and hold the arm. Return False if there was nothing to stop."""


class PlannedGoal:
    """A trajectory with a single point, which the arm reaches by a planned motion.

    Attributes:
        target: Positions (n,), rad or m.
    """

    def __init__(self, planner: Leader, robot: Robot, goal: TrajectoryGoal, stamp_ns: int):
        """Store the goal and the stamp at which it was accepted, ns."""
        self._planner, self._robot, self._begun_ns = planner, robot, stamp_ns
        # Without a requested limit, only the executor ends a late motion.
        time = goal.tolerances.goal_time or math.inf
        self._tolerances = replace(goal.tolerances, goal_time=time)
        self.target = np.array(goal.waypoints[-1].positions)
        self._ended: Outcome | None = None

    @property
    def aim(self) -> JointGoal:
        """The target as a goal of the planner."""
        return JointGoal(self.target)

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the goal; None before its end."""
        if self._ended is None and self._planner.active_goal is not self:
            self._ended = Outcome(Code.INVALID_GOAL, self._planner.message)
        return self._ended

    def judge(self, motion: PlannedMotion, measured: MeasuredState) -> None:
        """Update the outcome once per period. A violated tolerance halts the planner."""
        if self._ended is not None or motion.purpose is not self:
            return
        delay = motion.late(measured)
        errors = self.target - measured.q, -measured.v
        outcome = self._tolerances.at_end(self._robot, delay, *errors)
        if outcome is not None and outcome.code is not Code.SUCCESSFUL:
            self._ended = outcome
            self._planner.halt()
        elif motion.arrived or delay > self._tolerances.goal_time:
            self._ended = outcome

    def stop(self, _outcome: Outcome) -> None:
        """Stop and hold the arm."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return the measured state and the target, or None before the first state."""
        measured = self._planner.measured
        if measured is None:
            return None
        stamp, q, v = measured
        target = JointMotion(self.target, 0.0 * v, 0.0 * v)
        return Progress(stamp, 1e-9 * (stamp - self._begun_ns), target, q, v)


class Planner(Leader, Protocol):
    """Interface of the planner that trajectories use."""

    scene: Scene | None
    """Objects around the arm, or None if collisions are not considered."""

    @property
    def parameters(self) -> BangBangPlannerParameters:
        """The parameters, with the measured delay in place of "auto"."""

    @property
    def motions(self) -> tuple[object, ...]:
        """The current motion and the prepared motion. Either may be None."""

    def trajectory_obstacle(self) -> str:
        """Return the reason why a trajectory cannot begin now, or ""."""

    def follow(self, motion: FollowedMotion) -> None:
        """Execute a trajectory in place of any other motion."""

    def plan_to(self, goal: Goal) -> None:
        """Plan a motion to a goal in place of any other motion."""

    def reject(self, code: str, reason: object) -> None:
        """Report the rejection of a goal."""


class FollowedTrajectory:
    """A trajectory that is followed without planning."""

    def __init__(self, planner: Planner, motion: FollowedMotion):
        """Store the planner and the motion."""
        self._planner, self._motion = planner, motion

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the trajectory; None before its end."""
        if self._motion not in self._planner.motions:
            self._motion.end(Outcome(Code.INVALID_GOAL, self._planner.message))
        return self._motion.outcome

    def stop(self, _outcome: Outcome) -> None:
        """Brake and hold the arm."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return the measured state and the reference, or None if either is unknown."""
        measured = self._planner.measured
        reference = None if measured is None else self._motion.reference(measured)
        if measured is None or reference is None:
            return None
        return Progress(measured.stamp_ns, *reference, measured.q, measured.v)


class Trajectories:
    """Starts trajectories on the planner; implements `TrajectoryFollower`."""

    def __init__(
        self,
        planner: Planner,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        estimator: StateEstimator,
    ):
        """Store the planner, its arm and the estimator of its states."""
        self._planner, self._robot, self._parameters = planner, robot, parameters
        self._estimator = estimator
        self._clear: tuple[TrajectoryGoal, MeasuredState] | None = None

    def check(self, goal: TrajectoryGoal, _info: Mapping[str, Any] | None = None) -> None:
        """Raise `RejectedTrajectoryError` if a trajectory may not begin now."""
        self._checked(goal)

    def begin(self, goal: TrajectoryGoal) -> ActiveTrajectory:
        """Follow a trajectory of several points, or plan a motion to its only point.

        Raises:
            RejectedTrajectoryError: If a trajectory may not begin now.
        """
        measured = self._checked(goal)
        if len(goal.waypoints) == 1:
            planned = PlannedGoal(self._planner, self._robot, goal, measured.stamp_ns)
            self._planner.plan_to(planned)
            return planned
        motion = FollowedMotion(self._robot, goal, self._planner.parameters, self._estimator)
        self._planner.follow(motion)
        return FollowedTrajectory(self._planner, motion)

    def _checked(self, goal: TrajectoryGoal) -> MeasuredState:
        reason, measured = self._planner.trajectory_obstacle(), self._planner.measured
        gains = self._parameters.stiffness, self._parameters.damping
        reason = reason or unstable_feedback(*gains, self._parameters.control_period)
        if reason or measured is None:
            raise RejectedTrajectoryError(Code.INVALID_GOAL, reason)
        if len(goal.waypoints) == 1:
            goal.start_ns(measured.stamp_ns)
        elif self._clear is None or self._clear[0] is not goal or self._clear[1] is not measured:
            # A message is checked and begun in one callback, from the same state.
            self._check_collisions(goal.checked_motion(self._robot, *measured))
            self._clear = goal, measured
        return measured

    def _check_collisions(self, motion: JointSplines) -> None:
        if self._planner.scene is None:
            return
        check = check_motion(self._robot, motion.polynomials(), self._planner.scene)
        if not check.clear:
            reason = f"the trajectory is not clear: {check.reason}"
            self._planner.reject("collision", reason)
            raise RejectedTrajectoryError(Code.INVALID_GOAL, reason)

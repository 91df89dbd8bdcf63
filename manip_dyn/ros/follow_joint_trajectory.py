"""The action ~/follow_joint_trajectory and the topic ~/joint_trajectory.

They follow the semantics of ros2_control's joint_trajectory_controller, version 4.42.1
(ros2_controllers, branch jazzy). The package control_msgs defines the action. If it is not
installed, only the topic is available.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.control import JointMotion
from manip_dyn.control.joint_trajectory import Code, Outcome, RejectedTrajectoryError
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_time
from manip_dyn.ros.messages.trajectories import (
    TrajectoryGoal,
    goal_from_action,
    goal_from_trajectory,
    trajectory_point,
)
from manip_dyn.ros.runtime.execution import ThrottledWarning, create_wall_timer
from manip_dyn.ros.runtime.subscriptions import REQUESTS

TOPIC, ACTION = "~/joint_trajectory", "~/follow_joint_trajectory"
FEEDBACK_RATE = 20.0
"""Rate of feedback and of checks for a result, Hz in wall time."""
CANCELED = Outcome(Code.SUCCESSFUL, "canceled: the arm brakes and is held")
REPLACED = Outcome(Code.INVALID_GOAL, "replaced by another trajectory")


class Progress(NamedTuple):
    """Measured and desired state of an arm that follows a trajectory.

    Attributes:
        stamp_ns: Stamp of the joint states, ns.
        t: Time since the start of the trajectory, s.
        desired: Desired motion at that time.
        q: Measured positions (n,), rad or m.
        v: Measured velocities (n,), rad/s or m/s.
    """

    stamp_ns: int
    t: float
    desired: JointMotion
    q: Vector
    v: Vector


class ActiveTrajectory(Protocol):
    """Interface of a trajectory that an arm follows."""

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the trajectory, or None before its end."""

    def stop(self, outcome: Outcome) -> None:
        """End with `outcome`; brake and hold the arm."""

    def progress(self) -> Progress | None:
        """Return the progress, or None before the first measured state."""


class TrajectoryFollower(Protocol):
    """Interface of an arm that follows trajectories."""

    def check(self, goal: TrajectoryGoal, info: Mapping[str, Any] | None = None) -> None:
        """Check that a trajectory can begin now.

        Args:
            goal: The trajectory with its tolerances.
            info: The `MessageInfo` of its message, or None for the action.

        Raises:
            RejectedTrajectoryError: If it cannot begin now.
        """

    def begin(self, goal: TrajectoryGoal) -> ActiveTrajectory:
        """Start a trajectory in place of the current one, or raise `RejectedTrajectoryError`."""


class ActiveGoal(NamedTuple):
    """An active goal of the action: handle, followed trajectory and future outcome."""

    handle: Any
    followed: ActiveTrajectory
    outcome: Future


class FollowJointTrajectory:
    """The topic ~/joint_trajectory, and the action if control_msgs is installed."""

    def __init__(self, node: Node, robot: Robot, arm: TrajectoryFollower):
        """Create the topic and, if control_msgs is installed, the action for an arm."""
        self._node, self._robot, self._arm = node, robot, arm
        self._active: ActiveGoal | None = None
        # The last accepted request, and its content.
        self._accepted: tuple[Any, TrajectoryGoal] | None = None
        self._server: ActionServer | None = None
        self._warn_rejected = ThrottledWarning(node, "rejected: ")
        node.create_subscription(JointTrajectory, TOPIC, self._on_topic, 10)
        try:
            self._type = import_module("control_msgs.action").FollowJointTrajectory
        except ImportError:
            node.get_logger().info(
                f"control_msgs is not installed: trajectories are accepted on {TOPIC}, but there "
                f"is no action {ACTION}"
            )
            return
        self._server = ActionServer(
            node,
            self._type,
            ACTION,
            lambda _: self._type.Result(),
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            goal_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
        )
        create_wall_timer(node, 1.0 / FEEDBACK_RATE, self._watch)

    def close(self) -> None:
        """Destroy the action server. Destroying the node does not destroy it."""
        if self._server is not None:
            self._server.destroy()
            self._server = None

    # ------------------------------------------------------------------- input
    def _on_topic(self, message: JointTrajectory, info: Mapping[str, Any]) -> None:
        try:
            goal = goal_from_trajectory(message, self._robot)
            self._arm.check(goal, info)
            self._replace()
            self._arm.begin(goal)
        except RejectedTrajectoryError as error:
            self._warn_rejected(error)

    def _on_goal(self, request: Any) -> GoalResponse:
        try:
            goal = goal_from_action(request, self._robot)
            self._arm.check(goal)
        except RejectedTrajectoryError as error:
            self._log_rejection(error)
            return GoalResponse.REJECT
        self._accepted = request, goal
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._replace()
        outcome, accepted, self._accepted = Future(), self._accepted, None
        try:
            if accepted is not None and accepted[0] is handle.request:
                goal = accepted[1]  # already checked
            else:  # another request has been accepted in the meantime
                goal = goal_from_action(handle.request, self._robot)
            followed = self._arm.begin(goal)
        except RejectedTrajectoryError as error:  # the state changed after the check
            self._log_rejection(error)
            outcome.set_result(Outcome(error.code, str(error)))
        else:
            self._active = ActiveGoal(handle, followed, outcome)
        handle.execute(partial(self._execute, outcome))

    def _on_cancel(self, handle: Any) -> CancelResponse:
        active = self._active
        if active is None or active.handle != handle or active.followed.outcome is not None:
            return CancelResponse.REJECT
        active.followed.stop(CANCELED)
        self._end(CANCELED)
        return CancelResponse.ACCEPT

    def _log_rejection(self, error: RejectedTrajectoryError) -> None:
        self._node.get_logger().warning(f"rejected: {error}")

    # ------------------------------------------------------------------ output
    def _replace(self) -> None:
        if self._active is not None:
            self._end(self._active.followed.outcome or REPLACED)

    def _end(self, outcome: Outcome) -> None:
        if self._active is not None:
            self._active.outcome.set_result(outcome)
            self._active = None

    def _watch(self) -> None:
        if self._active is None:
            return
        progress = self._active.followed.progress()
        if progress is not None:
            self._active.handle.publish_feedback(self._feedback(progress))
        outcome = self._active.followed.outcome
        if outcome is not None:
            self._end(outcome)

    async def _execute(self, outcome: Future, handle: Any) -> Any:
        result: Outcome = await outcome
        if result is CANCELED:
            handle.canceled()
        elif result.code is Code.SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        self._node.get_logger().info(f"{result.code.name}: {result.sentence}")
        return self._type.Result(error_code=int(result.code), error_string=result.sentence)

    def _feedback(self, now: Progress) -> Any:
        feedback = self._type.Feedback(joint_names=list(self._robot.joint_names))
        feedback.header.stamp = to_time(now.stamp_ns)
        feedback.desired = trajectory_point(now.t, *now.desired)
        feedback.actual = trajectory_point(now.t, now.q, now.v)
        error_q, error_v = now.desired.q - now.q, now.desired.v - now.v
        feedback.error = trajectory_point(now.t, error_q, error_v)
        return feedback

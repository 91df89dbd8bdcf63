"""Goals and clients of FollowJointTrajectory for the tests, where control_msgs is installed."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def trajectory(names, *points):
    """Return a message of points (seconds, positions, ...) with fields in their message order."""
    message = JointTrajectory(joint_names=names)
    for seconds, *fields in points:
        time = Duration(sec=int(seconds), nanosec=round((seconds % 1.0) * 1e9))
        values = dict(
            zip(("positions", "velocities", "accelerations", "effort"), fields, strict=False)
        )
        message.points.append(JointTrajectoryPoint(time_from_start=time, **values))
    return message


def insist_on_rejection(arm, message, words):
    """Publish a trajectory until its rejection is logged, and check that the arm is at rest."""
    arm.insist(  # warnings are throttled
        lambda: arm.trajectories.publish(message),
        lambda: arm.warned("rejected: INVALID_GOAL", words),
        "the trajectory is not rejected",
    )
    assert not np.any(arm.states[-1].velocity)


class Client:
    """An action client that waits for responses."""

    def __init__(self, ros, name):
        self.ros = ros
        actions = pytest.importorskip(
            "control_msgs.action", reason="control_msgs is not installed"
        )
        self.kind = actions.FollowJointTrajectory
        self.client = ActionClient(ros.probe, self.kind, name)
        ros.until(self.client.server_is_ready, f"no action {name}")

    def send(self, message, **tolerances):
        """Send a trajectory; return the goal's handle, with `feedback` and `result` on it."""
        goal = self.kind.Goal(trajectory=message, **tolerances)
        feedback = []
        sent = self.client.send_goal_async(goal, lambda message: feedback.append(message.feedback))
        self.ros.until(sent.done, "no answer to a goal")
        handle = sent.result()
        self.feedback, self.result = feedback, None
        if handle.accepted:
            self.result = handle.get_result_async()
        return handle

    def ended(self, result=None):
        """Wait for a result; return status, code and sentence."""
        result = result or self.result
        self.ros.until(result.done, "no result")
        outcome = result.result()
        return outcome.status, outcome.result.error_code, outcome.result.error_string

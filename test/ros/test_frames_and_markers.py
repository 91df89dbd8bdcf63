"""Targets in robot frames, topics of MoveIt Servo, and a marker dragged in RViz."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from rviz import FakeRviz
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from targets import kernels, pose, tool
from visualization_msgs.msg import InteractiveMarkerControl

import manip_dyn as md
from manip_dyn.ros import ClikTrackerNode, RobotFrames, quaternion, rotation_matrices, targets

BENT = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
SERVO = ["-r", "~/target_twist:=/servo_node/delta_twist_cmds"]


@pytest.fixture
def tracker(ros):
    """A kinematic tracker on targets, 10 x real time, on Servo's topic of twists."""
    ros.states = ros.listen(JointState, "joint_states")
    ros.start(
        ClikTrackerNode,
        remap=SERVO,
        path="target",
        step=0.01,
        real_time_factor=10.0,
        gain=5.0,
        initial_position=BENT,
    )
    ros.until(lambda: ros.states, "the tracker publishes nothing")
    return ros


def matrix(q):
    return kernels().forward_kinematics(q)


def newest(ros):
    return np.array(ros.states[-1].position)


def test_links_are_frames():
    robot = md.load_robot("pa10")
    frames = RobotFrames(robot, "world")
    target = frames.pose("tool0", BENT, md.clik.Pose(np.array([0.1, 0.0, 0.2]), np.eye(3)))
    tip = matrix(BENT)
    np.testing.assert_allclose(
        target.position, tip[:3, 3] + tip[:3, :3] @ [0.1, 0, 0.2], atol=1e-12
    )
    np.testing.assert_allclose(target.rotation, tip[:3, :3], atol=1e-12)
    twist = np.arange(6.0)
    turned = frames.twist("/tool0", BENT, twist)
    np.testing.assert_allclose(turned[:3], tip[:3, :3] @ twist[:3], atol=1e-12)
    np.testing.assert_allclose(turned[3:], tip[:3, :3] @ twist[3:], atol=1e-12)
    for base in ("", "world", robot.base, "/world"):
        assert frames.twist(base, BENT, twist) is twist
        assert frames.problem(base) == ""
    assert "did you mean 'tool0'" in frames.problem("tool_0")


def test_a_pose_in_the_tool_frame_is_relative_to_the_current_tool(tracker):
    poses = tracker.publisher(PoseStamped, "clik_tracker/target_pose")
    poses.publish(pose([0.0, 0.0, 0.3], (0.0, 0.0, 0.0, 1.0), frame="tool_0"))
    tracker.expect_warning("dropped", "frame_id 'tool_0'", "'base_link'", "did you mean 'tool0'")
    before = matrix(newest(tracker))
    poses.publish(pose([0.0, 0.05, -0.1], (0.0, 0.0, 0.0, 1.0), frame="tool0"))
    goal = before[:3, 3] + before[:3, :3] @ [0.0, 0.05, -0.1]
    tracker.until(lambda: np.linalg.norm(tool(newest(tracker)) - goal) < 1e-6, "not reached")


def test_a_twist_of_servo_in_the_tool_frame_moves_and_rotates_the_tool(tracker):
    twists = tracker.publisher(TwistStamped, "servo_node/delta_twist_cmds")
    before = matrix(newest(tracker))
    message = TwistStamped()
    message.header.frame_id = "tool0"
    message.twist.linear.z, message.twist.angular.z = -0.1, 0.5
    twists.publish(message)
    tracker.expect_warning("no target twist for 0.5 s")
    # The log may be ahead of the states, which come a thousand times a second.
    began = before[:3, 3]
    tracker.until(
        lambda: np.linalg.norm(tool(newest(tracker)) - began) > 0.01, "the tool does not move"
    )
    tracker.until(
        lambda: np.abs(tracker.states[-1].velocity).max() < 1e-6, "the tool does not halt"
    )
    after = matrix(newest(tracker))
    displacement = before[:3, :3].T @ (after[:3, 3] - before[:3, 3])
    assert displacement[2] == pytest.approx(-0.05, abs=0.02)  # 0.5 s until the timeout
    assert np.abs(displacement[:2]).max() < 1e-3
    turn = Rotation.from_matrix(before[:3, :3].T @ after[:3, :3]).as_rotvec()
    assert turn[2] == pytest.approx(0.25, abs=0.1)
    assert np.abs(turn[:2]).max() < 1e-2


def test_the_target_is_dragged_in_rviz(tracker, monkeypatch):
    monkeypatch.setattr(
        targets, "EXCLUSIVE_TIME", 3600.0
    )  # a second is too short on a busy machine
    rviz = FakeRviz(tracker, "clik_tracker/target")
    marker = rviz.look()["target"]
    assert marker.header.frame_id == "base_link"
    assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (0, 0)  # frame-locked
    modes = [control.interaction_mode for control in marker.controls]
    assert modes.count(InteractiveMarkerControl.MOVE_AXIS) == 3
    assert modes.count(InteractiveMarkerControl.ROTATE_AXIS) == 3
    for control in marker.controls[1:]:
        o = control.orientation
        assert math.hypot(o.x, o.y, o.z, o.w) == pytest.approx(1.0)
    here = marker.pose.position
    assert [here.x, here.y, here.z] == pytest.approx(tool(BENT), abs=1e-6)
    # While one client drags, another one receives updates but cannot drag.
    goal = pose(np.add(tool(BENT), [0.0, 0.1, 0.0])).pose
    goal.orientation = marker.pose.orientation
    stranger = FakeRviz(tracker, "clik_tracker/target", "another")
    rviz.drag("target", goal)
    tracker.until(
        lambda: stranger.look()["target"].pose.position.y == pytest.approx(goal.position.y),
        "the other client does not see it",
    )
    stranger.drag("target", pose([9.0, 9.0, 9.0]).pose)
    there = [goal.position.x, goal.position.y, goal.position.z]
    tracker.until(lambda: np.linalg.norm(tool(newest(tracker)) - there) < 1e-6, "not reached")
    assert rviz.look()["target"].pose.position.x == pytest.approx(there[0])
    # A target on the topic moves the marker once no client drags it.
    monkeypatch.setattr(targets, "EXCLUSIVE_TIME", 0.0)
    poses = tracker.publisher(PoseStamped, "clik_tracker/target_pose")
    aside = np.add(tool(BENT), [-0.05, 0.0, 0.0])
    poses.publish(pose(aside))
    tracker.until(
        lambda: rviz.look()["target"].pose.position.x == pytest.approx(aside[0]),
        "the marker does not move",
    )


def test_quaternions_agree_with_scipy():
    """Include half turns, about which another component of the quaternion is the largest."""
    half_turns = np.vstack([np.eye(4)[:3], [0.6, 0.8, 0.0, 0.0]])
    numbers = np.vstack([half_turns, np.random.default_rng(0).normal(size=(100, 4))])
    rotations = Rotation.from_quat(numbers)
    matrices = rotation_matrices(numbers)
    np.testing.assert_allclose(matrices, rotations.as_matrix(), rtol=0.0, atol=1e-15)
    for matrix, expected in zip(matrices, rotations.as_quat(), strict=True):
        message = quaternion(matrix)
        result = np.array([message.x, message.y, message.z, message.w])
        np.testing.assert_allclose(result * np.sign(result @ expected), expected, atol=1e-15)

"""The tracker on live targets: targets are followed smoothly or dropped with a reason."""

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from targets import kernels, pose, tool

from manip_dyn.ros import ClikTrackerNode

BENT = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
STEP = 0.02


def twist(linear, frame="base_link"):
    message = TwistStamped()
    message.header.frame_id = frame
    v = message.twist.linear
    v.x, v.y, v.z = map(float, linear)
    return message


def stamped(message, seconds):
    message.header.stamp.sec = seconds
    return message


def start(ros, **parameters):
    """Start a tracker on live targets, 10 x real time."""
    ros.states = ros.listen(JointState, "joint_states")
    ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    chosen = {
        "path": "target",
        "step": STEP,
        "real_time_factor": 10.0,
        "gain": 5.0,
        "initial_position": BENT,
    }
    ros.start(ClikTrackerNode, **(chosen | parameters))
    ros.until(lambda: ros.states, "the tracker publishes nothing")
    ros.poses = ros.publisher(PoseStamped, "clik_tracker/target_pose")
    ros.twists = ros.publisher(TwistStamped, "clik_tracker/target_twist")
    return ros


@pytest.fixture
def tracker(ros):
    return start(ros)


def check_no_jump(states):
    """Check that velocities and changes of positions are within the joint limits."""
    robot = kernels().robot
    q, v = (np.array([getattr(m, name) for m in states]) for name in ("position", "velocity"))
    times = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in states])
    change = np.abs(np.diff(q, axis=0)) / np.round(np.diff(times), 6)[:, None]
    assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-9))
    assert np.all(change <= robot.v_max * (1.0 + 1e-6))


def test_a_target_pose_is_reached_without_a_jump(tracker):
    goal = np.add(tool(BENT), [-0.1, 0.2, 0.1])
    tracker.poses.publish(pose(goal))
    tracker.until(
        lambda: np.linalg.norm(tool(tracker.states[-1].position) - goal) < 1e-6, "not reached"
    )
    check_no_jump(tracker.states)


def test_a_twist_moves_the_tool_and_halts_after_the_timeout(tracker):
    began = tool(tracker.states[-1].position)
    tracker.twists.publish(twist([0.0, 0.1, 0.0]))
    tracker.expect_warning("no target twist for 0.5 s")
    # The log may be ahead of the states, which come 500 times a second.
    tracker.until(
        lambda: np.linalg.norm(tool(tracker.states[-1].position) - began) > 0.01,
        "the tool does not move",
    )
    tracker.until(
        lambda: np.abs(tracker.states[-1].velocity).max() < 1e-6, "the tool does not halt"
    )
    displacement = tool(tracker.states[-1].position) - began
    assert displacement[1] == pytest.approx(0.05, abs=0.02)  # 0.5 s at 0.1 m/s until the timeout
    assert np.abs(displacement[[0, 2]]).max() < 1e-3
    check_no_jump(tracker.states)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (pose([math.nan, 0.0, 1.0]), ["target pose", "nan", "finite"]),
        (
            pose([0.5, 0.0, 0.5], (0.0, 0.0, 0.0, 0.0)),
            ["quaternion of length 1, got 0"],
        ),
        (pose([0.5, 0.0, 0.5], frame="map"), ["frame_id 'map'", "'base_link'"]),
        (stamped(pose([0.5, 0.0, 0.5]), 12), ["old", "command_timeout"]),
        (stamped(pose([0.5, 0.0, 0.5]), 2_000_000_000), ["ahead", "command_timeout"]),
        (twist([0.0, math.inf, 0.0]), ["target twist", "inf", "finite"]),
        (twist([0.1, 0.0, 0.0], frame="tool"), ["target twist", "frame_id 'tool'", "'tool0'"]),
    ],
)
def test_an_invalid_target_is_dropped_and_the_last_one_holds(tracker, message, words, monkeypatch):
    monkeypatch.setattr("manip_dyn.ros.tracker.targets.WARN_AGAIN", 3600.0)
    topic = tracker.poses if isinstance(message, PoseStamped) else tracker.twists
    for _ in range(3):
        topic.publish(message)
    tracker.expect_warning("dropped", *words)
    tracker.spin(0.1)
    assert sum("dropped" in text for text in tracker.messages()) == 1
    assert list(tracker.states[-1].position) == pytest.approx(BENT, abs=1e-9)


def test_an_unreachable_target_is_reported_and_the_next_one_is_reached(tracker):
    tracker.poses.publish(pose([0.0, 3.0, 0.5]))
    tracker.expect_warning("out of reach", "at (0, 3, 0.5) m")
    tracker.until(
        lambda: any("out of reach: off by 2." in m.status[0].message for m in tracker.diagnostics),
        "no diagnostics of it",
    )
    # Nearest posture: the wrist is 0.95 m from the shoulder.
    tracker.until(lambda: tool(tracker.states[-1].position)[1] > 0.85, "the arm is not stretched")
    goal = np.array([0.5, 0.3, 0.5])
    tracker.poses.publish(pose(goal))
    tracker.until(
        lambda: np.linalg.norm(tool(tracker.states[-1].position) - goal) < 1e-6,
        "the arm does not move",
    )
    check_no_jump(tracker.states)


def test_an_arm_at_all_zeros_leaves_it_for_a_target_straight_below(ros):
    tracker = start(ros, initial_position=[0.0] * 7)
    goal = tool([0.0] * 7) - [0.0, 0.0, 0.4]
    tracker.poses.publish(pose(goal, (0.0, 0.0, 0.0, 1.0)))
    tracker.until(
        lambda: np.linalg.norm(tool(tracker.states[-1].position) - goal) < 1e-6,
        "the arm does not move",
    )
    check_no_jump(tracker.states)


def test_pause_and_reset(tracker):
    goal = np.add(tool(BENT), [0.0, 0.1, 0.0])
    assert tracker.call(SetBool, "clik_tracker/pause", SetBool.Request(data=True)).success
    tracker.poses.publish(pose(goal))
    tracker.spin(0.2)
    assert list(tracker.states[-1].position) == pytest.approx(BENT, abs=1e-9)
    assert tracker.call(SetBool, "clik_tracker/pause", SetBool.Request(data=False)).success
    tracker.until(
        lambda: np.linalg.norm(tool(tracker.states[-1].position) - goal) < 1e-6, "not reached"
    )
    assert tracker.call(Trigger, "clik_tracker/reset").success
    tracker.until(
        lambda: np.abs(np.array(tracker.states[-1].position) - BENT).max() < 1e-9, "no reset"
    )


def test_a_joint_limit_that_makes_a_target_unreachable_is_reported(tracker):
    tracker.poses.publish(pose([0.15, 0.0, 0.35]))
    tracker.expect_warning("out of reach with", "at a limit: off by")

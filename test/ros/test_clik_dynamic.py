"""Dynamic mode: the tracker's computed torque drives the simulator, in lockstep."""

import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from harness import TIMEOUT
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from targets import pose, tool

import manip_dyn as md
from manip_dyn.ros import ClikTrackerNode, SimulatorNode

START = [2.4785, 0.1249, -0.2709, 1.902, 0.9364, -2.3179, -1.6564]
PERIOD = 0.005
CIRCLE = {
    "circle.center": [0.0, 0.4, 0.6],
    "circle.normal": [0.0, 1.0, 0.0],
    "circle.start": [-1.0, 0.0, 0.0],
    "circle.tool_rpy": [0.0, 0.7853981633974483, 0.0],
    "circle.linear_speed": 0.25,
    "circle.angular_speed": 1.0,
    "ramp": 0.3,
    "gain": 10.0,
}


def stamp(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def start(ros, first=START, simulator=None, **parameters):
    """Start a PA-10 in lockstep and a tracker that drives it."""
    ros.states = ros.listen(JointState, "joint_states")
    ros.errors = ros.listen(TwistStamped, "clik_tracker/error")
    ros.joint_errors = ros.listen(JointState, "clik_tracker/joint_error")
    ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    options = {"mode": "lockstep", "control_period": PERIOD, "initial_position": first}
    ros.start(SimulatorNode, robot="pa10", **(options | (simulator or {})))
    ros.start(ClikTrackerNode, mode="dynamic", **({"step": PERIOD} | CIRCLE | parameters))
    return ros


def after(ros, seconds, what="the arm does not move on", timeout=TIMEOUT):
    ros.until(lambda: ros.states and stamp(ros.states[-1]) >= seconds * 1e9, what, timeout)


def distance(message):
    v = message.twist.linear
    return float(np.linalg.norm([v.x, v.y, v.z]))


def report(ros):
    """Return the newest diagnostics of the tracker."""
    mine = [m.status[0] for m in ros.diagnostics if m.status[0].name == "clik_tracker"]
    return mine[-1] if mine else None


def values(ros):
    return {item.key: item.value for item in report(ros).values}


def test_the_tool_follows_the_circle_and_runs_are_bit_identical(ros):
    start(ros)
    after(ros, 1.6)
    steady = [distance(m) for m in ros.errors if stamp(m) > 1.2e9]
    assert 1e-12 < max(steady) < 1e-6
    joints = np.array([m.position for m in ros.joint_errors if stamp(m) > 1.2e9])
    assert np.abs(joints).max() < 1e-6
    measured = {stamp(m): m for m in ros.states}
    errors = {stamp(m): m for m in ros.errors}
    common = [t for t in errors if t in measured and t > 1.2e9][:20]
    circle = md.Circle([0.0, 0.4, 0.6], [0, 1, 0], [-1, 0, 0], np.eye(3), 0.25, 1.0, ramp=0.3)
    for t in common:  # the published error agrees with the joint states
        position = tool(measured[t].position)
        off = np.linalg.norm(circle.pose(t * 1e-9).position - position)
        assert distance(errors[t]) == pytest.approx(off, abs=1e-9)
    rows = {t: list(m.position) + list(m.effort) for t, m in measured.items() if t <= 1e9}
    ros.__exit__()
    with type(ros)() as again:
        start(again)
        after(again, 1.1)
        for message in again.states:
            if stamp(message) in rows and stamp(message) < 1e9:
                assert list(message.position) + list(message.effort) == rows[stamp(message)]


def test_an_arm_off_the_path_approaches_it_first(ros):
    off = np.add(START, [0.1, -0.05, 0.0, 0.1, 0.0, 0.0, 0.1])
    start(ros, first=off.tolist(), tolerance=1e-3)
    ros.until(lambda: ros.errors, "the tool does not reach the path")
    assert max(distance(m) for m in ros.errors) < 1e-3
    q = np.array([m.position for m in ros.states])
    v = np.array([m.velocity for m in ros.states])
    assert np.abs(np.diff(q, axis=0)).max() <= np.abs(v).max() * PERIOD * 1.1
    assert np.abs(v).max() < 1.0


def test_pause_holds_the_arm_and_reset_restarts_the_path(ros):
    start(ros)
    after(ros, 0.6)
    assert ros.call(SetBool, "clik_tracker/pause", SetBool.Request(data=True)).success
    after(ros, stamp(ros.states[-1]) * 1e-9 + 0.7)
    assert np.abs(ros.states[-1].velocity).max() < 1e-3
    held = tool(ros.states[-1].position)
    assert ros.call(Trigger, "clik_tracker/reset").success
    assert ros.call(SetBool, "clik_tracker/pause", SetBool.Request(data=False)).success
    first = np.array([-0.25, 0.4, 0.6])
    assert np.linalg.norm(held - first) > 0.02
    ros.until(
        lambda: np.linalg.norm(tool(ros.states[-1].position) - first) < 2e-3,
        "the tool does not return to the start",
    )


def test_a_reset_simulator_is_picked_up(ros):
    start(ros)
    after(ros, 0.5)
    assert ros.call(Trigger, "simulator/reset").success
    ros.until(lambda: stamp(ros.states[-1]) < 0.4e9, "no reset")
    after(ros, 0.8)
    assert max(distance(m) for m in ros.errors if stamp(m) > 0.4e9) < 1e-3


def test_a_reset_in_real_time_is_detected_by_the_joint_positions(ros):
    """Stamps are wall-clock time and continue; the path restarts nevertheless."""
    real_time = {"mode": "real_time", "control_period": 0.01}
    start(ros, simulator=real_time, step=0.01)
    began = tool(START)
    ros.until(
        lambda: ros.states and np.linalg.norm(tool(ros.states[-1].position) - began) > 0.1,
        "the arm does not move",
    )
    before = stamp(ros.states[-1])
    client = ros.service(Trigger, "simulator/reset")
    reset = lambda: client.call_async(Trigger.Request())  # noqa: E731
    reset()
    # If the machine is suspended during a reset, the arm is picked up instead: repeat it.
    restarted = lambda: ros.warned("the arm was reset: ", "the path restarts")  # noqa: E731
    ros.insist(reset, restarted, "the reset is not detected", period=3.0)
    ros.until(lambda: stamp(ros.states[-1]) > before, "no states")
    ros.until(
        lambda: report(ros) and values(ros).get("times the arm was reset", "0") != "0",
        "the reset is not reported",
    )


def test_the_arm_recovers_from_a_jolt_beyond_the_joint_error(ros):
    jolt = {"initial_velocity": [0.4, 0.4, -0.4, 0.4, 0.4, 0.4, 0.4]}
    start(ros, simulator=jolt, max_joint_error=0.005)
    ros.expect_warning("the arm is picked up at its current position", "off")
    before = len(ros.errors)
    ros.until(lambda: len(ros.errors) > before + 300, "the tool does not return to the path")
    assert distance(ros.errors[-1]) < 1e-3


def test_a_tracker_reports_that_its_simulator_is_paused(ros):
    """Regression: the state was "tracking" during the pause."""
    start(ros)
    after(ros, 0.1)
    assert ros.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    state = lambda: report(ros) and values(ros)["state"]  # noqa: E731
    ros.until(lambda: state() == "standing", "the pause is not reported")
    assert report(ros).level == DiagnosticStatus.OK
    assert "time stands still: the same joint state for" in report(ros).message
    assert ros.call(SetBool, "simulator/pause", SetBool.Request(data=False)).success
    ros.until(lambda: state() != "standing", "the pause does not end")


def test_a_fast_arm_is_braked_first_and_diagnostics_report_it(ros):
    """Regression: at 200 rad/s the state was "tracking" with level OK and error 0."""
    speeds = [100.0, -50.0, 100.0, 200.0, -200.0, 200.0, 200.0]
    fast = {
        "initial_velocity": speeds,
        "joint_limits": "ignore",
    }  # stops would end the motion immediately
    start(ros, simulator=fast, path="target")
    # Within a few periods it exceeds its joint limits, which has priority.
    expected = {"braking": DiagnosticStatus.WARN, "outside_limits": DiagnosticStatus.ERROR}
    ros.until(lambda: report(ros) and values(ros)["state"] in expected, "no diagnostics of it")
    assert report(ros).level == expected[values(ros)["state"]]
    assert values(ros)["braking"] == "True"
    assert "position error [m]" not in values(ros)
    assert "joint error [rad or m]" not in values(ros)
    assert report(ros).hardware_id == "pa10"
    poses = ros.publisher(PoseStamped, "clik_tracker/target_pose")
    poses.publish(pose([0.4, 0.0, 0.5]))
    ros.expect_warning("dropped: target pose came while the arm is braked")


def test_targets_drive_the_arm_from_all_zeros(ros):
    start(ros, first=[0.0] * 7, path="target")
    poses = ros.publisher(PoseStamped, "clik_tracker/target_pose")
    ros.until(lambda: ros.errors, "the arm is not driven")
    goal = tool([0.0] * 7) - [0.0, 0.0, 0.2]
    poses.publish(pose(goal, (0.0, 0.0, 0.0, 1.0)))
    ros.until(
        lambda: np.linalg.norm(tool(ros.states[-1].position) - goal) < 1e-5,
        "the arm does not move",
    )


def test_a_command_is_sent_again_when_its_state_was_repeated_many_times(ros):
    """Regression: resent by the clock, two commands after a stall advanced lockstep twice."""
    ros.start(ClikTrackerNode, mode="dynamic", step=PERIOD, **CIRCLE)
    commands = ros.listen(Float64MultiArray, "simulator/commands")
    states, sent = ros.publisher(JointState, "joint_states"), []
    names = list(md.load_robot("pa10").joint_names)
    state = JointState(name=names, position=START, velocity=[0.0] * 7)

    def repeat():
        sent.append(1)
        states.publish(state)

    repeat()
    ros.until(lambda: commands, "no command")
    time.sleep(1.1)
    repeat()
    ros.spin(0.2)
    assert len(commands) == 1
    ros.insist(repeat, lambda: len(commands) > 1, "it is not sent again")
    assert len(sent) > 20


def test_joint_states_of_another_robot_are_dropped(ros):
    ros.start(ClikTrackerNode, mode="dynamic", step=PERIOD, **CIRCLE)
    states = ros.publisher(JointState, "joint_states")
    states.publish(JointState(name=["elbow"], position=[0.0], velocity=[0.0]))
    ros.expect_warning("dropped", "must have joint 'S1'")
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    ros.until(lambda: diagnostics, "no diagnostics")
    assert "no joint states" in diagnostics[-1].status[0].message


def test_unstable_joint_feedback_is_rejected(ros):
    with pytest.raises(md.ManipDynError, match="must satisfy 0 < joint_stiffness"):
        ros.start(ClikTrackerNode, mode="dynamic", step=0.1, **(CIRCLE | {"gain": 2.0}))

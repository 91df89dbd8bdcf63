"""Joint states as drivers publish them: without velocities, one joint per message, with noise."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from harness import LATCHED
from sensor_msgs.msg import JointState

from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

PLANNER, TRACKER = "bang_bang_planner", "clik_tracker"
DRIVER = ("-r", "joint_states:=driver/joint_states")
"""The simulator publishes to the test, which publishes joint states as another driver does."""
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
START = [2.4785, 0.1249, -0.2709, 1.902, 0.9364, -2.3179, -1.6564]


def without_velocities(message):
    message.velocity = []
    return [message]


def per_joint(message):
    """One message per joint; the stamps are 10 us apart."""
    rows = list(zip(message.name, message.position, message.velocity, strict=True))
    messages = []
    for i, (name, q, v) in enumerate(rows):
        part = JointState(name=[name], position=[q], velocity=[v])
        part.header.stamp.sec = message.header.stamp.sec
        part.header.stamp.nanosec = message.header.stamp.nanosec + 10_000 * i
        messages.append(part)
    return messages


def per_joint_without_velocities(message):
    return [part for whole in per_joint(message) for part in without_velocities(whole)]


class Noisy:
    """White noise of 1e-3 rad and 0.02 rad/s."""

    def __init__(self):
        self._rng = np.random.default_rng(1)

    def __call__(self, message):
        message.position = (message.position + 1e-3 * self._rng.standard_normal(2)).tolist()
        message.velocity = (message.velocity + 0.02 * self._rng.standard_normal(2)).tolist()
        return [message]


def drive(ros, robot, convert, **simulator):
    """Start a simulator in lockstep whose joint states are converted by `convert`."""
    states = ros.probe.create_publisher(JointState, "joint_states", 100)
    ros.states = []

    def publish(message):
        ros.states.append(message)
        copy = JointState(name=message.name, header=message.header)
        copy.position, copy.velocity = message.position, message.velocity
        for part in convert(copy):
            states.publish(part)

    ros.probe.create_subscription(JointState, "driver/joint_states", publish, 1000)
    ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(SimulatorNode, remap=DRIVER, mode="lockstep", robot=robot, **simulator)


def plan(ros, convert, period=0.01, **planner):
    """Start a planner that moves an IBM 7535 to zero."""
    common = {"control_period": period}
    ros.statuses = ros.listen(DiagnosticStatus, f"{PLANNER}/status", LATCHED)
    drive(ros, "ibm7535", convert, initial_position=[0.975, 0.3], **common)
    options = {"robot": "ibm7535", "state_timeout": 0.0, "goal": [0.0, 0.0]}
    ros.start(BangBangPlannerNode, **common, **(options | planner))


def states_of(ros):
    return [{v.key: v.value for v in s.values}["state"] for s in ros.statuses]


def values(ros, name):
    mine = [m.status[0] for m in ros.diagnostics if m.status[0].name == name]
    return {item.key: item.value for item in mine[-1].values} if mine else {}


@pytest.mark.parametrize("convert", [without_velocities, per_joint, per_joint_without_velocities])
def test_a_planner_reaches_its_goal(ros, convert):
    """Regression: every message was dropped."""
    plan(ros, convert)
    ros.until(lambda: "reached" in states_of(ros), "the arm does not arrive")
    np.testing.assert_allclose(ros.states[-1].position, [0.0, 0.0], atol=2e-4)
    late = convert is not per_joint
    ros.until(lambda: values(ros, PLANNER), "no diagnostics")
    assert ("velocity delay [s]" in values(ros, PLANNER)) == late
    assert (
        any("lacks velocities" in line and "0.005 s late" in line for line in ros.messages())
        == late
    )


def test_noise_does_not_prevent_planning_and_arrival(ros):
    """Regression: the planner remained in the state braking."""
    plan(ros, Noisy(), period=0.002, method="pd", goal=[0.95, 0.28])
    ros.until(lambda: "reached" in states_of(ros), "the arm does not arrive")
    np.testing.assert_allclose(ros.states[-1].position, [0.95, 0.28], atol=0.01)
    ros.until(lambda: "velocity noise [rad/s or m/s]" in values(ros, PLANNER), "no noise")


@pytest.mark.parametrize("convert", [without_velocities, per_joint, per_joint_without_velocities])
def test_a_tracker_follows_its_path(ros, convert):
    """Regression: every message was dropped."""
    errors = ros.listen(TwistStamped, f"{TRACKER}/error")
    drive(ros, "pa10", convert, control_period=0.005, initial_position=START)
    ros.start(ClikTrackerNode, mode="dynamic", robot="pa10", step=0.005, **CIRCLE)
    ros.until(lambda: len(errors) > 200, "the arm does not move on")
    offset = errors[-1].twist.linear
    assert np.linalg.norm([offset.x, offset.y, offset.z]) < 2e-3
    assert ros.warned("dropped") is False


def test_a_joint_that_nobody_publishes_is_reported_with_a_hint(ros):
    ros.start(BangBangPlannerNode, robot="ibm7535")
    states = ros.publisher(JointState, "joint_states")
    shoulder = JointState(name=["shoulder"], position=[0.0], velocity=[0.0])
    named = lambda: ros.warned("dropped", "no value of 'elbow'", "parameter 'lock'")  # noqa: E731
    ros.insist(lambda: states.publish(shoulder), named, "no warning", period=0.002)


def test_a_long_velocity_delay_is_reported_with_a_hint(ros):
    plan(ros, without_velocities, velocity_window=0.1)
    ros.expect_warning("may oscillate", "reduce 'velocity_window' or 'damping'")


def test_an_absurd_speed_is_dropped(ros):
    """Regression: a finite velocity of 1e200 rad/s caused efforts of NaN."""
    ros.start(BangBangPlannerNode, robot="ibm7535")
    states = ros.publisher(JointState, "joint_states")
    state = JointState(name=["shoulder", "elbow"], position=[0.0] * 2, velocity=[0.0, -1e200])
    ros.insist(
        lambda: states.publish(state),
        lambda: ros.warned("dropped: velocity of joint 'elbow' in a joint state must be"),
        "the state is not dropped",
    )

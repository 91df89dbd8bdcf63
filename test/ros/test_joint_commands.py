"""The simulator as hardware of ros2_control, and joint commands by name.

The simulator runs in lockstep: if the component sends nothing, ~/step advances a period.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from harness import Ros
from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from topic_system import TopicSystem

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.ros import SimulatorNode, references_from

ROBOT = md.load_robot("rr")
START = [0.3, 0.5]
PERIOD = 0.005
TIMEOUT = 20
"""Periods without a command until the brake acts."""
NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def graph():
    """One simulator for all tests, with topics under its name as in ros2_control.launch.py."""
    with Ros() as ros:
        ros.start(
            SimulatorNode,
            ["-r", "joint_states:=~/joint_states"],
            robot="rr",
            mode="lockstep",
            control_period=PERIOD,
            command_timeout=(TIMEOUT - 0.5) * PERIOD,
            initial_position=START,
        )
        ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
        ros.everything = ros.listen(Log, "/rosout")
        ros.hardware = TopicSystem(ros, "simulator")
        yield ros


@pytest.fixture
def ros(graph):
    """The simulator after a reset, with an empty log."""
    graph.call(Trigger, "simulator/reset")
    graph.until(lambda: graph.hardware.time_ns == 0, "reset does not go back")
    graph.log.clear()
    return graph


def period(ros, **commands):
    """Write commands once and advance a period; return whether a command was sent."""
    before, hardware = ros.hardware.time_ns, ros.hardware
    hardware.read()
    for kind, values in commands.items():
        hardware.command[kind][:] = values
    sent = hardware.write()
    if not sent or all(np.isnan(values).all() for values in hardware.command.values()):
        assert ros.call(Trigger, "simulator/step").success
    ros.until(lambda: hardware.time_ns > before, "no period passes")
    hardware.read()
    assert hardware.time_ns == before + round(PERIOD * 1e9)
    return sent


def expect_state(ros, state):
    """Wait until diagnostics report a state."""

    def reported():
        values = [v.value for m in ros.diagnostics[-1:] for v in m.status[0].values]
        return state in values

    ros.until(reported, f"the state is not {state}")


def quiet(ros):
    """Return whether there was no warning."""
    return not ros.warned("")


def test_the_arm_holds_when_a_position_controller_sends_nothing(ros):
    """The component sends nothing at the goal; the brake must not replace the drives."""
    hardware, goal = ros.hardware, np.array([0.7, 0.1])  # elbow first
    hardware.configure(["joint_2", "joint_1"], ["position"])
    for _ in range(3):
        assert period(ros)  # NaN, which commands nothing
    expect_state(ros, "waiting")
    start = hardware.state["position"].copy()
    np.testing.assert_allclose(start, START[::-1], atol=1e-9)  # braked
    for k in range(1, 61):  # 0.3 s
        period(ros, position=start + (goal - start) * k / 60)
    lag = (goal - hardware.state["position"]) * np.sign(goal - start)
    assert np.all((lag > 0.0) & (lag < 0.1))
    sent = [period(ros) for _ in range(5 * TIMEOUT)]
    assert not any(sent[-2 * TIMEOUT :])
    np.testing.assert_allclose(hardware.state["position"], goal, atol=1e-5)
    np.testing.assert_allclose(hardware.state["velocity"], 0.0, atol=1e-6)
    expect_state(ros, "holding")
    assert quiet(ros)
    period(ros, position=goal + 0.05)
    expect_state(ros, "running")


def test_positions_with_velocities_are_followed_without_a_lag(ros):
    hardware = ros.hardware
    hardware.configure(["joint_1", "joint_2"], ["position", "velocity"], -1.0)
    ramp = np.array([0.6, -0.9])
    for k in range(40):
        assert period(ros, position=START + ramp * k * PERIOD, velocity=ramp)
    np.testing.assert_allclose(hardware.state["velocity"], ramp, rtol=0.03)
    behind = (START + ramp * 40 * PERIOD - hardware.state["position"]) / ramp
    assert np.all(behind < 0.5 * PERIOD)
    assert quiet(ros)


def test_a_velocity_controller_that_claims_one_interface_of_two(ros):
    """Its positions are NaN. If it sends nothing at speed, the brake acts temporarily."""
    hardware, velocity = ros.hardware, np.array([0.4, -0.3])
    hardware.configure(["joint_1", "joint_2"], ["velocity"])
    speeds = []
    for _ in range(8 * TIMEOUT):
        period(ros, velocity=velocity)
        speeds.append(hardware.state["velocity"] / velocity)
    assert np.mean(speeds[TIMEOUT:]) > 0.95
    assert np.max(speeds) < 1.02
    hardware.configure(["joint_1", "joint_2"], ["position", "velocity"])
    for _ in range(TIMEOUT):
        period(ros, velocity=velocity)
    np.testing.assert_allclose(hardware.state["velocity"], velocity, rtol=1e-3)
    for _ in range(2 * TIMEOUT):
        period(ros, velocity=0.0)
    np.testing.assert_allclose(hardware.state["velocity"], 0.0, atol=1e-4)


def test_an_effort_controller_drives_the_arm_as_effort_commands_do(ros):
    hardware, efforts = ros.hardware, np.array([[120.0, 30.0], [60.0, 40.0]])
    hardware.configure(["joint_2", "joint_1"], ["effort"], -1.0)
    for row in efforts:
        for _ in range(TIMEOUT):
            assert period(ros, effort=row[::-1])
    law = md.Schedule(ROBOT, [0, round(1e9 * TIMEOUT * PERIOD)], efforts)
    expected = md.simulate(ROBOT, START, [0.0, 0.0], law, 2 * TIMEOUT * PERIOD)
    np.testing.assert_allclose(hardware.state["position"], expected.q[-1][::-1], rtol=1e-12)
    assert quiet(ros)


def test_efforts_equal_to_the_state_are_sent_again_after_the_timeout(ros):
    """Efforts expire without renewal; those of the brake differ, so the component sends again."""
    hardware = ros.hardware
    hardware.configure(["joint_1", "joint_2"], ["effort"])
    acted = []
    for _ in range(4 * TIMEOUT):
        period(ros, effort=[50.0, 10.0])
        acted.append(np.allclose(hardware.state["effort"], [50.0, 10.0]))
    assert not all(acted)
    assert all(a or b for a, b in pairwise(acted))
    assert np.mean(acted) > 0.9


def test_a_controller_that_activates_before_the_first_state_does_not_move_the_arm(ros):
    """joint_trajectory_controller then commands NaN positions with zero velocities."""
    hardware, ramp = ros.hardware, np.array([0.6, -0.9])
    hardware.configure(["joint_1", "joint_2"], ["position", "velocity"], -1.0)
    for _ in range(5 * TIMEOUT):
        assert period(ros, position=NAN, velocity=0.0)
        np.testing.assert_allclose(hardware.state["position"], START, atol=1e-6)
    expect_state(ros, "running")
    for k in range(2 * TIMEOUT):  # the first trajectory starts at the state
        period(ros, position=START + ramp * k * PERIOD, velocity=ramp)
    np.testing.assert_allclose(hardware.state["velocity"], ramp, rtol=0.03)
    assert quiet(ros)


def test_the_arm_comes_to_rest_when_its_controller_stops_during_a_motion(ros):
    hardware, ramp = ros.hardware, np.array([1.0, -1.5])
    hardware.configure(["joint_1", "joint_2"], ["position", "velocity"], -1.0)
    for k in range(30):
        period(ros, position=START + ramp * k * PERIOD, velocity=ramp)
    hardware.configure(["joint_1", "joint_2"], [])
    for _ in range(5 * TIMEOUT):
        period(ros)
    np.testing.assert_allclose(hardware.state["velocity"], 0.0, atol=1e-3)
    expect_state(ros, "lost_commander")
    ros.expect_warning("no command for", "brake")


def send(ros, names, **fields):
    ros.hardware.publisher.publish(JointState(name=names, **fields))


def test_a_message_for_one_joint_does_not_move_the_other(ros):
    ros.hardware.configure(["joint_1", "joint_2"], [])
    for _ in range(TIMEOUT):
        before = ros.hardware.time_ns
        send(ros, ["joint_2"], position=[0.52])
        ros.until(lambda: ros.hardware.time_ns > before, "no answer")  # noqa: B023
    ros.hardware.read()
    np.testing.assert_allclose(ros.hardware.state["position"], [START[0], 0.52], atol=1e-3)


def test_commands_of_only_nan_are_reported_once_without_a_warning(ros):
    """The report explains to the sender of NaN why the arm does not move."""
    nothing = lambda: send(ros, ["joint_1", "joint_2"], effort=[NAN, NAN])  # noqa: E731
    reports = lambda: [m for m in ros.everything if "all its numbers are NaN" in m.msg]  # noqa: E731
    ros.insist(nothing, reports, "no report")
    nothing()
    ros.until_still(ros.everything)
    assert len(reports()) == 1
    assert quiet(ros)


def test_dropped_commands_do_not_advance_time_and_paused_ones_wait(ros):
    hardware = ros.hardware
    hardware.configure(["joint_1", "joint_2"], ["position"], -1.0)
    period(ros, position=START)
    send(ros, ["joint_1", "joint_7"], position=[0.0, 0.0])
    ros.expect_warning("dropped", "must name joints of", "got 'joint_7'")
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    send(ros, ["joint_1", "joint_2"], position=START)
    expect_state(ros, "paused")
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=False))
    ros.until(
        lambda: hardware.time_ns == round(2 * PERIOD * 1e9), "the command from the pause is lost"
    )
    period(ros, position=START)
    assert hardware.time_ns == round(3 * PERIOD * 1e9)


@pytest.mark.parametrize(
    ("names", "fields", "words"),
    [
        ([], {}, r"must name at least one joint, and each joint at most once, got \[\]"),
        (["joint_1", "joint_1"], {"effort": [0.0, 0.0]}, "each joint at most once, got"),
        (["joint_l"], {"effort": [0.0]}, "got 'joint_l'; did you mean"),
        (["joint_1"], {}, "must have positions, velocities or efforts, got none"),
        (
            ["joint_1", "joint_2"],
            {"position": [0.0]},
            "no position or one for each of its 2 names .*, got 1",
        ),
        (
            ["joint_1"],
            {"velocity": [-INF]},
            r"velocity of a joint command must be finite or NaN, got \[-inf\]",
        ),
        (
            ["joint_2", "joint_1"],
            {"effort": [1.0, NAN], "velocity": [1.0, 1.0]},
            "for 'joint_2' must be either an effort, or a position and velocity, got both",
        ),
    ],
)
def test_an_invalid_message_is_rejected(names, fields, words):
    with pytest.raises(ManipDynError, match=words):
        references_from(JointState(name=names, **fields), ROBOT)


def test_a_message_is_read_by_name_and_nan_is_ignored():
    names = ["joint_2", "joint_1"]
    references = references_from(
        JointState(name=names, position=[1.0, NAN], velocity=[2.0, 3.0], effort=[NAN, NAN]), ROBOT
    )
    np.testing.assert_equal(references.position, [NAN, 1.0])
    np.testing.assert_equal(references.velocity, [3.0, 2.0])
    assert np.isnan(references.effort).all()
    assert references_from(JointState(name=names, effort=[NAN, NAN]), ROBOT) is None
    part = references_from(JointState(name=["joint_2"], effort=[4.0]), ROBOT)
    np.testing.assert_equal(part.effort, [NAN, 4.0])
    assert part.unset.tolist() == [True, False]

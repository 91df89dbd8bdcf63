"""Time that pauses, jumps or has no clock: stamps, /clock, diagnostics."""

import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from harness import LATCHED, start_node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

import manip_dyn as md
from manip_dyn.ros import (
    BangBangPlannerNode,
    ClikTrackerNode,
    Deadlines,
    PeriodicThread,
    SimulatorNode,
    WallClockAnchor,
    build,
)

SECOND = 1_000_000_000


def nanoseconds(stamp):
    return stamp.sec * SECOND + stamp.nanosec


def stamps(states):
    return [nanoseconds(state.header.stamp) for state in states]


def reported_values(diagnostics, key):
    """Return all values of a key on /diagnostics so far."""
    return [v.value for m in diagnostics for s in m.status for v in s.values if v.key == key]


def test_a_late_cycle_is_caught_up():
    deadlines = Deadlines(0.01)
    assert deadlines.wait(0.004) == pytest.approx(0.006)
    assert deadlines.wait(0.08) == 0.0
    due = [deadlines.wait(0.08) for _ in range(6)]
    assert due[:5] == [0.0] * 5
    assert deadlines.wait(0.08) == pytest.approx(0.01)
    assert (deadlines.overruns, deadlines.missed) == (0, 0.0)


def test_a_suspend_is_missed_once_and_counted():
    deadlines = Deadlines(0.01, now=5.0)
    assert deadlines.wait(8.01) == 0.0
    assert deadlines.overruns == 1
    assert deadlines.missed == pytest.approx(3.0)
    assert deadlines.wait(8.012) == pytest.approx(0.008)
    assert (deadlines.overruns, deadlines.missed) == (1, pytest.approx(3.0))


def test_without_a_period_no_cycle_is_late():
    deadlines = Deadlines(0.0)
    assert [deadlines.wait(now) for now in (1.0, 5.0, 500.0)] == [0.0] * 3
    assert deadlines.missed == 0.0


def test_a_periodic_thread_counts_missed_time():
    paces = []

    def cycle():
        paces.append(1)
        if len(paces) == 2:
            time.sleep(0.3)

    pacer = PeriodicThread(cycle, 0.001)
    pacer.start()
    while len(paces) < 4:
        time.sleep(0.001)
    pacer.stop()
    assert pacer.statistics().overruns >= 1
    assert pacer.statistics().missed > 0.2


def test_stamps_follow_the_wall_clock_after_a_suspend():
    anchor = WallClockAnchor(1000 * SECOND, 7 * SECOND)
    assert anchor.lag_ns(1002 * SECOND, 8 * SECOND, 1) == 0
    # Suspended for three seconds, two milliseconds before the next period.
    lag = anchor.lag_ns(1005 * SECOND + 2_000_000, 8 * SECOND, 10_000_000)
    assert lag == 4 * SECOND
    assert anchor.lag_ns(1005 * SECOND + 2_000_000, 8 * SECOND, 1) == 0


def test_a_large_lag_of_a_slow_machine_is_corrected():
    """Short gaps are tolerated at first: a jump of time would abort running motions."""
    anchor = WallClockAnchor()
    walls = range(0, 8 * SECOND, SECOND // 2)
    lags = [anchor.lag_ns(wall, wall // 4, 1) for wall in walls]
    (lag,) = [lag for lag in lags if lag]
    assert 5 * SECOND < lag < 6 * SECOND


def test_a_clock_that_is_set_back_is_followed():
    anchor = WallClockAnchor(1000 * SECOND, 0)
    assert anchor.lag_ns(900 * SECOND, 0, 1) == -100 * SECOND
    assert anchor.lag_ns(901 * SECOND, SECOND, 1) == 0


@pytest.fixture
def shift(monkeypatch):
    """Offset of the wall clock of simulator and tracker, s, as a list of one number."""
    ahead = [0]
    shifted = lambda: time.time_ns() + ahead[0] * SECOND  # noqa: E731
    jumping = SimpleNamespace(time_ns=shifted, sleep=time.sleep)
    monkeypatch.setattr("manip_dyn.ros.stepper.time", jumping)
    monkeypatch.setattr("manip_dyn.ros.tracker.modes.time", jumping)
    return ahead


def largest_gap(states):
    """Return the largest time between two stamps, s."""
    return np.diff(stamps(states)).max() * 1e-9


def test_real_time_continues_from_the_present_after_a_jump(ros, shift):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", control_period=0.01)
    ros.until(lambda: len(states) > 5, "no joint states")
    shift[0] = 3
    ros.expect_warning("wall time passed without a step", "stamps continue from the present")
    ros.until(lambda: largest_gap(states) > 2.0, "stamps lag")
    assert largest_gap(states) > 2.4
    assert np.all(np.diff(stamps(states)) % 10_000_000 == 0)
    # A pause is not a jump: the user stopped time.
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    shift[0] = 60
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=False))
    before = len(states)
    ros.until(lambda: len(states) > before + 5, "the simulator stopped")
    assert largest_gap(states) < 50.0
    # Regression: a reset after a pause reported "60 s passed without a step (suspended, ...)".
    assert ros.call(Trigger, "simulator/reset").success
    before = len(states)
    ros.until(lambda: len(states) > before + 5, "the simulator stopped")
    assert largest_gap(states) < 50.0


def test_stamps_continue_without_a_gap_at_a_reset(ros):
    """After a stall stamps lag; a correction at the reset would look like a motion."""
    states = ros.listen(JointState, "joint_states")
    node = ros.start(SimulatorNode, robot="ibm7535", control_period=0.01)
    ros.until(lambda: len(states) > 5, "no states")
    with node._stepper.lock:
        time.sleep(0.6)
        before = node._stepper.stamp_ns
        node._stepper.reset()
    assert 0 <= node._stepper.origin_ns - before < 100_000_000


def test_simulated_time_has_no_jump(ros, shift):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", control_period=0.01, publish_clock=True)
    ros.until(lambda: len(states) > 5, "no joint states")
    shift[0] = 3
    ros.expect_warning("wall time passed without a step", "steps continue from the present")
    assert largest_gap(states) == pytest.approx(0.01)


def test_a_kinematic_path_continues_from_the_present_after_a_jump(ros, shift):
    states = ros.listen(JointState, "joint_states")
    parameters = {"circle.center": [0.5, 0.0, 0.68], "circle.normal": [1.0, 0.0, 0.0]}
    start = [0.36, 1.0, -0.38, 1.92, -2.22, 2.74, -2.41]
    parameters |= {"circle.start": [0.0, 0.0, -1.0], "initial_position": start}
    ros.start(ClikTrackerNode, step=0.02, **parameters)
    ros.until(lambda: len(states) > 5, "no joint states")
    shift[0] = 3
    ros.expect_warning("wall time passed without a step", "stamps continue from the present")
    ros.until(lambda: largest_gap(states) > 2.0, "stamps lag")
    assert largest_gap(states) > 2.4
    moved = np.abs(np.diff([state.position for state in states], axis=0)).max()
    assert moved < 0.02  # the joints do not jump with the stamps


def test_a_suspended_process_reports_the_missed_time(ros):
    states, diagnostics = (
        ros.listen(JointState, "joint_states"),
        ros.listen(DiagnosticArray, "/diagnostics"),
    )
    node = start_node("simulator", "-p", "robot:=ibm7535", "-p", "control_period:=0.01")
    try:
        ros.until(lambda: len(states) > 5 and diagnostics, "no joint states")
        node.send_signal(signal.SIGSTOP)
        ros.spin(1.5)
        node.send_signal(signal.SIGCONT)
        ros.until(lambda: largest_gap(states) > 1.0, "stamps lag")
        missed = "missed [s]"
        ros.until(
            lambda: float(reported_values(diagnostics, missed)[-1]) > 0.5,
            "no missed time is reported",
        )
    finally:
        node.send_signal(signal.SIGINT)
        output = node.communicate()[0]
    assert output.count("wall time passed without a step") >= 1


def in_namespace(ros, space, kind, **parameters):
    """Start a node in a namespace as on the command line."""
    pairs = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    arguments = ["--ros-args", "-r", f"__ns:={space}", *pairs]
    work = build(kind, context=ros.context, cli_args=arguments)
    ros.works.append(work)
    ros.executor.add_node(work.node)
    return work


def test_two_simulators_have_a_clock_each(ros):
    clocks = {space: ros.listen(Clock, f"{space}/clock") for space in ("/left", "/right", "")}
    chosen = {"robot": "one_link_vertical", "mode": "lockstep", "publish_clock": "true"}
    for space in ("/left", "/right"):
        in_namespace(ros, space, SimulatorNode, **chosen)
    follower = in_namespace(
        ros, "/left", BangBangPlannerNode, robot="one_link_vertical", use_sim_time="true"
    )
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    for _ in range(3):
        assert ros.call(Trigger, "/left/simulator/step").success
    ros.until(
        lambda: clocks["/left"] and nanoseconds(clocks["/left"][-1].clock) == 3_000_000,
        "the left clock does not run",
    )
    ros.until(
        lambda: follower.node.get_clock().now().nanoseconds == 3_000_000,
        "a node does not follow the clock of its namespace",
    )
    ros.until(lambda: clocks["/right"], "no right clock")
    assert {nanoseconds(message.clock) for message in clocks["/right"]} == {0}
    assert not clocks[""]
    ros.until(
        lambda: any(s.name == "left/bang_bang_planner" for m in diagnostics for s in m.status),
        "no diagnostics while the clock is paused",
    )


class Bare:
    """A node without functions."""

    name = "bare"

    def __init__(self, node):
        self.node = node

    def close(self):
        pass


@pytest.mark.parametrize(
    ("remapping", "topic"), [([], "/left/clock"), (["-r", "/clock:=/clock"], "/clock")]
)
def test_a_common_clock_is_followed_by_a_remapping(ros, remapping, topic):
    arguments = ["--ros-args", "-r", "__ns:=/left", "-p", "use_sim_time:=true", *remapping]
    ros.works.append(build(Bare, context=ros.context, cli_args=arguments))
    ros.until(lambda: ros.probe.count_subscribers(topic) == 1, f"no subscriber of {topic}")


def test_missing_states_are_detected_without_a_clock(ros):
    """A timer of the node's clock would stop with the clock of a simulator that ended."""
    chosen = {"method": "pd", "goal": [0.5], "state_timeout": 0.3, "use_sim_time": True}
    states = ros.probe.create_publisher(JointState, "joint_states", 10)
    ros.listen(Float64MultiArray, "simulator/commands")
    ros.listen(JointTrajectory, "simulator/effort_trajectory")
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    node = ros.start(BangBangPlannerNode, robot="one_link_vertical", **chosen).node
    joint = md.load_robot("one_link_vertical").joint_names
    state = JointState(name=joint, position=[0.0], velocity=[0.0])

    def reported(word):
        return any(status.message.startswith(word) for status in statuses)

    def executing():
        state.header.stamp.nanosec += 1_000_000
        states.publish(state)
        return any(v.value == "executing" for status in statuses for v in status.values)

    ros.until(executing, "no motion starts")
    ros.until(lambda: reported("gave up: no joint states"), "missing states are not detected")
    assert node.get_clock().now().nanoseconds == 0

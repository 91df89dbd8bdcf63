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
    RealTimeShare,
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


TICK = 10_000_000
"""Period of the arms of these tests, ns."""


def test_stamps_follow_the_wall_clock_after_a_suspend():
    anchor = WallClockAnchor(1000 * SECOND, 7 * SECOND)
    assert anchor.skip_ns(1000 * SECOND + TICK, 7 * SECOND + TICK, TICK) == 0
    # Suspended for three seconds and two milliseconds.
    wall, now = 1003 * SECOND + 2_000_000, 7 * SECOND + TICK
    assert anchor.skip_ns(wall, now, TICK) == 3 * SECOND - TICK
    assert anchor.skip_ns(wall + TICK, now + TICK, TICK) == 0


@pytest.mark.parametrize(("slowness", "largest"), [(1.1, 1), (1.5, 1), (3.4, 3)])
def test_stamps_of_a_slow_machine_skip_single_periods(slowness, largest):
    """Regression: the lag accumulated to 5 s, and a single jump ended the motion of a planner."""
    anchor, skipped, skips, lags = WallClockAnchor(), 0, [], []
    for period in range(1000):
        wall, now = round(period * slowness * TICK), period * TICK
        skips.append(anchor.skip_ns(wall, now, TICK) // TICK)
        skipped += skips[-1] * TICK
        lags.append(wall - now - skipped)
    assert 0 < max(skips) <= largest
    assert max(lags) < SECOND // 10 + slowness * TICK
    assert min(lags[100:]) > SECOND // 20


def test_a_clock_that_is_set_back_is_followed():
    anchor = WallClockAnchor(1000 * SECOND, 0)
    assert anchor.skip_ns(900 * SECOND, 0, TICK) == -100 * SECOND
    assert anchor.skip_ns(901 * SECOND, SECOND, TICK) == 0


def test_slowness_is_persistent_if_every_recent_second_was_slow():
    measured = RealTimeShare()
    wall, simulated, slow, shares = 0.0, 0.0, [], []
    for pace in [1.0] * 4 + [0.25] + [1.0] * 6 + [0.5] * 6 + [1.0] * 2:
        for _ in range(8):
            measured.add(wall, simulated)
            wall, simulated = wall + 0.125, simulated + 0.125 * pace
        shares.append(measured.share(1.0))
        slow.append(measured.slow(1.0))
    assert slow == [False] * 16 + [True] * 2 + [False]
    assert shares[0] is None
    assert shares[16] == pytest.approx(0.5)
    assert measured.share(0.5) == pytest.approx(2.0 * measured.share(1.0))
    measured.begin()
    assert measured.share(1.0) is None
    assert not measured.slow(1.0)


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


def test_a_reset_continues_stamps_without_a_gap_and_forgets_the_lag(ros, shift):
    """A correction of the lag at or after the reset would look like a motion."""
    states = ros.listen(JointState, "joint_states")
    node = ros.start(SimulatorNode, robot="ibm7535", control_period=0.01)
    ros.until(lambda: len(states) > 5, "no states")
    with node._stepper.lock:
        shift[0] = 60
        before = node._stepper.stamp_ns
        node._stepper.reset()
    assert node._stepper.origin_ns - before == TICK
    count = len(states)
    ros.until(lambda: len(states) > count + 20, "the simulator stopped")
    assert largest_gap(states) < 50.0


@pytest.fixture
def slow():
    """Return a function that lets a simulator wait for two more periods before each period."""

    def wait(work):
        take = work._stepper._listen

        def listen():
            time.sleep(2.0 * work._stepper._period_ns * 1e-9)
            take()

        work._stepper._listen = listen

    return wait


def test_a_slow_simulator_skips_single_periods_and_reports_its_share(ros, slow, monkeypatch):
    monkeypatch.setattr("manip_dyn.ros.runtime.threads.SHARE_INTERVAL", 0.1)
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    node = ros.start(SimulatorNode, robot="ibm7535", control_period=0.02)
    slow(node)
    ros.expect_warning("slower than real time", "stamps skip single periods")
    ros.until(lambda: "slow" in reported_values(diagnostics, "state"), "slowness is not reported")
    assert float(reported_values(diagnostics, "real_time_share")[-1]) < 0.6
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    count = len(diagnostics)
    paused = lambda: "paused" in reported_values(diagnostics[count:], "state")  # noqa: E731
    ros.until(paused, "the slowness hides the pause")


def test_stamps_refer_to_their_states_after_a_skip(ros, slow):
    """A stamp from before a skip refers to the state that was published with it."""
    states = ros.listen(JointState, "joint_states")
    node = ros.start(SimulatorNode, robot="ibm7535", control_period=0.02)
    slow(node)
    stepper = node._stepper
    ros.until(lambda: len(stepper._skips) > 10, "no skips")
    with stepper.lock:
        simulated = [stamp - stepper.origin_at(stamp) for stamp in stamps(states)[-20:]]
    assert np.diff(stamps(states)[-20:]).max() > 20_000_000
    assert set(np.diff(simulated)) == {20_000_000}


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

"""The simulator's topics, services and rules for commands."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from harness import LATCHED
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import manip_dyn as md
from manip_dyn.ros import SimulatorNode

PERIOD, STATES = 1_000_000, "joint_states"
"""Control period, ns, and topic of the states."""


def stamp(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def trajectory(names, points):
    message = JointTrajectory(joint_names=names)
    for seconds, effort in points:
        time = Duration(sec=int(seconds), nanosec=round((seconds % 1.0) * 1e9))
        message.points.append(JointTrajectoryPoint(time_from_start=time, effort=effort))
    return message


@pytest.fixture
def lockstep(ros):
    """A simulated IBM 7535 in lockstep with its states and command topics."""
    return start_lockstep(ros)


def start_lockstep(ros, robot="ibm7535", **parameters):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot=robot, mode="lockstep", **parameters)
    ros.until(lambda: states, "no joint states")
    ros.commands = ros.publisher(Float64MultiArray, "simulator/commands")
    ros.trajectories = ros.publisher(JointTrajectory, "simulator/effort_trajectory")
    ros.states = states
    return ros


def command(ros, *efforts):
    """Send one command and return the next state."""
    before = stamp(ros.states[-1])
    ros.commands.publish(Float64MultiArray(data=list(efforts)))
    ros.until(lambda: stamp(ros.states[-1]) > before, f"no answer to {efforts}")
    return ros.states[-1]


def test_real_time_states_are_one_control_period_apart(ros):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", control_period=0.002)
    ros.until(lambda: len(states) > 100, "too few joint states")
    assert states[0].name == ["shoulder", "elbow"]
    steps = np.diff([stamp(s) for s in states])
    assert np.all(steps % (2 * PERIOD) == 0)
    assert np.median(steps) == 2 * PERIOD


def test_description_is_latched_for_late_joiners(ros):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="one_link_vertical", control_period=0.01)
    ros.until(lambda: len(states) > 5, "no joint states")
    descriptions = ros.listen(String, "robot_description", LATCHED)
    ros.until(lambda: descriptions, "no robot description")
    assert '<robot name="one_link_vertical"' in descriptions[0].data


def test_lockstep_advances_one_period_per_command(lockstep):
    for k in range(1, 6):
        state = command(lockstep, 1.0, -0.5)
        assert stamp(state) == k * PERIOD
        assert list(state.effort) == [1.0, -0.5]
    lockstep.spin(0.3)
    assert stamp(lockstep.states[-1]) == 5 * PERIOD


def test_every_call_of_a_burst_is_answered(lockstep):
    """Regression: 10 of 100 calls of a service were answered, and the others were lost."""
    name, qos = "simulator/step", QoSProfile(depth=100)
    client = lockstep.probe.create_client(Trigger, name, qos_profile=qos)
    lockstep.until(client.service_is_ready, "no service")
    answers = [client.call_async(Trigger.Request()) for _ in range(100)]
    lockstep.until(lambda: all(answer.done() for answer in answers), "a call has no answer")
    lockstep.until(lambda: stamp(lockstep.states[-1]) == 100 * PERIOD, "steps are missing")


def test_lockstep_state_is_the_core_simulation(lockstep):
    efforts = np.random.default_rng(1).uniform(-9.0, 9.0, (30, 2))
    for row in efforts:
        state = command(lockstep, *row)
    simulation = md.simulation.Simulation(md.load_robot("ibm7535"), [0, 0], [0, 0])
    for row in efforts:
        simulation.law = md.simulation.held(simulation.robot, row)
        simulation.advance(PERIOD)
    assert list(state.position) == simulation.q.tolist()
    assert list(state.velocity) == simulation.v.tolist()


def test_a_stiff_robot_is_integrated_by_a_stiff_method(ros):
    """Compare with an explicit method that resolves the time constant of 1e-5 s."""
    q, v = [6.2, -0.2], [0.0, 10.0]
    start_lockstep(
        ros,
        robot="stiff_pendulum",
        integrator="rosenbrock_nystrom",
        rtol=1e-8,
        control_period=0.01,
        initial_position=q,
        initial_velocity=v,
    )
    for _ in range(10):
        state = command(ros, 0.0, 0.0)
    robot = md.load_robot("stiff_pendulum")
    exact = md.simulate(robot, q, v, [0.0, 0.0], 0.1, method="rkdp54", rtol=1e-9)
    np.testing.assert_allclose(state.position, exact.q[-1], atol=1e-6)
    np.testing.assert_allclose(state.velocity, exact.v[-1], atol=1e-5)


@pytest.mark.parametrize(
    ("efforts", "words"),
    [
        ([1.0], ["effort command", "(1,)", "(2,)"]),
        ([1.0, 2.0, 3.0], ["effort command", "(3,)", "(2,)"]),
        ([], ["effort command", "(0,)", "(2,)"]),
        ([math.nan, 0.0], ["effort command", "nan", "finite"]),
        ([0.0, math.inf], ["effort command", "inf", "finite"]),
    ],
)
def test_an_invalid_command_is_dropped_and_the_last_one_holds(lockstep, efforts, words):
    before = command(lockstep, 2.0, 1.0)
    lockstep.commands.publish(Float64MultiArray(data=efforts))
    lockstep.expect_warning("dropped", *words)
    assert stamp(lockstep.states[-1]) == stamp(before)
    lockstep.call(Trigger, "simulator/step")
    lockstep.until(lambda: stamp(lockstep.states[-1]) > stamp(before), "the node stopped")
    assert list(lockstep.states[-1].effort) == [2.0, 1.0]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (trajectory(["shoulder", "wrist"], [(0.0, [1.0, 1.0])]), ["unknown joint 'wrist'"]),
        (trajectory(["shoulder"], [(0.0, [1.0])]), ["shoulder", "elbow"]),
        (trajectory(["shoulder", "elbow"], [(0.0, [1.0])]), ["point 0", "(1,)", "(2,)"]),
        (trajectory(["shoulder", "elbow"], [(0.0, [math.nan, 1.0])]), ["point 0", "nan"]),
        (  # an effort held for 68 years disabled the command timeout
            trajectory(["shoulder", "elbow"], [(0.0, [1.0, 1.0]), (2.1e9, [0.0, 0.0])]),
            ["must change or repeat its efforts within 60 s", "2.1e+09 s"],
        ),
        (
            trajectory(["shoulder", "elbow"], [(61.0, [1.0, 1.0]), (62.0, [0.0, 0.0])]),
            ["within 60 s, got a hold of 61 s"],
        ),
        (
            trajectory(["shoulder", "elbow"], [(0.2, [1.0, 1.0]), (0.1, [0.0, 0.0])]),
            ["must increase"],
        ),
        (trajectory(["shoulder", "elbow"], []), ["got 0 and 0"]),
        (
            trajectory(["shoulder", "elbow"], [(k, [0.0, 0.0]) for k in range(10_001)]),
            ["at most 10000 points", "got 10001"],
        ),
        (
            trajectory(["shoulder", "elbow"], [(k, [0.0, 0.0]) for k in range(50_000)]),
            ["at most 10000 points", "got a message of"],
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_invalid_trajectory_is_dropped(lockstep, message, words):
    before = command(lockstep, 2.0, 1.0)
    lockstep.trajectories.publish(message)
    lockstep.expect_warning("dropped", *words)
    assert stamp(command(lockstep, 2.0, 1.0)) == stamp(before) + PERIOD


def test_trajectory_switches_inside_a_period_at_its_exact_time(lockstep):
    lockstep.trajectories.publish(
        trajectory(["elbow", "shoulder"], [(0.0, [0.0, 5.0]), (0.0003, [0.0, -5.0])])
    )
    lockstep.until(lambda: stamp(lockstep.states[-1]) == PERIOD, "the trajectory moves nothing")
    robot = md.load_robot("ibm7535")
    schedule = md.Schedule(robot, [0, 300_000], [[5.0, 0.0], [-5.0, 0.0]])
    expected = md.simulate(robot, [0, 0], [0, 0], schedule, 0.001)
    assert list(lockstep.states[-1].velocity) == expected.v[-1].tolist()
    acceleration = md.customize(robot).forward_dynamics([0, 0], [0, 0], [5.0, 0.0])
    assert expected.v[-1] == pytest.approx(acceleration * (0.0003 - 0.0007), rel=1e-6)


def test_efforts_saturate_at_the_limits(lockstep):
    assert list(command(lockstep, 1e6, -1e6).effort) == [25.0, -9.0]


def test_the_safe_command_acts_after_the_timeout(ros):
    states = ros.listen(JointState, "joint_states")
    ros.start(
        SimulatorNode,
        robot="one_link_vertical",
        control_period=0.01,
        command_timeout=0.05,
        safe_command="gravity_compensation",
    )
    ros.until(lambda: states, "no joint states")
    commands = ros.publisher(Float64MultiArray, "simulator/commands")
    commands.publish(Float64MultiArray(data=[3.0]))
    ros.until(lambda: states[-1].effort[0] == 3.0, "the command does not act")
    ros.expect_warning("no command for 0.05 s", "gravity_compensation")
    robot = md.load_robot("one_link_vertical")
    ros.until(lambda: states[-1].effort[0] != 3.0, "the safe command does not act")
    weight = md.customize(robot).inverse_dynamics(states[-1].position, [0.0], [0.0])
    assert states[-1].effort[0] == pytest.approx(weight[0], abs=1e-9)


def test_a_schedule_is_a_command_for_as_long_as_it_lasts(ros):
    start_lockstep(ros, command_timeout=0.002)
    ros.trajectories.publish(
        trajectory(["shoulder", "elbow"], [(0.0, [1.0, 1.0]), (0.006, [2.0, 2.0])])
    )
    ros.until(lambda: stamp(ros.states[-1]) == PERIOD, "the trajectory moves nothing")
    acted = [step(ros).effort[0] for _ in range(11)]
    assert acted[:4] == [1.0] * 4
    assert acted[4:8] == [2.0] * 4
    ros.expect_warning("no command for 0.002 s", "brake")


def step(ros):
    """Advance one period by the service and return the next state."""
    before = stamp(ros.states[-1])
    assert ros.call(Trigger, "simulator/step").success
    ros.until(lambda: stamp(ros.states[-1]) > before, "a step does not advance")
    return ros.states[-1]


def test_stale_trajectory_is_dropped(ros):
    start_lockstep(ros, command_timeout=0.002)
    for _ in range(5):
        command(ros, 0.0, 0.0)
    late = trajectory(["shoulder", "elbow"], [(0.0, [1.0, 1.0])])
    late.header.stamp.nanosec = PERIOD
    ros.trajectories.publish(late)
    ros.expect_warning("dropped", "must start -0.002 to 60 s from now", "got -0.004 s")
    assert stamp(ros.states[-1]) == 5 * PERIOD


def test_a_command_in_a_pause_of_lockstep_acts_when_it_ends(lockstep):
    """Regression: deadlock of a simulator that waited for a command and a planner for a state."""
    before = command(lockstep, 0.0, 0.0)
    pause = SetBool.Request(data=True)
    assert lockstep.call(SetBool, "simulator/pause", pause).success
    lockstep.commands.publish(Float64MultiArray(data=[5.0, 0.0]))
    lockstep.spin(0.3)
    assert stamp(lockstep.states[-1]) == stamp(before)
    assert lockstep.call(SetBool, "simulator/pause", SetBool.Request(data=False)).success
    lockstep.until(lambda: stamp(lockstep.states[-1]) > stamp(before), "deadlock")
    lockstep.spin(0.2)
    assert stamp(lockstep.states[-1]) == stamp(before) + PERIOD
    assert lockstep.states[-1].velocity[0] > 0.0


def test_pause_step_and_reset(ros):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", initial_position=[0.5, -0.5], publish_clock=True)
    ros.until(lambda: states, "no joint states")
    response = ros.call(Trigger, "simulator/step")
    assert not response.success
    assert "pause" in response.message
    assert ros.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    # Pending states arrive first; from then on the same state is repeated.
    ros.until(
        lambda: len(states) > 1 and stamp(states[-1]) == stamp(states[-2]),
        "time does not stand still",
    )
    paused_at = stamp(states[-1])
    ros.spin(0.3)
    assert stamp(states[-1]) == paused_at
    assert ros.call(Trigger, "simulator/step").success
    ros.until(lambda: stamp(states[-1]) == paused_at + PERIOD, "step does not advance one period")
    assert ros.call(Trigger, "simulator/reset").success
    ros.until(lambda: stamp(states[-1]) == 0, "reset does not go back")
    assert list(states[-1].position) == [0.5, -0.5]


def test_commands_sent_before_a_reset_are_dropped(ros):
    """Regression: 16.7 rad/s and a joint at -10 rad after ~/reset, by an earlier command."""
    start_lockstep(ros, publish_clock=True)
    command(ros, 9.0, 9.0)
    # The middleware decides how many are read before the reset; sometimes it is all of them.
    while not ros.warned("dropped", "before the reset was done"):
        for _ in range(50):
            ros.commands.publish(Float64MultiArray(data=[9.0, 9.0]))
        assert ros.call(Trigger, "simulator/reset").success
        ros.until_still(ros.log)
    ros.commands.publish(Float64MultiArray(data=[1.0, -1.0]))
    ros.until(lambda: list(ros.states[-1].effort) == [1.0, -1.0], "no answer")
    # States from before the last reset may arrive after those of earlier resets.
    reset = max(k for k, state in enumerate(ros.states) if stamp(state) == 0)
    state = ros.states[reset + 1]
    assert (stamp(state), list(state.effort)) == (PERIOD, [1.0, -1.0])
    robot = md.load_robot("ibm7535")
    expected = md.simulate(robot, [0, 0], [0, 0], [1.0, -1.0], 0.001)
    assert list(state.velocity) == expected.v[-1].tolist()


def levels(ros, reports, **expected):
    """Wait for diagnostics with these values; return the last status."""

    def agrees():
        if not reports:
            return False
        status = reports[-1].status[0]
        values = {v.key: v.value for v in status.values}
        return all(values.get(key) == value for key, value in expected.items())

    ros.until(agrees, f"no diagnostics with {expected}: {reports[-1:]}")
    return reports[-1].status[0]


def test_an_arm_without_commands_comes_to_rest_within_its_limits(ros):
    """The controller stops during full efforts; diagnostics report each state. Period 0.02 s."""
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    start_lockstep(ros, control_period=0.02, initial_position=[2.5, 0.0])
    status = levels(ros, reports, state="waiting")
    assert (status.level, status.hardware_id) == (b"\x00", "simulated ibm7535")
    for _ in range(10):
        command(ros, 25.0, -9.0)
    levels(ros, reports, state="running")
    fastest, furthest = 0.0, 0.0
    for _ in range(60):
        state = step(ros)
        fastest = max(fastest, *np.abs(state.velocity))
        furthest = max(furthest, *(np.abs(state.position) - np.pi))
    assert fastest > 3.0
    assert 0.0 < furthest <= 0.02
    assert np.abs(state.velocity).max() < 1e-3
    assert levels(ros, reports, state="lost_commander").message == "no command for 0.5 s: brake"
    ros.expect_warning("no command for 0.5 s", "brake")
    second = ros.probe.create_publisher(Float64MultiArray, "simulator/commands", 1)
    status = levels(ros, reports, state="second_commander")
    assert status.level == b"\x01"
    assert status.message == (
        "2 publishers of commands: /probe, /probe; no command for 0.5 s: brake"
    )
    ros.probe.destroy_publisher(second)
    levels(ros, reports, state="lost_commander", commanders="/probe")
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    ros.call(Trigger, "simulator/reset")
    assert levels(ros, reports, state="paused").message == "paused"


def test_a_run_ends_at_a_limit_with_stop_at_limits(ros):
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    start_lockstep(ros, joint_limits="stop_at_limits", initial_position=[3.1, 0.0])
    for _ in range(300):
        ros.commands.publish(Float64MultiArray(data=[25.0, 0.0]))
    status = levels(ros, reports, state="fault")
    assert status.level == b"\x02"
    assert "joint 'shoulder' reached its upper limit at" in status.message
    assert ros.call(Trigger, "simulator/reset").success
    levels(ros, reports, state="waiting")  # braked until the first command
    ros.until(lambda: stamp(ros.states[-1]) == 0, "reset does not go back")
    assert command(ros, 0.0, 0.0).position[0] == 3.1


def test_states_are_published_in_a_fault(ros):
    """Regression: in real time, a fault silenced joint_states."""
    reports, states = ros.listen(DiagnosticArray, "/diagnostics"), ros.listen(JointState, STATES)
    start = {"initial_position": [3.0, 0.0], "initial_velocity": [5.0, 0.0]}
    ros.start(
        SimulatorNode, robot="ibm7535", joint_limits="stop_at_limits", brake_rate=0.1, **start
    )
    levels(ros, reports, state="fault")
    before = len(states)
    ros.until(lambda: len(states) > before + 3, "no joint states in a fault")
    assert stamp(states[-1]) == stamp(states[before])
    assert np.isfinite([*states[-1].position, *states[-1].velocity, *states[-1].effort]).all()
    assert states[-1].position[0] == pytest.approx(math.pi, abs=0.05)
    answer = ros.call(Trigger, "simulator/step")
    assert not answer.success
    assert "reached its upper limit" in answer.message
    assert ros.call(Trigger, "simulator/reset").success
    ros.until(
        lambda: any(stamp(b) - stamp(a) == PERIOD for a, b in pairwise(states[before:])),
        "time does not advance after a reset",
    )


def test_an_absurd_disturbance_is_rejected(ros):
    """Regression: 1e308 N m ended the simulation with a fault."""
    ros.start(SimulatorNode, robot="ibm7535")
    (result,) = ros.set_parameters("simulator", disturbance=[0.0, -1e308])
    assert not result.successful
    assert result.reason == (
        "disturbance of joint 'elbow' must be from -2500 to 2500 N m, 100 times the largest "
        "effort limit, got -1e+308 N m."
    )
    (result,) = ros.set_parameters("simulator", disturbance=[0.0, -2500.0])
    assert result.successful


def test_joints_outside_ignored_limits_are_an_error(ros):
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    start_lockstep(
        ros, joint_limits="ignore", initial_position=[3.1, 0.0], initial_velocity=[20.0, 0.0]
    )
    for _ in range(10):
        command(ros, 0.0, 0.0)
    status = levels(ros, reports, state="outside_limits")
    assert status.level == b"\x02"
    assert "outside its limits: shoulder 0." in status.message


def accelerate(ros, periods):
    """Apply the full effort to the shoulder for some periods."""
    for _ in range(periods):
        command(ros, 25.0, 0.0)
    return ros.states[-1].velocity[0]


def test_a_speed_beyond_its_limit_is_an_error(ros):
    """Regression: no node compared speeds with their limits."""
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    start_lockstep(ros, initial_velocity=[20.9, 0.0])
    speed = accelerate(ros, 20)
    assert speed > 21.0
    status = levels(ros, reports, state="too_fast")
    assert status.level == b"\x02"
    reported = re.search(r"too fast: shoulder at (\S+) rad/s \(limit 20\)", status.message)
    assert 21.0 <= float(reported[1]) <= speed + 0.05  # of some state since it became too fast
    assert accelerate(ros, 1) > speed  # commands still act


def test_an_arm_that_is_too_fast_is_braked_to_rest(ros):
    """Other commands are ignored until then, and time still advances with them."""
    start_lockstep(ros, initial_velocity=[20.9, 0.0], speed_limits="brake", brake_rate=100.0)
    speeds = []
    while not speeds or speeds[-1] > 0.05:
        speeds.append(accelerate(ros, 1))
        assert len(speeds) < 2000
    peak = int(np.argmax(speeds))
    assert 21.0 < speeds[peak] < 21.1
    assert (np.diff(speeds[peak:]) <= 0.0).all()
    ros.expect_warning("too fast: shoulder at 21 rad/s (limit 20)", "the safe command (brake)")
    assert accelerate(ros, 5) > speeds[-1]


def test_clock_and_energy_balance(ros):
    clocks, energies = (
        ros.listen(Clock, "/clock"),
        ros.listen(Float64MultiArray, "simulator/energy"),
    )
    ros.start(
        SimulatorNode,
        robot="pa10",
        mode="fast",
        initial_position=[0.1, 0.4, 0.0, 0.9, 0.0, 0.2, 0.0],
        safe_command="zero",
        publish_clock=True,
    )
    ros.until(lambda: len(energies) > 10 and len(clocks) > 10, "no clock or no energy")
    assert energies[0].layout.dim[0].label.startswith("kinetic [J],potential [J],work [J]")
    kinetic, potential, _, residual = energies[-1].data
    assert kinetic > 1e-3
    assert abs(residual) < 1e-6 * (kinetic + abs(potential))
    ticks = [c.clock.sec * 10**9 + c.clock.nanosec for c in clocks]
    assert np.all(np.diff(ticks) > 0)


def test_diagnostics_report_rate_and_dropped_messages(lockstep):
    diagnostics = lockstep.listen(DiagnosticArray, "/diagnostics")
    lockstep.commands.publish(Float64MultiArray(data=[1.0]))
    lockstep.expect_warning("dropped")

    def values():
        return {v.key: v.value for m in diagnostics for v in m.status[0].values}

    lockstep.until(lambda: values().get("dropped messages") == "1", "the drop is not reported")
    assert {"mean rate [Hz]", "p99 period error [s]", "time [s]"} <= values().keys()
    assert diagnostics[-1].status[0].name == "simulator"

"""Delay between joint states and the effect of commands: measured, bounded and reported."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import manip_dyn as md
from manip_dyn.control import delay_margin
from manip_dyn.ros import ClikTrackerNode, CommandEnd, LoopDelay, SimulatorNode

PERIOD = 0.01
START = [2.4785, 0.1249, -0.2709, 1.902, 0.9364, -2.3179, -1.6564]
CIRCLE = {
    "circle.center": [0.0, 0.4, 0.6],
    "circle.normal": [0.0, 1.0, 0.0],
    "circle.start": [-1.0, 0.0, 0.0],
    "circle.tool_rpy": [0.0, 0.7853981633974483, 0.0],
    "circle.linear_speed": 0.5,
    "circle.angular_speed": 2.0,
    "ramp": 0.3,
    "gain": 10.0,
}


@pytest.mark.parametrize("gains", [(400.0, 40.0), (100.0, 20.0), (400.0, 10.0), (900.0, 30.0)])
@pytest.mark.parametrize("period", [1e-3, 1e-2])
def test_the_delay_margin_is_that_of_the_sampled_loop(gains, period):
    unstable = next(k for k in range(200) if spectral_radius(*gains, period, k) >= 1.0) * period
    assert unstable - 1.01 * period <= delay_margin(*gains, period) <= unstable


def spectral_radius(stiffness, damping, period, delay):
    """Return the spectral radius of a double integrator with feedback, `delay` periods late."""
    system = np.eye(delay + 2, k=-1)  # positions, velocities and the efforts on their way
    system[:2] = 0.0
    system[:2, :2] = [[1.0, period], [0.0, 1.0]]
    feedback, effect = np.array([-stiffness, -damping]), np.array([0.5 * period**2, period])
    if delay:
        system[2, :2], system[:2, -1] = feedback, effect
    else:
        system += np.outer(effect, feedback)
    return np.abs(np.linalg.eigvals(system)).max()


@pytest.mark.parametrize("periods", [0, 1, 7])
def test_the_delay_is_measured_from_efforts_in_states(periods):
    loop = LoopDelay(md.load_robot("rr"), PERIOD)
    efforts = np.random.default_rng(periods).normal(size=(100, 2))
    for k, effort in enumerate(efforts):
        acting = k - 1 - periods
        loop.received(k * 10_000_000, efforts[acting].tolist() if acting >= 0 else [0.0, 0.0])
        loop.sent(k * 10_000_000, effort)
    assert loop.seconds == pytest.approx(periods * PERIOD)
    for k in range(100, 130):
        loop.received(k * 10_000_000, [7.0, 7.0])
    assert loop.ineffective == pytest.approx(0.3)


def test_a_command_ends_later_on_a_busy_machine():
    end = CommandEnd(5, 1e-3)
    assert end.duration_ns(0.0) == 5_000_000
    for stamp in (0, 1, 2, 3, 33, 34, 35):
        end.received(stamp * 1_000_000)
    assert end.duration_ns(0.0) == 34_000_000
    assert end.duration_ns(0.002) == 36_000_000
    for stamp in range(36, 2035):
        end.received(stamp * 1_000_000)
    assert end.duration_ns(0.0) == 5_000_000
    end.received(9_000_000_000)
    assert end.duration_ns(0.0) == 205_000_000
    assert CommandEnd(0, 1e-3).duration_ns(0.1) is None


class DelayedLoop:
    """A simulator in lockstep and a tracker, with a relay that delays the states by periods."""

    def __init__(self, ros):
        """Start both nodes without a delay."""
        self.ros, self.delay = ros, 0
        self.states, self._queue = [], []
        self._last = self._answered = None
        self.robot = md.load_robot("pa10")
        self.mass_matrix = md.customize(self.robot).mass_matrix
        self.reports = ros.listen(DiagnosticArray, "/diagnostics")
        ros.start(
            SimulatorNode,
            remap=("-r", "joint_states:=raw_states", "-r", "~/commands:=late_commands"),
            robot="pa10",
            mode="lockstep",
            control_period=PERIOD,
            initial_position=START,
        )
        self._relayed = ros.publisher_of(JointState, "joint_states")
        self._commands = ros.publisher(Float64MultiArray, "late_commands")
        ros.probe.create_subscription(
            Float64MultiArray, "simulator/commands", self._on_command, 100
        )
        ros.probe.create_subscription(JointState, "raw_states", self._on_state, 100)
        ros.start(ClikTrackerNode, mode="dynamic", step=PERIOD, **CIRCLE)

    def _on_state(self, state):
        fresh = not self.states or state.header.stamp != self.states[-1].header.stamp
        if fresh:
            self.states.append(state)
            self._queue.append(state)
        del self._queue[: -self.delay - 1]
        late = len(self._queue) > self.delay and self._queue[0] is not self._answered
        if fresh and not late:
            self._commands.publish(self._last)  # the last efforts act
        else:
            self._answered = self._queue[0]
            self._relayed.publish(self._answered)

    def _on_command(self, command):
        if command != self._last:
            self._last = command
            self._commands.publish(command)

    @property
    def energies(self):
        """Kinetic energies of the states, J."""
        velocities = [np.array(state.velocity) for state in self.states]
        masses = [self.mass_matrix(state.position) for state in self.states]
        return [0.5 * v @ mass @ v for v, mass in zip(velocities, masses, strict=True)]

    def run(self, seconds):
        """Run for simulated seconds."""
        count = len(self.states)
        until = count + round(seconds / PERIOD)
        self.ros.until(lambda: len(self.states) > until, f"stopped at {len(self.states)}")

    def reported(self, since):
        """Return states and levels that the tracker has reported."""
        mine = [m.status[0] for m in self.reports[since:] if m.status[0].name == "clik_tracker"]
        return [(next(v.value for v in s.values if v.key == "state"), s.level) for s in mine]

    def until_reported(self, state, level):
        """Run until the tracker reports a state."""
        since = len(self.reports)
        self.ros.until(
            lambda: (state, level) in self.reported(since),
            f"{state} is not reported: {self.reported(since)[-3:]}",
        )


def test_the_tracker_brakes_until_a_reset_if_the_loop_is_too_late(ros):
    """Regression: the arm oscillated with 4.5 rad/s while the node reported [OK] tracking."""
    loop = DelayedLoop(ros)
    loop.run(4.0)  # more than a lap
    loop.until_reported("tracking", DiagnosticStatus.OK)
    usual, count = loop.energies, len(loop.states)
    loop.delay = 5
    loop.run(1.0)
    loop.until_reported("late", DiagnosticStatus.ERROR)
    assert ros.warned("delay margin 0.0274 s", "braking until ~/reset")
    speeds = [np.abs(state.velocity).max() for state in loop.states[-10:]]
    assert max(speeds) < 1e-2
    assert max(loop.energies[count:]) <= 1.05 * max(usual)
    loop.delay = 0
    loop.run(1.0)
    loop.until_reported("late", DiagnosticStatus.ERROR)
    assert ros.call(Trigger, "clik_tracker/reset").success
    loop.until_reported("tracking", DiagnosticStatus.OK)
    loop.delay = 2
    loop.until_reported("delayed", DiagnosticStatus.WARN)

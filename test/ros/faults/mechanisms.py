"""Faults of a mechanism that its monitor reports: killed, stopped or reset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from faults.case import OK, WARN, Case
from faults.graph import PERIOD, Graph
from faults.processes import STOPS, Many, Processes
from geometry_msgs.msg import PoseArray
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from manip_dyn.multibody import load_mechanism
from manip_dyn.ros import coordinates

NAME = "slider_crank"
NODE = {"mechanism": NAME, "control_period": PERIOD}
MONITOR = {"mechanism": NAME, "body": "rod", "height": 0.0, "duration": 1e6}


class MechanismWitness:
    """Observer of a mechanism by its poses and joint states: constraints and speed.

    Attributes:
        beyond: The largest violation of a constraint, m.
        speed: The highest speed of a joint, rad/s or m/s.
        rise: Always 0: nothing brakes a mechanism.
        count: Number of states.
    """

    def __init__(self):
        """Load the mechanism."""
        self._mechanism = load_mechanism(NAME)
        self.begin()

    def begin(self):
        """Restart the observation."""
        self.beyond = self.speed = self.rise = 0.0
        self.count = 0

    def see(self, message):
        """Process a joint state."""
        self.speed = max(self.speed, float(np.abs(message.velocity).max()))
        self.count += 1

    def see_poses(self, message):
        """Process the poses of the bodies."""
        violations = self._mechanism.violations(coordinates(message))
        self.beyond = max(self.beyond, float(np.abs(violations).max()))


class MechanismProcesses(Many, Graph):
    """A mechanism and its monitor as processes."""

    robot_name = "one_link_vertical"
    expects_arm = False

    def start(self):
        """Start both."""
        self.witness = MechanismWitness()
        listen = self.ros.probe.create_subscription
        listen(PoseArray, "mechanism/poses", lambda message: self.witness.see_poses(message), 100)
        self.processes = Processes()
        self.processes.start("mechanism_monitor", **MONITOR)
        self.processes.start("mechanism", **NODE)

    def _on_joints(self, message: JointState):
        self.states.append(message)
        self.witness.see(message)

    def ready(self):
        """Ensure that both nodes run and the mechanism moves."""
        for name in ("mechanism_monitor", "mechanism"):
            self.start_again(name)
        # Wait for reports: the services of a killed node remain visible for a while.
        self.until_state("mechanism", "running", "paused", "overruns")
        if self.state_of("mechanism") == "paused":
            self.pause(False)
        self.until_state("mechanism", "running", "overruns")
        self.until_state("mechanism_monitor", "measuring")

    def start_again(self, name):
        """Start a node that was killed."""
        if name not in self.processes.running:
            self.processes.start(name)

    def pause(self, paused=True):
        """Call ~/pause of the mechanism."""
        request = SetBool.Request(data=paused)
        assert self.ros.call(SetBool, "mechanism/pause", request).success


def at(phase, then):
    """Return a fault that brings the mechanism to a phase and calls `then`."""

    def do(system):
        if phase == "starting":
            system.kill("mechanism")
            system.start_again("mechanism")
        if phase == "paused":
            system.pause()
            system.until_state("mechanism", "paused")
        return then(system)

    return do


def killed(system):
    """Kill the mechanism."""
    system.kill("mechanism")


def killed_and_started(system):
    """Kill the mechanism and start it again."""
    system.kill("mechanism")
    system.until_state("mechanism_monitor", "silent")
    system.start_again("mechanism")


def reset(system):
    """Reset the mechanism."""
    assert system.ros.call(Trigger, "mechanism/reset").success


def stopped(seconds):
    """Return a fault that suspends the mechanism for `seconds`."""
    return lambda system: system.stand_still("mechanism", seconds)


SILENT = "mechanism_monitor", "silent", WARN, "no messages on /mechanism/poses for"
MEASURING = "mechanism_monitor", "measuring", OK, "% of the run"


def case(name, done, do, report, ends="moving"):
    """Return a case of the mechanism."""
    return Case(name, "mechanism", done, do, *report, (), ends)


def _cases():
    for phase in ("starting", "running", "paused"):
        done = f"SIGKILL of the mechanism while it is {phase}"
        yield case(f"mechanism_killed_while_{phase}", done, at(phase, killed), SILENT, "gone")
        yield case(f"mechanism_killed_while_{phase}_and_restarted",
                   "the same; then the mechanism is restarted",
                   at(phase, killed_and_started),
                   MEASURING)  # fmt: skip
    for seconds in STOPS:
        yield case(f"mechanism_stopped_{seconds:g}_s",
                   f"SIGSTOP of the mechanism for {seconds:g} s",
                   stopped(seconds), MEASURING)  # fmt: skip
    yield case("mechanism_reset", "~/reset of the mechanism while it moves", reset, MEASURING)


CASES = tuple(replace(item, by_hand=True) for item in _cases())

"""Faults of the link between arm and commander: lost, late, noisy or partial joint states."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from faults.case import ERROR, OK, WARN, Case
from faults.graph import ARM, PERIOD, ROBOT
from faults.systems import BENT, TRACKER, Planned, Tracked
from sensor_msgs.msg import JointState

from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

POSITION_NOISE, VELOCITY_NOISE = 1e-3, 2e-2
"""Standard deviations of the noise, rad and rad/s."""


class Relay:
    """Mixin of systems whose probe relays the joint states of the simulator.

    Attributes:
        spoil: Returns the messages that replace a joint state.
    """

    states_topic = "raw_states"

    def start_simulator(self, **parameters):
        """Start the simulator and the relay."""
        self.rng, self.late = np.random.default_rng(0), deque()
        self.spoil = lambda state: [state]
        self._relayed = self.ros.probe.create_publisher(JointState, "joint_states", 100)
        self.ros.probe.create_subscription(JointState, "raw_states", self._relay, 100)
        remap = ["-r", "joint_states:=raw_states"]
        self.ros.start(SimulatorNode, remap=remap, **(ARM | parameters))

    def _relay(self, state):
        for message in self.spoil(state):
            self._relayed.publish(message)

    def ready(self):
        """Relay all states, then wait until the arm is held."""
        self.spoil = lambda state: [state]
        super().ready()


class PlannedOverLink(Relay, Planned):
    """A simulator and a planner."""

    def start_nodes(self):
        """Start both."""
        self.start_simulator()
        self.ros.start(BangBangPlannerNode, robot=ROBOT, control_period=PERIOD)


class TrackedOverLink(Relay, Tracked):
    """A simulator and a tracker."""

    def start_nodes(self):
        """Start both."""
        self.start_simulator(initial_position=BENT)
        self.ros.start(ClikTrackerNode, **TRACKER)


def lost(system, state):
    """Return the state, or nothing in 30 % of the calls."""
    return [state] if system.rng.random() > 0.3 else []


def noisy(system, state):
    """Return the state with noise."""
    n = len(state.position)
    q = np.add(state.position, POSITION_NOISE * system.rng.normal(size=n))
    v = np.add(state.velocity, VELOCITY_NOISE * system.rng.normal(size=n))
    message = JointState(header=state.header, name=state.name, position=q, velocity=v)
    message.effort = state.effort
    return [message]


def without_velocities(_system, state):
    """Return the state without velocities."""
    return [JointState(header=state.header, name=state.name, position=state.position)]


def single_joints(_system, state):
    """Return one message for each joint."""
    rows = zip(state.name, state.position, state.velocity, strict=True)
    return [
        JointState(header=state.header, name=[name], position=[q], velocity=[v])
        for name, q, v in rows
    ]


def late(periods):
    """Return a link that delays the states by whole control periods."""

    def relay(system, state):
        system.late.append(state)
        return [system.late.popleft()] if len(system.late) > periods else []

    return relay


def spoiled(link):
    """Return a fault of the link, followed by a motion."""

    def do(system):
        system.late.clear()
        system.spoil = lambda state: link(system, state)
        if isinstance(system, Tracked):
            system.goal = system.targets[1]
            system.send(system.goal)
        else:
            system.go([0.2, 0.9])
            system.until(lambda: system.speed > 0.1, "the arm does not move")

    return do


LINKS = (
    ("lossy_states", "30 % of the joint states are lost", lost),
    ("states_without_velocities", "joint states without velocities", without_velocities),
    ("single_joint_states", "one joint per message", single_joints),
    ("noisy_states", "joint states with noise of 1e-3 rad and 0.02 rad/s", noisy),
)
CASES = tuple(
    replace(case, by_hand=True)
    for case in (
        *(
            Case(f"{name}_of_the_planner", "planner_link", f"{done} during a motion",
                 spoiled(link), "bang_bang_planner", "reached", OK, "reached the goal")
            for name, done, link in LINKS
            if link in (lost, single_joints)  # the others are too much for the gains at 50 Hz
        ),
        Case("lossy_states_of_the_tracker", "tracker_link", f"{LINKS[0][1]} during a motion",
             spoiled(lost), "clik_tracker", "tracking", OK, "tracking"),
        *(
            Case(f"{name}_of_the_tracker", "tracker_link", f"{done} during a motion",
                 spoiled(link), "clik_tracker", "unknown_delay", WARN, "the loop delay is unknown")
            for name, done, link in LINKS[1:3]
        ),
        Case("noisy_states_of_the_tracker", "tracker_link", f"{LINKS[3][1]} during a motion",
             spoiled(noisy), "clik_tracker", "off_path", WARN, "off the desired pose"),
        Case("late_states_of_the_tracker", "tracker_link",
             "joint states 0.1 s late during a motion", spoiled(late(5)), "clik_tracker", "late",
             ERROR, "braking until ~/reset"),
    )
)  # fmt: skip

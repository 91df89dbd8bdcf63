"""Faults of processes: killed, restarted or suspended nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

from faults.case import ERROR, OK, WARN, Case
from faults.graph import ARM, PERIOD, ROBOT
from faults.life import PHASES
from faults.systems import BENT, TRACKER, Planned, Tracked

STOPS = (0.6, 3.0)
"""Durations of suspensions, s."""


class Processes:
    """Nodes as processes, by name."""

    def __init__(self):
        """Create an empty set; `first` is code that runs before each node."""
        self.first = ""
        self.running, self._parameters = {}, {}

    def start(self, name, **parameters):
        """Start a node, by default with its previous parameters."""
        if parameters:
            self._parameters[name] = parameters
        pairs = [("-p", f"{key}:={value}") for key, value in self._parameters[name].items()]
        arguments = [word for pair in pairs for word in pair]
        code = f"{self.first}\nimport sys, manip_dyn.ros.start as s; sys.exit(s.start({name!r}))"
        command = [sys.executable, "-c", code, "--ros-args", *arguments]
        quiet = subprocess.DEVNULL
        self.running[name] = subprocess.Popen(command, stdout=quiet, stderr=quiet)

    def kill(self, name):
        """End a node by SIGKILL."""
        self.running[name].kill()
        self.running.pop(name).wait()

    def signal(self, name, number):
        """Send a signal to a node."""
        os.kill(self.running[name].pid, number)

    def close(self):
        """End all nodes."""
        for name in [*self.running]:
            self.kill(name)


class Many:
    """Mixin of systems whose nodes are processes."""

    def __exit__(self, *_):
        """End the processes."""
        self.processes.close()
        super().__exit__()

    def stand_still(self, name, seconds):
        """Suspend a process for `seconds` of wall time."""
        self.processes.signal(name, signal.SIGSTOP)
        try:
            self.wait(seconds)
        finally:
            self.processes.signal(name, signal.SIGCONT)

    def kill(self, name):
        """End a node by SIGKILL."""
        self.processes.kill(name)

    def start_again(self, name):
        """Start a node that was killed."""
        if name not in self.processes.running:
            count = len(self.states)
            self.processes.start(name)
            self.until_state(name, *STARTED[name])
            self.until(lambda: len(self.states) > count, "no joint states")


STARTED = {
    "simulator": ("waiting", "running", "lost_commander", "second_commander"),
    "bang_bang_planner": ("idle", "waiting"),
    "clik_tracker": ("tracking", "off_path", "approaching"),
}


class PlannedProcesses(Many, Planned):
    """Simulator and planner as processes."""

    def start_nodes(self):
        """Start both."""
        self.processes = Processes()
        self.processes.start("simulator", **ARM)
        self.processes.start("bang_bang_planner", robot=ROBOT, control_period=PERIOD)

    def ready(self):
        """Ensure that both nodes run and no motion is executed."""
        for name in ("simulator", "bang_bang_planner"):
            self.start_again(name)


class TrackedProcesses(Many, Tracked):
    """Simulator and tracker as processes."""

    def start_nodes(self):
        """Start both."""
        self.processes = Processes()
        self.processes.start("simulator", **(ARM | {"initial_position": BENT}))
        self.processes.start("clik_tracker", **TRACKER)

    def ready(self):
        """Ensure that both nodes run and the arm holds the first target."""
        for name in ("simulator", "clik_tracker"):
            self.start_again(name)
        Tracked.ready(self)


def killed(node, phase):
    """Return a fault that kills a node at a phase of the planner."""

    def do(system):
        system.phase(phase)
        system.kill(node)

    return do


def interrupted(node, number):
    """Return a fault that ends the planner or tracker by a signal during a motion."""

    def do(system):
        if node == "clik_tracker":
            system.move()
        else:
            system.phase("executing")
        system.processes.signal(node, number)
        system.processes.running.pop(node).wait()

    return do


def again(node, phase):
    """Return a fault that kills a node, restarts it and sends the goal again."""

    def do(system):
        killed(node, phase)(system)
        system.start_again(node)
        system.until(lambda: system.speed < 2e-3, "the arm does not rest")
        system.until_state("bang_bang_planner", "idle", "lost")
        system.go()

    return do


def stopped(node, seconds):
    """Return a fault that suspends a node during a motion."""

    def do(system):
        system.phase("executing")
        system.stand_still(node, seconds)

    return do


def killed_tracked(node, moving, restart):
    """Return a fault that kills a node of the tracker's system and may restart it."""

    def do(system):
        if moving:
            system.move()
        system.kill(node)
        if restart:
            simulated = node != "simulator"
            state = ("simulator", "lost_commander") if simulated else ("clik_tracker", "silent")
            system.until_state(*state)
            system.start_again(node)
            system.until_state("clik_tracker", "tracking", "off_path")
            system.goal = system.targets[1]
            system.send(system.goal)

    return do


def stopped_tracked(node, seconds):
    """Return a fault that suspends a node during a motion to a target."""

    def do(system):
        system.move()
        system.stand_still(node, seconds)

    return do


LOST = "simulator", "lost_commander", WARN, "no command before the end of the last one: brake"
RELEASED = "simulator", "lost_commander", WARN, "the commander has released the arm: brake"
GONE = {
    "idle": ("waiting", WARN, "no joint states for"),
    "planning": ("lost", ERROR, "gave up: no joint states for"),
    "executing": ("lost", ERROR, "gave up: no joint states for"),
    "reached": ("waiting", WARN, "no joint states for"),
}
PLANNER_GONE = {
    "idle": ("simulator", "waiting", OK, "no command yet: brake"),
    "planning": ("simulator", "waiting", OK, "no command yet: brake"),
    "executing": LOST,
    "reached": LOST,
}


def _planned():
    for phase in PHASES:
        yield Case(
            f"planner_killed_while_{phase}", "planner_processes",
            f"SIGKILL of the planner in the state `{phase}`", killed("bang_bang_planner", phase),
            *PLANNER_GONE[phase],
        )  # fmt: skip
        yield Case(
            f"simulator_killed_while_{phase}", "planner_processes",
            f"SIGKILL of the simulator in the planner's state `{phase}`",
            killed("simulator", phase),
            "bang_bang_planner", *GONE[phase], (), "gone",
        )  # fmt: skip
    for node, name in (("bang_bang_planner", "planner"), ("simulator", "simulator")):
        for phase in PHASES:
            yield Case(
                f"{name}_killed_while_{phase}_and_restarted", "planner_processes",
                f"the same; then the {name} is restarted and the goal is resent",
                again(node, phase),
                "bang_bang_planner", "reached", OK, "holding it", (), "following",
            )  # fmt: skip
    yield Case(
        "planner_stopped_0.6_s", "planner_processes",
        "SIGSTOP of the planner for 0.6 s during a motion", stopped("bang_bang_planner", 0.6),
        "bang_bang_planner", "reached", OK, "reached the goal",
        ("the safe command (brake) acts",), "following",
    )  # fmt: skip
    yield Case(
        "planner_stopped_3_s", "planner_processes",
        "SIGSTOP of the planner for 3 s during a motion", stopped("bang_bang_planner", 3.0),
        *LOST,
    )  # fmt: skip
    yield Case(
        "simulator_stopped_0.6_s", "planner_processes",
        "SIGSTOP of the simulator for 0.6 s during a motion", stopped("simulator", 0.6),
        "bang_bang_planner", "reached", OK, "reached the goal", (), "following",
    )  # fmt: skip
    yield Case(
        "simulator_stopped_3_s", "planner_processes",
        "SIGSTOP of the simulator for 3 s during a motion", stopped("simulator", 3.0),
        "bang_bang_planner", "lost", ERROR, "gave up: no joint states for",
        ("continue from the present",),
    )  # fmt: skip


def _tracked():
    for moving, phase in ((False, "holding"), (True, "moving")):
        yield Case(
            f"tracker_killed_while_{phase}", "tracker_processes",
            f"SIGKILL of the tracker while it is {phase}",
            killed_tracked("clik_tracker", moving, False), *LOST,
        )  # fmt: skip
        yield Case(
            f"simulator_killed_while_tracker_{phase}", "tracker_processes",
            f"SIGKILL of the simulator while the tracker is {phase}",
            killed_tracked("simulator", moving, False),
            "clik_tracker", "silent", WARN, "no joint states for", (), "gone",
        )  # fmt: skip
        for node, name in (("clik_tracker", "tracker"), ("simulator", "simulator")):
            yield Case(
                f"{name}_killed_while_{phase}_and_restarted_for_targets", "tracker_processes",
                f"the same; then the {name} is restarted and a target is resent",
                killed_tracked(node, moving, True),
                "clik_tracker", "tracking", OK, "tracking", (), "following",
            )  # fmt: skip
    for node, name in (("clik_tracker", "tracker"), ("simulator", "simulator_of_tracker")):
        for seconds in STOPS:
            yield Case(
                f"{name}_stopped_{seconds:g}_s", "tracker_processes",
                f"SIGSTOP of the {node.replace('clik_', '')} for {seconds:g} s during a motion",
                stopped_tracked(node, seconds), "clik_tracker", "tracking", OK, "tracking",
            )  # fmt: skip


def _interrupted():
    for node, name in (("bang_bang_planner", "planner"), ("clik_tracker", "tracker")):
        for number in (signal.SIGINT, signal.SIGTERM):
            yield Case(
                f"{name}_ended_by_{number.name.lower()}", f"{name}_processes",
                f"{number.name} of the {name} during a motion", interrupted(node, number),
                *RELEASED,
            )  # fmt: skip


CASES = tuple(replace(case, by_hand=True) for case in (*_planned(), *_tracked(), *_interrupted()))

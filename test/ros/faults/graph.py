"""What all systems under fault have: a simulated arm, a probe that listens, and a witness."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from harness import Ros
from patience import PatientClock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import manip_dyn as md
from faults.case import ERROR, OK, WARN, Case, Outcome
from faults.witness import Witness

ROBOT = "ibm7535"
PERIOD, TIMEOUT = 0.02, 0.3
START = [0.975, 0.3]
ARM = {"robot": ROBOT, "control_period": PERIOD, "initial_position": START}
ARM |= {"command_timeout": TIMEOUT}
"""The simulator's parameters: an arm at 50 Hz that is braked after 0.3 s without a command."""
REST = 2e-3
"""Joint speed below which the arm rests, rad/s."""
LEVELS = {b"\x00": OK, b"\x01": WARN, b"\x02": ERROR}
FIELDS = ("state", "level", "sentence")


class Graph:
    """A system under fault.

    Attributes:
        ros: The graph, with its probe.
        robot: The arm.
        states: All joint states of the topic, those of faults among them.
        told: (node, state, level, sentence) of all diagnostics so far.
        values: The named values that each node told last.
        witness: Watches the simulated arm.
        clock: What time is for nodes in this process.
    """

    robot_name = ROBOT
    heard_first = True
    """Whether the arm is there before the fault."""

    def __enter__(self):
        """Start the nodes."""
        self.ros = Ros().__enter__()
        self.robot = md.load_robot(self.robot_name)
        self.witness, self.told, self.values = Witness(self.robot), [], {}
        self.states = []
        self.clock = PatientClock(lambda: len(self.states))
        self.clock.begin()
        listen = self.ros.probe.create_subscription
        listen(JointState, "joint_states", self._on_joints, 1000)
        listen(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self.start()
        self.until(lambda: self.states or not self.heard_first, "no joint states")
        return self

    def __exit__(self, *_):
        """End the nodes."""
        self.ros.__exit__()
        self.clock.end()

    def start(self):
        """Start the nodes."""
        raise NotImplementedError

    def ready(self):
        """Bring the system to where faults begin."""
        raise NotImplementedError

    def follows(self):
        """Return whether the arm is where it was told to be."""
        raise NotImplementedError

    # ------------------------------------------------------------- what is seen
    def _on_joints(self, message):
        if len(message.effort):  # what faults publish has no efforts
            self.states.append(message)
            self.witness.see(message)

    def _on_diagnostics(self, message):
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            node = status.name.rpartition("/")[2].rpartition(":")[2].strip()
            self.values[node] = values
            told = node, values.get("state", ""), LEVELS[status.level], status.message
            self.told.append(told)

    @property
    def q(self):
        """The newest joint positions, (n,)."""
        return np.array(self.states[-1].position)

    @property
    def speed(self):
        """The highest speed of a joint now, rad/s."""
        return float(np.abs(self.states[-1].velocity).max())

    def state_of(self, node):
        """Return what a node told last of its state."""
        return next((told[1] for told in reversed(self.told) if told[0] == node), "")

    def until(self, condition, what):
        """Spin until a condition holds."""
        try:
            self.ros.until(condition, what)
        except AssertionError as error:
            news = self.told[-4:], self.ros.messages()[-6:], self.states[-1:]
            raise AssertionError(f"{error}; {news}") from None

    def logged(self, since, *words):
        """Return what the log has since its line number `since` with all words."""
        lines = [each.msg for each in self.ros.log[since:]]
        return [line for line in lines if all(word in line for word in words)]

    def insist(self, do, *words):
        """Do something, and again every 20 ms, until the log has a sentence with all words.

        What is done once may be overtaken by what others send meanwhile, or be dropped without a
        word within a second of the like.
        """
        since = len(self.ros.log)
        self.ros.insist(do, lambda: self.logged(since, *words), f"{words} is not logged")

    def until_told(self, node, *states):
        """Spin until a node tells, from now on, that it is in one of the states."""
        since = len(self.told)
        self.until(
            lambda: any(told[0] == node and told[1] in states for told in self.told[since:]),
            f"{node} does not tell {states}: {self.told[-4:]}",
        )

    def ends(self, how):
        """Return whether the arm, or the mechanism, has ended so."""
        if how == "gone":
            return True
        if how == "moving":
            return self.speed > REST
        return self.speed < REST and (how == "rest" or self.follows())

    @property
    def now(self):
        """The wall clock, whole s, as the stamps of the arm follow it."""
        return round(1e-9 * self.clock.time_ns())

    def wait(self, seconds):
        """Let time pass: a part of what is done, never of what is expected."""
        self.ros.spin(seconds)

    # ------------------------------------------------------------- what is done
    def reset(self):
        """Call ~/reset of the simulator."""
        assert self.ros.call(Trigger, "simulator/reset").success

    def pause(self, paused=True):
        """Call ~/pause of the simulator."""
        request = SetBool.Request(data=paused)
        assert self.ros.call(SetBool, "simulator/pause", request).success

    # ----------------------------------------------------------------- the case
    def outcome(self, case: Case) -> Outcome:
        """Do what the case says and return what was seen; fail if it is something else."""
        self.ready()
        self.witness.begin()
        told, log = len(self.told), len(self.ros.log)
        said = case.do(self) or ""
        if case.level == OK:
            told = len(self.told)

        def found():
            wanted = case.node, case.state, case.level
            mine = [each for each in self.told[told:] if each[:3] == wanted]
            return [each for each in mine if case.words in (said or each[3])]

        def logged():
            return self.logged(log, *case.logged)

        self.until(found, f"{case.name}: expected {case.state}, {case.words!r}")
        self.until(lambda: not case.logged or logged(), f"{case.name}: expected {case.logged}")
        self.until(lambda: self.witness.count or case.ends == "gone", f"{case.name}: no states")
        self.until(
            lambda: self.ends(case.ends),
            f"{case.name}: the arm is at {self.q}, {self.speed} rad/s; expected it {case.ends}",
        )
        sentence = said or (logged()[0] if case.logged else found()[0][3])
        seen = self.witness
        return Outcome(
            case.name,
            case.state,
            case.level,
            sentence,
            max(seen.beyond, 0.0),
            seen.speed,
            seen.rise,
            case.ends,
        )

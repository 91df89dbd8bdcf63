"""Base of all systems under fault: a simulated arm, a probe and a witness."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from faults.case import ERROR, OK, WARN, Case, Outcome
from faults.witness import Witness
from harness import Ros
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from synchronized_clock import SynchronizedClock

import manip_dyn as md

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
        states: All joint states of the simulated arm.
        reports: (node, state, level, sentence) of all diagnostics so far.
        values: The latest named values of each node's diagnostics.
        witness: Observer of the simulated arm.
        clock: The clock of nodes in this process.
    """

    robot_name = ROBOT
    states_topic = "joint_states"
    rest = REST
    """Joint speed below which the arm rests, rad/s."""
    expects_arm = True
    """Whether the arm runs before the fault."""

    def __enter__(self):
        """Start the nodes."""
        self.ros = Ros().__enter__()
        self.robot = md.load_robot(self.robot_name)
        self.witness, self.reports, self.values = Witness(self.robot), [], {}
        self.states = []
        self.clock = SynchronizedClock(lambda: len(self.states))
        self.clock.begin()
        listen = self.ros.probe.create_subscription
        listen(JointState, self.states_topic, self._on_joints, 1000)
        listen(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self.start()
        self.until(lambda: self.states or not self.expects_arm, "no joint states")
        return self

    def __exit__(self, *_):
        """End the nodes."""
        self.ros.__exit__()
        self.clock.end()

    def start(self):
        """Start the nodes."""
        raise NotImplementedError

    def ready(self):
        """Bring the system to the condition in which faults start."""
        raise NotImplementedError

    def follows(self):
        """Return whether the arm is at its target."""
        raise NotImplementedError

    # ------------------------------------------------------------- observations
    def _on_joints(self, message):
        if len(message.effort):  # states published by faults have no efforts
            self.states.append(message)
            self.witness.see(message)

    def _on_diagnostics(self, message):
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            node = status.name.rpartition("/")[2].rpartition(":")[2].strip()
            self.values[node] = values
            state = values.get("state", "")
            self.reports.append((node, state, LEVELS[status.level], status.message))

    @property
    def q(self):
        """The newest joint positions, (n,)."""
        return np.array(self.states[-1].position)

    @property
    def speed(self):
        """The highest speed of a joint now, rad/s."""
        return float(np.abs(self.states[-1].velocity).max())

    def state_of(self, node):
        """Return the latest reported state of a node."""
        return next((report[1] for report in reversed(self.reports) if report[0] == node), "")

    def until(self, condition, what):
        """Spin until a condition holds."""
        try:
            self.ros.until(condition, what)
        except AssertionError as error:
            recent = self.reports[-4:], self.ros.messages()[-6:], self.states[-1:]
            raise AssertionError(f"{error}; {recent}") from None

    def logged(self, since, *words):
        """Return the lines of the log from index `since` that contain all words."""
        lines = [entry.msg for entry in self.ros.log[since:]]
        return [line for line in lines if all(word in line for word in words)]

    def insist(self, do, *words):
        """Repeat an action every 20 ms until the log has a line with all words.

        A single message may be replaced by a newer one, or its warning may be throttled.
        """
        since = len(self.ros.log)
        self.ros.insist(do, lambda: self.logged(since, *words), f"{words} is not logged")

    def until_state(self, node, *states):
        """Spin until a node reports one of the states after this call."""
        since = len(self.reports)
        self.until(
            lambda: any(
                report[0] == node and report[1] in states for report in self.reports[since:]
            ),
            f"{node} does not report {states}: {self.reports[-4:]}",
        )

    def ends(self, how):
        """Return whether the arm or mechanism is in a final condition of `Case.ends`."""
        if how == "gone":
            return True
        if how == "moving":
            return self.speed > REST
        return self.speed < self.rest and (how == "rest" or self.follows())

    @property
    def now(self):
        """The wall clock for stamps, full seconds."""
        return round(1e-9 * self.clock.time_ns())

    def wait(self, seconds):
        """Spin for a duration, s; only as part of a fault, never to wait for its consequences."""
        self.ros.spin(seconds)

    # ------------------------------------------------------------------- actions
    def reset(self):
        """Call ~/reset of the simulator."""
        assert self.ros.call(Trigger, "simulator/reset").success

    def pause(self, paused=True):
        """Call ~/pause of the simulator."""
        request = SetBool.Request(data=paused)
        assert self.ros.call(SetBool, "simulator/pause", request).success

    # ----------------------------------------------------------------- the case
    def outcome(self, case: Case) -> Outcome:
        """Run a case and return its outcome; fail if it differs from the expectation."""
        self.ready()
        self.witness.begin()
        since, log = len(self.reports), len(self.ros.log)
        sentence = case.do(self) or ""
        if case.level == OK:
            since = len(self.reports)

        def reports():
            expected = case.node, case.state, case.level
            matching = [report for report in self.reports[since:] if report[:3] == expected]
            return [report for report in matching if case.words in (sentence or report[3])]

        def logged():
            return self.logged(log, *case.logged)

        self.until(reports, f"{case.name}: expected {case.state}, {case.words!r}")
        self.until(lambda: not case.logged or logged(), f"{case.name}: expected {case.logged}")
        self.until(lambda: self.witness.count or case.ends == "gone", f"{case.name}: no states")
        self.until(
            lambda: self.ends(case.ends),
            f"{case.name}: the arm is at {self.q}, {self.speed} rad/s; expected it {case.ends}",
        )
        sentence = sentence or (logged()[0] if case.logged else reports()[0][3])
        witness = self.witness
        return Outcome(
            case.name,
            case.state,
            case.level,
            sentence,
            max(witness.beyond, 0.0),
            witness.speed,
            witness.rise,
            case.ends,
        )

"""A lockstep link between simulator and commander, with faults that do not depend on load."""

from collections import deque

from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from std_srvs.srv import Trigger

REMAP = ("-r", "joint_states:=raw_states", "-r", "~/commands:=late_commands")
"""Remaps of the simulator."""
RELEASE = Float64MultiArray(layout=MultiArrayLayout(dim=[MultiArrayDimension(label="release")]))


class LockstepLink:
    """Relays states to a commander and its commands to a simulator in lockstep.

    The simulator advances by one period for each state: by the commander's command for the state
    that the commander received, or if it received none, by the command that still acts. After the
    end of a command, and after a release, the simulator brakes. After a release, time stands still
    until the next command or ~/step.

    Attributes:
        states: All states of the simulator.
        spoil: Returns the messages that the commander receives for a state, maybe none.
    """

    def __init__(self, ros):
        """Create the relays."""
        self.ros, self.states = ros, []
        self.spoil = lambda state: [state]
        self._messages, self._acting, self._brakes = [], None, False
        many, probe = QoSProfile(depth=100), ros.probe
        self._relayed = probe.create_publisher(JointState, "joint_states", many)
        self._commands = probe.create_publisher(Float64MultiArray, "late_commands", many)
        probe.create_subscription(Float64MultiArray, "simulator/commands", self._on_command, many)
        probe.create_subscription(JointState, "raw_states", self._on_state, many)
        self._step = probe.create_client(Trigger, "simulator/step")

    def late(self, periods):
        """Delay all states from now on by whole control periods."""
        queue = deque()

        def spoil(state):
            queue.append(state)
            return [queue.popleft()] if len(queue) > periods else []

        self.spoil = spoil

    def clear(self):
        """Forget the acting command, before a reset of the simulator."""
        self._messages, self._acting, self._brakes = [], None, False

    def _on_state(self, state):
        fresh = not self.states or state.header.stamp != self.states[-1].header.stamp
        if fresh:
            self.states.append(state)
            self._messages = self.spoil(state)
        for message in self._messages:
            self._relayed.publish(message)
        if fresh and not self._messages:
            self._advance()

    def _on_command(self, command):
        if not command.data:  # a release: time stands still until the next command or ~/step
            self._brake()
        elif self._messages and self._time(command, "state") == stamp_ns(self._messages[-1]):
            self._messages = []
            if self._time(command, "deadline") > stamp_ns(self.states[-1]):
                self._acting, self._brakes = command, False
            self._advance()

    def _advance(self):
        if not self._brakes and self._acting is not None:
            if self._time(self._acting, "valid") > stamp_ns(self.states[-1]):
                self._commands.publish(self._acting)
                return
            self._brake()
        self._step.call_async(Trigger.Request())

    def _brake(self):
        self._brakes = True
        self._commands.publish(RELEASE)

    @staticmethod
    def _time(command, label):
        """Return the time (ns) of a dimension of the command, after the stamp of its state."""
        times = {d.label: 1_000_000_000 * d.size + d.stride for d in command.layout.dim}
        return times["state"] + (times[label] if label != "state" else 0)


def stamp_ns(state):
    """Return the stamp of a joint state, ns."""
    return 1_000_000_000 * state.header.stamp.sec + state.header.stamp.nanosec

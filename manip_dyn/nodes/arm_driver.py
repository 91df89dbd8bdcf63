"""Dynamic mode: computed torque drives the arm that is heard on joint_states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.clik.control.computed_torque import ComputedTorque, Efforts, JointMotion
from manip_dyn.clik.control.reference import Reference
from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import messages
from manip_dyn.nodes.pacing import PacingStatistics, PeriodStatistics
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

SEND_AGAIN = 1.0
"""Wall time after which an unanswered command is sent again: it may have been lost, s."""


class ArmDriver:
    """Answers every new joint state with one effort command.

    The path's time is that of the stamps of the joint states, so that in lockstep with the
    simulator every run is the same. An arm that is reset, silent for a while, or further from the
    reference than it may be is picked up where it is.

    Attributes:
        origin_ns: Stamp at the reference's time 0.
        problem: What is wrong with the arm or what it says, or nothing.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        reference: Reference,
        values: dict[str, Any],
        begun: Callable[[], None],
        moved: Callable[[int, Vector, Vector], None],
        before_step: Callable[[], None],
    ):
        """Subscribe and publish.

        Args:
            node: The node.
            robot: The arm.
            reference: What its joints are to do.
            values: The node's parameters.
            begun: Called when the path begins, `origin_ns` being set.
            moved: Called with every new stamp and the arm's joints.
            before_step: Called before every step of the reference.
        """
        self._node, self._robot, self._reference, self._values = node, robot, reference, values
        self._begun, self._moved, self._before_step = begun, moved, before_step
        self._period = values["step"]
        self.controller = ComputedTorque(
            robot, values["joint_stiffness"], values["joint_damping"], self._period
        )
        self.paused, self.problem, self.origin_ns = False, "no joint states yet", 0
        self.dropped = self.pick_ups = 0
        self._stamp: int | None = None
        self._heard_at = self._sent_at = time.perf_counter()
        self._arrivals = PeriodStatistics()
        self._effort = np.zeros(robot.n)
        self._limited: set[str] = set()
        self._errors = node.create_publisher(JointState, "~/joint_error", 100)
        self._commands = node.create_publisher(
            Float64MultiArray, values["command_topic"], messages.EVERY_MESSAGE
        )
        # Only the newest state: a queue would be a delay in the loop. Lockstep sends no second
        # one before the first is answered.
        node.create_subscription(
            JointState, "joint_states", self._on_joint_state, messages.NEWEST_ONLY
        )
        node.create_timer(0.1, self._watch)

    # ----------------------------------------------------------------- states
    def _on_joint_state(self, message: JointState) -> None:
        try:
            q = messages.by_name(message, self._robot, "position")
            v = messages.by_name(message, self._robot, "velocity")
        except ManipDynError as error:
            self.dropped += 1
            self._warn(f"dropped: {error}")
            return
        stamp = messages.to_nanoseconds(message.header.stamp)
        now = time.perf_counter()
        if stamp == self._stamp:
            self._heard_at = now
            # Repeated while time stands still.
            if now - self._sent_at > SEND_AGAIN:
                self._send()
            return
        if self._commands.get_subscription_count() == 0:
            self.problem = f"nobody listens on {self._commands.topic_name}"
            return
        if self._stamp is None or stamp < self._stamp:
            self._begin(stamp, q)
        else:
            error = now - self._heard_at - (stamp - self._stamp) * 1e-9
            self._arrivals.add(error)
            self._follow(stamp, q)
        self._heard_at, self._stamp = now, stamp
        self._command(stamp, q, v)
        self._moved(stamp, q, v)

    def _begin(self, stamp: int, q: Vector) -> None:
        """Begin the path with the arm where it is."""
        self._limited.clear()
        self._reference.begin(q, straight=self._values["start_on_path"])
        self._arrivals.begin()
        self._took_up(stamp)

    def restart(self) -> None:
        """Begin anew at the next joint state."""
        self._stamp = None

    def _pick_up(self, stamp: int, q: Vector, reason: str) -> None:
        """Go on from where the arm is: back to the path on a straight line, then along it."""
        self.pick_ups += 1
        self._warn(f"the arm is picked up where it is: {reason}")
        path_time = self._reference.path_time
        self._reference.begin(q, path_time, straight=True)
        self._took_up(stamp)

    def _took_up(self, stamp: int) -> None:
        self._done, self._from_ns, self.problem = 0, stamp, ""
        self._path_begins(stamp)

    def _path_begins(self, stamp: int) -> None:
        if self._reference.on_path:
            self.origin_ns = stamp - round(self._reference.sample.path_time * 1e9)
            self._begun()

    def _follow(self, stamp: int, q: Vector) -> None:
        """Advance the reference to a stamp."""
        steps = round((stamp - self._from_ns) * 1e-9 / self._period) - self._done
        if steps * self._period > max(self._values["state_timeout"], 10.0 * self._period):
            self._pick_up(stamp, q, f"no joint state for {steps * self._period:.3f} s")
            return
        off = np.abs(self._reference.sample.q - q)
        if off.max() > self._values["max_joint_error"]:
            joint = int(off.argmax())
            unit = self._robot.unit(joint)
            name = self._robot.joint_names[joint]
            self._pick_up(stamp, q, f"joint '{name}' was {off[joint]:.3g} {unit} off")
            return
        self._done += steps
        for _ in range(0 if self.paused else steps):
            was_on_path = self._reference.on_path
            self._before_step()
            self._reference.advance()
            if not was_on_path:
                self._path_begins(stamp)

    # --------------------------------------------------------------- commands
    def _command(self, stamp: int, q: Vector, v: Vector) -> None:
        wanted = self._reference.motion
        if self.paused:
            wanted = JointMotion(wanted.q, np.zeros_like(q), np.zeros_like(q))
        efforts = self.controller.efforts(q, v, wanted)
        self._effort = efforts.effort
        self._send()
        self._note(efforts)
        self._joint_error = wanted.q - q
        due = self._done % self._values["publish_every"] == 0
        if due and self._errors.get_subscription_count():
            error = (self._joint_error, wanted.v - v, efforts.effort.tolist())
            self._errors.publish(messages.joint_state(self._robot, stamp, *error))

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._commands.publish(Float64MultiArray(data=self._effort.tolist()))

    def _note(self, efforts: Efforts) -> None:
        for joint in np.flatnonzero(efforts.saturated):
            name = self._robot.joint_names[joint]
            if name not in self._limited:
                self._limited.add(name)
                limit = self._robot.tau_max[joint]
                self._node.get_logger().warning(
                    f"joint '{name}' wants more than its effort limit {limit:g}"
                )

    # ----------------------------------------------------------------- report
    def _watch(self) -> None:
        silence = time.perf_counter() - self._heard_at
        if silence > self._values["state_timeout"]:
            self.problem = f"no joint states for {silence:.1f} s"

    def statistics(self) -> PacingStatistics:
        """Return rate and period errors of the joint states' arrival."""
        return self._arrivals.read()

    def report(self) -> dict[str, Any]:
        """Return named values for /diagnostics."""
        error = np.abs(self._joint_error).max() if self._stamp is not None else 0.0
        return {
            "joint error [rad or m]": float(error),
            "joints that met an effort limit": ", ".join(sorted(self._limited)) or "none",
            "times the arm was picked up": self.pick_ups,
            "on the way to the path": not self._reference.on_path,
        }

    def _warn(self, sentence: str) -> None:
        self._node.get_logger().warning(sentence, throttle_duration_sec=1.0)

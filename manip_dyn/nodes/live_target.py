"""Targets that arrive while the tracker runs: checked, or dropped with one clear warning."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from std_msgs.msg import Header

from manip_dyn.clik.paths.follower import Follower
from manip_dyn.clik.task.pose import UNIT
from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import messages
from manip_dyn.validate import Vector, finite_vector

WARN_AGAIN = 1.0
"""Wall time between two warnings of the same kind, s."""


class LiveTarget:
    """Subscribes to ~/target_pose and ~/target_twist and passes good ones to a follower.

    Attributes:
        dropped: How many messages were dropped.
    """

    def __init__(
        self,
        node: Node,
        follower: Follower,
        frame: str,
        timeout: float,
        lock: RLock,
        ready: Callable[[], bool],
    ):
        """Take the frame of targets, how old, s, they may be, and whether the arm is heard."""
        self.dropped = 0
        self._ready = ready
        self._node, self._follower, self._lock = node, follower, lock
        self._frame, self._timeout = frame, timeout
        self._warned: dict[tuple[str, str], float] = {}
        self._new_path()
        node.create_subscription(PoseStamped, "~/target_pose", self._on_pose, 10)
        node.create_subscription(TwistStamped, "~/target_twist", self._on_twist, 10)

    def _new_path(self) -> None:
        self._now, self._pose_at, self._twist_at = 0.0, -np.inf, -np.inf

    # ------------------------------------------------------------------- time
    def at(self, t: float) -> None:
        """Tell the path time, s; lets a twist without news end."""
        if t < self._now:
            self._new_path()
        self._now = t
        moving = self._follower.goal_twist.any()
        if moving and t - self._twist_at > self._timeout:
            self.halt()
            self._node.get_logger().warning(
                f"no target twist for {self._timeout:g} s: the target halts"
            )

    def halt(self) -> None:
        """Let the goal stay where it is."""
        self._follower.drift(np.zeros(6))

    # --------------------------------------------------------------- messages
    def _on_pose(self, message: PoseStamped) -> None:
        p, o = message.pose.position, message.pose.orientation
        self._take(message.header, "pose", [p.x, p.y, p.z, o.x, o.y, o.z, o.w], self._aim)

    def _on_twist(self, message: TwistStamped) -> None:
        v, w = message.twist.linear, message.twist.angular
        self._take(message.header, "twist", [v.x, v.y, v.z, w.x, w.y, w.z], self._drift)

    def _take(self, header: Header, what: str, numbers: list[float], use: Any) -> None:
        problem, sentence = self._problem(header, numbers)
        if not problem:
            with self._lock:
                use(finite_vector(what, numbers, len(numbers)))
            return
        self.dropped += 1
        now = time.monotonic()
        if now - self._warned.get((what, problem), -np.inf) >= WARN_AGAIN:
            self._warned[what, problem] = now
            self._node.get_logger().warning(f"dropped: target {what} {sentence}")

    def _aim(self, numbers: Vector) -> None:
        self._pose_at = self._now
        self._follower.aim((numbers[:3], numbers[3:]))

    def _drift(self, twist: Vector) -> None:
        follower = self._follower
        steering = self._now - self._pose_at > self._timeout
        if steering and twist.any() and not follower.goal_twist.any():
            # A twist on its own moves the tool on from where it is sent now.
            follower.aim(follower.pose(self._now))
        self._twist_at = self._now
        follower.drift(twist)

    # ----------------------------------------------------------------- checks
    def _problem(self, header: Header, numbers: list[float]) -> tuple[str, str]:
        """Return kind and description of what is wrong, or two empty strings."""
        if not self._ready():
            return "early", "came before any joint state; expected the arm to be heard"
        try:
            finite_vector("numbers", numbers, len(numbers))
        except ManipDynError:
            return "numbers", f"is {numbers}; expected finite numbers"
        if header.frame_id not in ("", self._frame):
            return "frame", f"has frame_id '{header.frame_id}'; expected '{self._frame}'"
        age = self._age(header)
        if abs(age) > self._timeout:
            side = "old" if age > 0.0 else "ahead"
            return "stamp", (
                f"is {abs(age):.3f} s {side}; expected at most {self._timeout:g} s "
                "(command_timeout), or a zero stamp"
            )
        length = float(np.linalg.norm(numbers[3:])) if len(numbers) == 7 else 1.0
        if abs(length - 1.0) > UNIT:
            return "quaternion", f"has a quaternion of length {length:.4g}; expected 1"
        return "", ""

    def _age(self, header: Header) -> float:
        stamp = messages.to_nanoseconds(header.stamp)
        return (self._node.get_clock().now().nanoseconds - stamp) * 1e-9 if stamp else 0.0

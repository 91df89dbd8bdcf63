"""What is wrong with a target, in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header

from manip_dyn.clik.law.poses import UNIT
from manip_dyn.ros.frames import RobotFrames
from manip_dyn.ros.messages.stamps import to_nanoseconds


class TargetChecks:
    """Checks headers and numbers of targets.

    Attributes:
        base: Name of the base frame.
        timeout: How old or how far ahead a stamp may be, s.
        early: Returns why no target can be taken yet, or nothing.
        origin_ns: Stamp of the path's begin: what was sent before it is not for it.
    """

    def __init__(self, node: Node, base: str, timeout: float, early: Callable[[], str]):
        """Take the node whose clock tells how old a target is."""
        self._node, self.base, self.timeout, self.early = node, base, timeout, early
        self.origin_ns = 0

    def __call__(
        self, header: Header, numbers: list[float], frames: RobotFrames
    ) -> tuple[str, str]:
        """Return kind and description of what is wrong, or two empty strings."""
        early = self.early()
        if early:
            return "early", f"came {early}"
        if not np.isfinite(numbers).all():
            return "numbers", f"is {numbers}; expected finite numbers"
        unknown = frames.problem(header.frame_id)
        if unknown:
            return "frame", unknown
        stale = self._stale(to_nanoseconds(header.stamp))
        if stale:
            return "stamp", stale
        length = float(np.linalg.norm(numbers[3:])) if len(numbers) == 7 else 1.0
        if abs(length - 1.0) > UNIT:
            return "quaternion", f"has a quaternion of length {length:.4g}; expected 1"
        return "", ""

    def _stale(self, stamp: int) -> str:
        if not stamp:
            return ""
        age = (self._node.get_clock().now().nanoseconds - stamp) * 1e-9
        if abs(age) > self.timeout:
            side = "old" if age > 0.0 else "ahead"
            return (
                f"is {abs(age):.3f} s {side}; expected at most {self.timeout:g} s "
                "(command_timeout), or a zero stamp"
            )
        before = (self.origin_ns - stamp) * 1e-9
        if before > 0.0:
            return f"was sent {before:.3f} s before the path began; expected one for this path"
        return ""

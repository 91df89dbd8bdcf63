"""Targets of the tracker from topics and an interactive marker, and their checks."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from std_msgs.msg import Header

from manip_dyn import clik
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.core.checks import Vector
from manip_dyn.ros.messages.geometry import (
    pose_numbers,
    rotation_matrices,
    to_nanoseconds,
    twist_numbers,
)
from manip_dyn.ros.runtime.execution import create_wall_timer
from manip_dyn.ros.targets import InteractivePoseMarker, RobotFrames


class TargetChecks:
    """Checks the headers and numbers of targets.

    Attributes:
        base: Name of the base frame.
        timeout: Largest difference of a stamp from the current time, s. `LiveTarget` also ends
            twists after this time.
        early: Returns why targets are not accepted yet, or "".
        origin_ns: Stamp of the start of the path, ns. Targets with earlier stamps are rejected.
    """

    def __init__(self, node: Node, base: str, timeout: float, early: Callable[[], str]):
        """Store the conditions. The age of a target is measured with the node's clock."""
        self._node, self.base, self.timeout, self.early = node, base, timeout, early
        self.origin_ns = 0

    def __call__(
        self, header: Header, numbers: list[float], frames: RobotFrames
    ) -> tuple[str, str]:
        """Return the kind and the description of an error, or two empty strings."""
        early = self.early()
        if early:
            return "early", f"came {early}"
        if not np.isfinite(numbers).all():
            return "numbers", f"must be finite, got {numbers}."
        unknown = frames.problem(header.frame_id)
        if unknown:
            return "frame", unknown
        stale = self._stale(to_nanoseconds(header.stamp))
        if stale:
            return "stamp", stale
        length = float(np.linalg.norm(numbers[3:])) if len(numbers) == 7 else 1.0
        if abs(length - 1.0) > UNIT:
            return "quaternion", f"must have a quaternion of length 1, got {length:.4g}."
        return "", ""

    def _stale(self, stamp: int) -> str:
        if not stamp:
            return ""
        age = (self._node.get_clock().now().nanoseconds - stamp) * 1e-9
        if abs(age) > self.timeout:
            side = "old" if age > 0.0 else "ahead"
            return (
                f"must have a zero stamp or one within {self.timeout:g} s (command_timeout) of "
                f"now, got one {abs(age):.3f} s {side}."
            )
        before = (self.origin_ns - stamp) * 1e-9
        if before > 0.0:
            return f"must be sent after the path began, got a stamp {before:.3f} s before."
        return ""


WARN_AGAIN = 1.0
"""Wall time between warnings of the same kind, s."""
MARKER_PERIOD = 0.2
"""Wall time between updates of the marker, s."""


class LiveTarget:
    """Passes valid targets from ~/target_pose and ~/target_twist to a `SmoothTarget`.

    The interactive marker ~/target shows the goal. Dragging the marker moves the goal.

    Attributes:
        dropped: Number of dropped messages.
    """

    def __init__(
        self,
        node: Node,
        follower: SmoothTarget,
        frames: RobotFrames,
        checks: TargetChecks,
        lock: RLock,
        positions: Callable[[], Vector],
    ):
        """Subscribe. `lock` guards `follower`; `positions` returns the joint positions (n,)."""
        self.dropped = 0
        self._node, self._follower, self._lock = node, follower, lock
        self._frames, self._checks, self._positions = frames, checks, positions
        self._warned: dict[tuple[str, str], float] = {}
        self._new_path()
        node.create_subscription(PoseStamped, "~/target_pose", self._on_pose, 10)
        node.create_subscription(TwistStamped, "~/target_twist", self._on_twist, 10)
        self._marker = InteractivePoseMarker(node, "target", checks.base, "Target", self._on_drag)
        create_wall_timer(node, MARKER_PERIOD, self._place_marker)

    def _new_path(self) -> None:
        self._now, self._pose_at, self._twist_at = 0.0, -np.inf, -np.inf
        self._twist, self._twist_frame = np.zeros(6), ""

    # ------------------------------------------------------------------- time
    def begin(self, origin_ns: int) -> None:
        """Begin a path at the stamp `origin_ns`. Targets with earlier stamps are dropped."""
        self._checks.origin_ns = origin_ns

    def at(self, t: float) -> None:
        """Advance to path time `t`, s.

        The goal's twist rotates with its frame and ends after the timeout. If time goes back, the
        previous targets are discarded.
        """
        if t < self._now:
            self._new_path()
        self._now = t
        if not self._follower.goal_twist.any():
            return
        if t - self._twist_at > self._checks.timeout:
            self.halt()
            self._node.get_logger().warning(
                f"no target twist for {self._checks.timeout:g} s: the target halts"
            )
        elif self._frames.moves(self._twist_frame):
            self._follower.drift(self._in_base())

    def halt(self) -> None:
        """Set the twist of the goal to zero."""
        self._follower.drift(np.zeros(6))

    # --------------------------------------------------------------- messages
    def _on_pose(self, message: PoseStamped) -> None:
        self._accept(message.header, "pose", pose_numbers(message.pose), self._aim)

    def _on_twist(self, message: TwistStamped) -> None:
        self._accept(message.header, "twist", twist_numbers(message.twist), self._drift)

    def _on_drag(self, message: PoseStamped) -> None:
        self._accept(message.header, "marker", pose_numbers(message.pose), self._aim)

    def _accept(
        self, header: Header, kind: str, numbers: list[float], use: Callable[[str, Vector], None]
    ) -> None:
        with self._lock:
            problem, sentence = self._checks(header, numbers, self._frames)
            if not problem:
                use(header.frame_id, np.array(numbers))
                return
        self.dropped += 1
        now = time.monotonic()
        if now - self._warned.get((kind, problem), -np.inf) >= WARN_AGAIN:
            self._warned[kind, problem] = now
            self._node.get_logger().warning(f"dropped: target {kind} {sentence}")

    def _aim(self, frame: str, numbers: Vector) -> None:
        self._pose_at = self._now
        pose = clik.Pose(numbers[:3], rotation_matrices(numbers[3:]))
        self._follower.aim(self._frames.pose(frame, self._positions(), pose))

    def _drift(self, frame: str, twist: Vector) -> None:
        follower = self._follower
        steering = self._now - self._pose_at > self._checks.timeout
        if steering and twist.any() and not follower.goal_twist.any():
            # A twist without a recent pose moves the goal from the current pose of the path.
            follower.aim(follower.pose(self._now))
        self._twist_at, self._twist, self._twist_frame = self._now, twist, frame
        follower.drift(self._in_base())

    def _in_base(self) -> Vector:
        return self._frames.twist(self._twist_frame, self._positions(), self._twist)

    def _place_marker(self) -> None:
        with self._lock:
            if not self._checks.early():
                self._marker.place(self._follower.goal)

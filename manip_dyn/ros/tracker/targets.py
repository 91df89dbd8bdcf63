"""Targets of the tracker: subscriptions and checks."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from std_msgs.msg import Header

from manip_dyn import clik
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.core.checks import Vector
from manip_dyn.ros.messages.geometry import pose_numbers, to_nanoseconds, twist_numbers
from manip_dyn.ros.runtime.execution import create_wall_timer
from manip_dyn.ros.targets import InteractivePoseMarker, RobotFrames


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


WARN_AGAIN = 1.0
"""Wall time between two warnings of the same kind, s."""
MARKER_PERIOD = 0.2
"""Wall time between looks whether the marker is where the goal is, s."""


class LiveTarget:
    """Subscribes to ~/target_pose and ~/target_twist and passes good ones to a follower.

    The interactive marker ~/target is where the goal is, and moves it when it is dragged.

    Attributes:
        dropped: How many messages were dropped.
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
        """Take what is moved, the frames and checks of targets, and where the joints are."""
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
        """Begin with the path, whose time 0 has a stamp: what was sent before is not for it."""
        self._checks.origin_ns = origin_ns

    def at(self, t: float) -> None:
        """Tell the path time, s; turns a twist with its frame, lets one without news end."""
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
        """Let the goal stay where it is."""
        self._follower.drift(np.zeros(6))

    # --------------------------------------------------------------- messages
    def _on_pose(self, message: PoseStamped) -> None:
        self._take(message.header, "pose", pose_numbers(message.pose), self._aim)

    def _on_twist(self, message: TwistStamped) -> None:
        self._take(message.header, "twist", twist_numbers(message.twist), self._drift)

    def _on_drag(self, message: PoseStamped) -> None:
        self._take(message.header, "marker", pose_numbers(message.pose), self._aim)

    def _take(
        self, header: Header, what: str, numbers: list[float], use: Callable[[str, Vector], None]
    ) -> None:
        with self._lock:
            problem, sentence = self._checks(header, numbers, self._frames)
            if not problem:
                use(header.frame_id, np.array(numbers))
                return
        self.dropped += 1
        now = time.monotonic()
        if now - self._warned.get((what, problem), -np.inf) >= WARN_AGAIN:
            self._warned[what, problem] = now
            self._node.get_logger().warning(f"dropped: target {what} {sentence}")

    def _aim(self, frame: str, numbers: Vector) -> None:
        self._pose_at = self._now
        given = clik.Pose(numbers[:3], Rotation.from_quat(numbers[3:]).as_matrix())
        self._follower.aim(self._frames.pose(frame, self._positions(), given))

    def _drift(self, frame: str, twist: Vector) -> None:
        follower = self._follower
        steering = self._now - self._pose_at > self._checks.timeout
        if steering and twist.any() and not follower.goal_twist.any():
            # A twist on its own moves the tool on from where it is sent now.
            follower.aim(follower.pose(self._now))
        self._twist_at, self._twist, self._twist_frame = self._now, twist, frame
        follower.drift(self._in_base())

    def _in_base(self) -> Vector:
        return self._frames.twist(self._twist_frame, self._positions(), self._twist)

    def _place_marker(self) -> None:
        with self._lock:
            if not self._checks.early():
                self._marker.place(self._follower.goal)

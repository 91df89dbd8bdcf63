"""What the viewer hears of a robot, kept until the page asks: always the newest, never a queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_numbers, twist_numbers
from manip_dyn.ros.messages.joints import by_name
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.ros.runtime.own_subscription import OwnSubscription
from manip_dyn.ros.runtime.run import unless_shut_down
from manip_dyn.viewer.motions.robot import joint_scopes
from manip_dyn.viewer.scene import Level, Scope, Snapshot

NEWEST = QoSProfile(
    depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""What is missed is never sent again: nobody waits for the viewer."""
ENERGY, ERROR = "energy [J]", "error of the tool [m, rad]"


class HeardRobot:
    """The newest of joint states, energies, errors, paths.

    What comes a thousand times a second is taken when somebody asks, and only its newest message:
    an executor that is woken by each of them takes a third of a core.
    """

    def __init__(self, node: Node):
        """Subscribe."""
        self._node = node
        self._robot: Robot | None = None
        self._lock, self._taking = threading.Lock(), threading.Lock()
        self._origin_ns: int | None = None
        self._t = 0.0
        self._q: Vector | None = None
        self._values: dict[str, Vector] = {}
        self._lines: dict[str, Matrix] = {}
        self._sent: tuple[Vector, Vector] | None = None
        self._scopes: list[Scope] = []
        self._often = [
            OwnSubscription(node, kind, topic, call, NEWEST)
            for kind, topic, call in (
                (JointState, "joint_states", self._on_joints),
                (Float64MultiArray, "simulator/energy", self._on_energy),
                (PoseStamped, "clik_tracker/desired_pose", self._on_pose),
                (TwistStamped, "clik_tracker/error", self._on_error),
            )
        ]
        hear = node.create_subscription
        hear(Path, "clik_tracker/desired_path", self._path("desired path"), LATCHED)
        hear(Path, "clik_tracker/actual_path", self._path("actual path"), NEWEST)

    def know(self, robot: Robot) -> None:
        """Take the robot whose joints are heard."""
        with self._lock:
            self._scopes, self._robot = joint_scopes(robot), robot

    def scopes(self) -> list[Scope]:
        """Return what is plotted."""
        none = np.full(3, np.inf)
        return [
            *self._scopes,
            Scope(ENERGY, ("kinetic", "potential", "work of efforts"), -none, none),
            Scope(ERROR, ("position", "orientation"), -none[:2], none[:2]),
        ]

    def draw(self, name: str, points: Matrix) -> None:
        """Show a line through points (m, 3), m, under a name from now on."""
        with self._lock:
            self._lines[name] = points

    def newest(self) -> Snapshot | None:
        """Return what is known now; None before the first joint state."""
        unless_shut_down(self._node, self._take)
        with self._lock:
            if self._q is None:
                return None
            return Snapshot(
                self._t, self._q, dict(self._values), dict(self._lines), (), self._sent
            )

    def _take(self) -> None:
        """Take what has come, from whichever thread asks."""
        with self._taking:
            for each in self._often:
                each.take()

    def _on_joints(self, message: JointState, _info: Any) -> None:
        stamp, robot = to_nanoseconds(message.header.stamp), self._robot
        if robot is None:
            return
        try:
            found = [
                by_name(message, robot, field) if getattr(message, field) else None
                for field in ("position", "velocity", "effort")
            ]
        except ManipDynError:
            return  # of other joints
        if found[0] is None:
            return
        with self._lock:
            if self._origin_ns is None or stamp < self._origin_ns:
                self._origin_ns = stamp
            self._t, self._q = (stamp - self._origin_ns) * 1e-9, found[0]
            for scope, values in zip(self._scopes, found, strict=True):
                if values is not None:
                    self._values[scope.title] = values

    def _on_energy(self, message: Float64MultiArray, _info: Any) -> None:
        with self._lock:
            self._values[ENERGY] = np.array(message.data[:3])

    def _on_error(self, message: TwistStamped, _info: Any) -> None:
        error = np.array(twist_numbers(message.twist))
        with self._lock:
            self._values[ERROR] = np.array([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])

    def _on_pose(self, message: PoseStamped, _info: Any) -> None:
        numbers = np.array(pose_numbers(message.pose))
        with self._lock:
            self._sent = numbers[:3], numbers[[6, 3, 4, 5]]

    def _path(self, name: str) -> Callable[[Path], None]:
        def take(message: Path) -> None:
            points = np.array([pose_numbers(each.pose)[:3] for each in message.poses])
            self.draw(name, points.reshape(-1, 3))

        return take


class HeardLevels:
    """What /diagnostics says of the nodes in a namespace."""

    def __init__(self, node: Node):
        """Subscribe."""
        self._space = node.get_namespace().strip("/")
        self._found: dict[str, tuple[int, str]] = {}
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_array, 20)

    def __call__(self) -> tuple[Level, ...]:
        """Return the newest levels by name."""
        return tuple(Level(name, *said) for name, said in sorted(self._found.items()))

    def _on_array(self, message: DiagnosticArray) -> None:
        for status in message.status:
            space, _, name = status.name.strip("/").rpartition("/")
            if space == self._space:
                self._found[name] = (status.level[0], status.message)

"""Subscriptions of the viewer to the topics of a robot or mechanism in its namespace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import (
    pose_numbers,
    rotation_matrices,
    to_nanoseconds,
    twist_numbers,
)
from manip_dyn.ros.messages.joints import in_joint_order
from manip_dyn.ros.messages.trajectories import schedule_from
from manip_dyn.ros.runtime.execution import unless_shut_down
from manip_dyn.ros.runtime.subscriptions import LATCHED, PolledSubscription
from manip_dyn.ros.scene_markers import CLOSEST, DISTANCE, KINDS
from manip_dyn.simulation import simulate
from manip_dyn.viewer.figures import robot_figure, robot_poses
from manip_dyn.viewer.motions import joint_scopes, trail
from manip_dyn.viewer.scene import (
    Closest,
    Figure,
    Level,
    Part,
    Poses,
    Rod,
    Scope,
    Snapshot,
)

NEWEST_BEST_EFFORT = QoSProfile(
    depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""The newest message, best effort: publishers never wait for the viewer."""
ENERGY, ERROR = "energy [J]", "error of the tool [m, rad]"


class RobotSubscriptions:
    """The newest joint states, energies, errors and paths.

    `newest` polls the fast topics, with a queue of one message. At 1000 messages per second, an
    executor would need a third of a core, because it wakes for each message.
    """

    def __init__(self, node: Node):
        """Subscribe."""
        self._node = node
        self._robot: Robot | None = None
        self._lock, self._polling = threading.Lock(), threading.Lock()
        self._origin_ns: int | None = None
        self._t = 0.0
        self._q: Vector | None = None
        self._values: dict[str, Vector] = {}
        self._lines: dict[str, Matrix] = {}
        self._desired: tuple[Vector, Vector] | None = None
        self._scopes: list[Scope] = []
        self._polled = [
            PolledSubscription(node, kind, topic, call, NEWEST_BEST_EFFORT)
            for kind, topic, call in (
                (JointState, "joint_states", self._on_joints),
                (Float64MultiArray, "simulator/energy", self._on_energy),
                (PoseStamped, "clik_tracker/desired_pose", self._on_pose),
                (TwistStamped, "clik_tracker/error", self._on_error),
            )
        ]
        subscribe = node.create_subscription
        subscribe(Path, "clik_tracker/desired_path", self._path("desired path"), LATCHED)
        subscribe(Path, "clik_tracker/actual_path", self._path("actual path"), NEWEST_BEST_EFFORT)

    def use(self, robot: Robot) -> None:
        """Accept joint states of `robot`."""
        with self._lock:
            self._scopes, self._robot = joint_scopes(robot), robot

    def scopes(self) -> list[Scope]:
        """Return the plots: joint states, energy and tracking error."""
        unlimited = np.full(3, np.inf)
        return [
            *self._scopes,
            Scope(ENERGY, ("kinetic", "potential", "work of efforts"), -unlimited, unlimited),
            Scope(ERROR, ("position", "orientation"), -unlimited[:2], unlimited[:2]),
        ]

    def draw(self, name: str, points: Matrix) -> None:
        """Draw a line through `points` (m, 3), m. It replaces the line with the same name."""
        with self._lock:
            self._lines[name] = points

    def newest(self) -> Snapshot | None:
        """Return the newest received state, or None before the first joint state of the robot."""
        unless_shut_down(self._node, self._poll)
        with self._lock:
            if self._q is None:
                return None
            return Snapshot(
                self._t, self._q, dict(self._values), dict(self._lines), (), self._desired
            )

    def _poll(self) -> None:
        with self._polling:
            for subscription in self._polled:
                subscription.take()

    def _on_joints(self, message: JointState, _info: Any) -> None:
        stamp, robot = to_nanoseconds(message.header.stamp), self._robot
        if robot is None:
            return
        try:
            state = [
                in_joint_order(message, robot, field) if getattr(message, field) else None
                for field in ("position", "velocity", "effort")
            ]
        except ManipDynError:
            return  # the message is for another robot
        if state[0] is None:
            return
        with self._lock:
            if self._origin_ns is None or stamp < self._origin_ns:
                self._origin_ns = stamp
            self._t, self._q = (stamp - self._origin_ns) * 1e-9, state[0]
            for scope, values in zip(self._scopes, state, strict=True):
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
            self._desired = numbers[:3], numbers[[6, 3, 4, 5]]

    def _path(self, name: str) -> Callable[[Path], None]:
        def callback(message: Path) -> None:
            points = np.array([pose_numbers(stamped.pose)[:3] for stamped in message.poses])
            self.draw(name, points.reshape(-1, 3))

        return callback


class DiagnosticsSubscription:
    """The newest diagnostics of the nodes in the viewer's namespace."""

    def __init__(self, node: Node):
        """Subscribe."""
        self._namespace = node.get_namespace().strip("/")
        self._newest: dict[str, tuple[int, str]] = {}
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_array, 20)

    def __call__(self) -> tuple[Level, ...]:
        """Return the level and message of each node, sorted by node name."""
        return tuple(Level(name, *newest) for name, newest in sorted(self._newest.items()))

    def _on_array(self, message: DiagnosticArray) -> None:
        for status in message.status:
            namespace, _, name = status.name.strip("/").rpartition("/")
            if namespace == self._namespace:
                self._newest[name] = (status.level[0], status.message)


LONGEST_PLAN = 60.0
"""Longest duration of a plan that is drawn, s."""


class PlanSubscription:
    """Draws each plan. A thread simulates it, because kernels may have to be compiled first."""

    def __init__(
        self, node: Node, positions: Callable[[], Vector | None], draw: Callable[[Matrix], None]
    ):
        """Subscribe.

        Args:
            node: The node.
            positions: Returns the joint positions (n,), or None before the first joint state.
            draw: Called with the path of the tool (m, 3), m.
        """
        self._positions, self._draw = positions, draw
        self._robot: Robot | None = None
        node.create_subscription(JointTrajectory, "bang_bang_planner/plan", self._on_plan, LATCHED)

    def use(self, robot: Robot) -> None:
        """Accept plans for a robot."""
        self._robot = robot

    def _on_plan(self, message: JointTrajectory) -> None:
        robot, q = self._robot, self._positions()
        if robot is not None and q is not None:
            threading.Thread(target=self._follow, args=(robot, q, message), daemon=True).start()

    def _follow(self, robot: Robot, q: Vector, message: JointTrajectory) -> None:
        try:
            points = planned_trail(robot, q, message)
        except ManipDynError:
            return  # the plan is for another arm
        self._draw(points)


def planned_trail(robot: Robot, q: Vector, message: JointTrajectory) -> Matrix:
    """Return the tool path (m, 3), m, for the efforts of a plan from rest at q (n,).

    The path is empty if the duration of the plan is 0 or exceeds `LONGEST_PLAN`.
    """
    stamp = to_nanoseconds(message.header.stamp)
    schedule, _end = schedule_from(message, robot, stamp, 0)
    duration = 1e-9 * schedule.times_ns[-1]
    if not 0.0 < duration <= LONGEST_PLAN:
        return np.zeros((0, 3))
    simulation = simulate(robot, q, np.zeros(robot.n), schedule, duration)
    return trail(robot_figure(robot), simulation.q)


MARKER_SHAPES = {number: kind for kind, number in KINDS.items() if kind != "mesh"}
"""Kinds of the parts of mechanisms by type of the marker."""


class MarkerSubscription:
    """The newest markers of a mechanism.

    The viewer draws their shapes once, as a `Figure`, and then moves them by `Snapshot`s, in which
    the poses of the markers take the place of joint positions.
    """

    def __init__(self, node: Node):
        """Subscribe."""
        self._lock = threading.Lock()
        self._newest: MarkerArray | None = None
        self._origin_ns: int | None = None
        node.create_subscription(
            MarkerArray, "mechanism/markers", self._on_markers, NEWEST_BEST_EFFORT
        )

    def figure(self) -> Figure | None:
        """Return the figure of the markers, or None before the first message."""
        with self._lock:
            return None if self._newest is None else figure_of(self._newest.markers)

    def newest(self) -> Snapshot | None:
        """Return the newest marker poses, or None before the first message."""
        with self._lock:
            if self._newest is None:
                return None
            markers = self._newest.markers
        stamp = to_nanoseconds(markers[0].header.stamp)
        if self._origin_ns is None or stamp < self._origin_ns:
            self._origin_ns = stamp
        return Snapshot((stamp - self._origin_ns) * 1e-9, marker_coordinates(markers))

    def _on_markers(self, message: MarkerArray) -> None:
        if message.markers:
            with self._lock:
                self._newest = message


class SceneSubscription:
    """The newest markers of the scenes of planners and trackers."""

    def __init__(self, node: Node):
        """Subscribe."""
        self._lock = threading.Lock()
        self._robot: Robot | None = None
        self._objects: dict[str, list[Marker]] = {}
        self._closest: dict[str, Closest | None] = {}
        self._figure: Figure | None = None
        for owner in ("bang_bang_planner", "clik_tracker"):
            topic = f"{owner}/scene_markers"
            callback = partial(self._on_markers, owner)
            node.create_subscription(MarkerArray, topic, callback, LATCHED)

    def use(self, robot: Robot) -> None:
        """Draw the objects around a robot, or attached to its links."""
        with self._lock:
            self._robot = robot
            self._update()

    def newest(self) -> tuple[Figure | None, Closest | None]:
        """Return the objects of all scenes, or None without a scene, and the closest pair."""
        with self._lock:
            return self._figure, next(filter(None, self._closest.values()), None)

    def _on_markers(self, owner: str, message: MarkerArray) -> None:
        markers = [marker for marker in message.markers if marker.action == Marker.ADD]
        objects = [m for m in markers if m.ns not in (CLOSEST, DISTANCE)]
        with self._lock:
            self._closest[owner] = closest_of(markers)
            if objects != self._objects.get(owner):
                self._objects[owner] = objects
                self._update()

    def _update(self) -> None:
        if self._robot is not None and self._objects:
            markers = [marker for entries in self._objects.values() for marker in entries]
            self._figure = obstacles_of(markers, self._robot)


def obstacles_of(markers: list[Marker], robot: Robot) -> Figure:
    """Return the objects of a scene as a figure with the coordinates of a robot.

    Objects in frames that are no links of the robot are omitted.
    """
    kinds = {marker_type: kind for kind, marker_type in KINDS.items()}
    parts = []
    for marker in markers:
        with suppress(ManipDynError):
            frame = robot.frame(marker.header.frame_id)
            numbers = np.array(pose_numbers(marker.pose))
            corners = np.array([[c.x, c.y, c.z] for c in marker.points]).reshape(-1, 3)
            parts.append(
                Part(
                    frame.body,
                    kinds[marker.type],
                    frame.translation + frame.rotation @ numbers[:3],
                    frame.rotation @ rotation_matrices(numbers[3:]),
                    np.array([marker.scale.x, marker.scale.y, marker.scale.z]),
                    _colour(marker),
                    marker.color.a,
                    triangles=(corners, np.arange(len(corners)).reshape(-1, 3)),
                )
            )
    return Figure("scene", tuple(parts), robot_poses(robot), 1.0)


def closest_of(markers: list[Marker]) -> Closest | None:
    """Return the closest pair of the markers of a scene, or None if there is none."""
    lines = [marker for marker in markers if marker.ns == CLOSEST and marker.points]
    texts = [marker.text for marker in markers if marker.ns == DISTANCE]
    if not lines or not texts:
        return None
    points = np.array([[end.x, end.y, end.z] for end in lines[-1].points])
    return Closest(points, texts[-1], lines[-1].color.g > lines[-1].color.r)


def figure_of(markers: list[Marker]) -> Figure:
    """Return a figure with one body per shape and one body per end point of a line."""
    parts, rods = [], []
    for body, marker in enumerate(_solid(markers)):
        size = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
        kind = MARKER_SHAPES[marker.type]
        parts.append(
            Part(body, kind, np.zeros(3), np.eye(3), size, _colour(marker), marker.color.a)
        )
    body = len(parts)
    for marker in _lines(markers):
        for _ in range(len(marker.points) // 2):
            rods.append(Rod((body, body + 1), np.zeros((2, 3)), _colour(marker)))
            body += 2
    rows = marker_coordinates(markers).reshape(-1, 7)
    spread = float(np.ptp(rows[:, :3], axis=0).max()) if len(rows) else 1.0
    return Figure("mechanism", tuple(parts), _poses, max(spread, 0.1), rods=tuple(rods))


def marker_coordinates(markers: list[Marker]) -> Vector:
    """Return the poses of all shapes, then of all line end points, as one vector (7 k,).

    A pose has seven numbers: position x, y, z and quaternion x, y, z, w.
    """
    rows = [pose_numbers(marker.pose) for marker in _solid(markers)]
    for marker in _lines(markers):
        rows += [[end.x, end.y, end.z, 0.0, 0.0, 0.0, 1.0] for end in marker.points]
    return np.array(rows).ravel()


def _poses(numbers: Vector) -> Poses:
    rows = numbers.reshape(-1, 7)
    return Poses(rows[:, :3], rows[:, [6, 3, 4, 5]])


def _solid(markers: list[Marker]) -> list[Marker]:
    return [marker for marker in markers if marker.type in MARKER_SHAPES]


def _lines(markers: list[Marker]) -> list[Marker]:
    return [marker for marker in markers if marker.type == Marker.LINE_LIST]


def _colour(marker: Marker) -> tuple[int, int, int]:
    color = marker.color
    return round(255 * color.r), round(255 * color.g), round(255 * color.b)

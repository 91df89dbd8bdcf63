"""Scenes from messages of MoveIt: PlanningScene, CollisionObject, AttachedCollisionObject.

The operations have the meaning of MoveIt's planning scene (moveit2, planning_scene.cpp). The
package moveit_msgs is not required: messages are read by their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.clik import Pose
from manip_dyn.clik.law.poses import UNIT
from manip_dyn.collision import Box, Cylinder, HalfSpace, Mesh, Scene, Sphere, collision_model
from manip_dyn.collision.pairs import pair_arrays
from manip_dyn.collision.shapes import Shape, rotation_from_rpy, rpy_from_rotation
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_numbers, rotation_matrices
from manip_dyn.ros.targets import RobotFrames

ADD, REMOVE, APPEND, MOVE = range(4)
"""Operations of moveit_msgs/CollisionObject."""
BOX, SPHERE, CYLINDER = 1, 2, 3
"""Types of shape_msgs/SolidPrimitive."""
ORIGIN = Pose(np.zeros(3), np.eye(3))


class Group(NamedTuple):
    """The shapes of a collision object.

    Attributes:
        link: Name of the link to which it is attached, or None.
        pose: Pose of the object's frame in the frame of the link or the base.
        shapes: Shapes with their poses in the object's frame.
        padding: Padding of the shapes, m.
        allowed: Names of links and objects that it may touch.
        mass: Mass, kg.
    """

    link: str | None
    pose: Pose
    shapes: tuple[tuple[Shape, Pose], ...]
    padding: float = 0.0
    allowed: tuple[str, ...] = ()
    mass: float = 0.0


class MoveItScene:
    """Scene that messages of MoveIt replace or change.

    An object with several shapes becomes the objects ``ID/0``, ``ID/1``, ... of the scene. A plane
    becomes a half-space: the points against its normal are occupied. A mesh is the surface of its
    triangles. Weights of attached objects become masses. Colours, subframes, types, joint
    positions and allowed collisions between links are ignored.

    Attributes:
        scene: The current scene.
    """

    def __init__(self, robot: Robot, scene: Scene | None = None):
        """Start with a scene, whose objects messages may remove or move. Default: empty."""
        self.scene = scene or Scene()
        self._robot, self._frames = robot, RobotFrames(robot, robot.base)
        self._fixed = dict[str, Pose]()
        self._padding = dict(self.scene.link_padding)
        self._may_touch: Callable[[str, str], bool] = lambda _first, _second: False
        self._q: Vector | None = None
        self._groups = dict[str, Group]()
        for name, entry in self.scene.objects.items():
            pose, shapes = Pose(entry.position, entry.rotation), ((entry.shape, ORIGIN),)
            rest = entry.padding, entry.allowed, entry.mass
            self._groups[name] = Group(entry.link, pose, shapes, *rest)

    def update(self, message: Any, q: Vector | None = None) -> Scene:
        """Apply a message and return the scene.

        If the message changes no object, the scene is the same Python object as before.

        Args:
            message: A PlanningScene, CollisionObject or AttachedCollisionObject of moveit_msgs.
            q: Joint positions (n,) of the arm. They are required for poses in the frame of a
                moving link, and for an object that is attached or detached where it is.

        Raises:
            ManipDynError: If the message is invalid, or has content that a scene lacks: octomaps,
                cones, prisms or scaled links. The scene is then unchanged.
        """
        draft = copy(self)
        draft._groups, draft._fixed, draft._q = dict(self._groups), dict(self._fixed), q
        if hasattr(message, "world"):
            draft._planning_scene(message)
        elif hasattr(message, "object"):
            draft._attached_object(message)
        else:
            draft._world_object(message)
        scene = draft._scene()
        if scene != self.scene:
            pair_arrays(collision_model(self._robot, scene))  # raises for unknown links
            draft.scene = scene
        vars(self).update(vars(draft))
        return self.scene

    def _scene(self) -> Scene:
        names = {key: _names(key, group) for key, group in self._groups.items()}
        scene, owners = Scene(link_padding=self._padding), {*self._robot.link_names, *names}
        for key, group in self._groups.items():
            others = owners - {key}
            touching = {n for n in others if n in group.allowed or self._may_touch(key, n)}
            allowed = sorted(name for n in touching for name in names.get(n, [n]))
            volumes = [_volume(shape) for shape, _ in group.shapes]
            for name, (shape, pose), volume in zip(names[key], group.shapes, volumes, strict=True):
                position, rotation = _product(group.pose, pose)
                scene = scene.add(
                    name,
                    shape,
                    position,
                    rpy_from_rotation(rotation),
                    group.link,
                    group.padding,
                    allowed,
                    group.mass and group.mass * volume / sum(volumes),
                )
        return scene

    def _planning_scene(self, message: Any) -> None:
        state, world, matrix = message.robot_state, message.world, message.allowed_collision_matrix
        scaled = [entry.link_name for entry in message.link_scale if entry.scale != 1.0]
        for content, names in (
            ("joints with several degrees of freedom", state.multi_dof_joint_state.joint_names),
            ("octomap", [world.octomap.octomap.id] if len(world.octomap.octomap.data) else []),
            ("scaled links", scaled),
        ):
            if names:
                raise ManipDynError(f"planning scene must have no {content}, got {names}.")
        # MoveIt's transforms begin with that of the planning frame, which is the base, to itself.
        for entry in message.fixed_frame_transforms:
            t, r = entry.transform.translation, entry.transform.rotation
            self._fixed[entry.child_frame_id] = _pose([t.x, t.y, t.z, r.x, r.y, r.z, r.w])
        padding = {entry.link_name: entry.padding for entry in message.link_padding}
        if not message.is_diff:
            self._groups, self._padding = {}, {}
        elif not state.is_diff and (state.joint_state.name or state.attached_collision_objects):
            self._groups = {k: g for k, g in self._groups.items() if g.link is None}
        self._padding = {**self._padding, **padding}
        if matrix.entry_names or not message.is_diff:
            self._may_touch = _allowed_pairs(matrix)
        for entry in state.attached_collision_objects:
            self._attached_object(entry)
        for entry in world.collision_objects:
            self._world_object(entry)

    def _world_object(self, message: Any) -> None:
        name, operation, old = message.id, _operation(message), self._groups.get(message.id)
        if operation == REMOVE:
            for key, group in list(self._groups.items()):
                if group.link is None and name in ("", key):
                    del self._groups[key]
        elif old is not None and old.link is not None:
            raise ManipDynError(
                f"collision object '{name}' must not be attached, got one at link '{old.link}'."
            )
        elif operation == MOVE:
            if old is None:
                hint = closest(name, self._groups)
                raise ManipDynError(f"moved object must be in the scene, got '{name}'{hint}")
            poses = [*message.primitive_poses, *message.mesh_poses]
            if len(poses) not in (0, len(old.shapes)):
                raise ManipDynError(
                    f"moved object '{name}' must have a pose for each of its {len(old.shapes)} "
                    f"shapes or for none, got {len(poses)}."
                )
            pairs = zip(old.shapes, poses, strict=False)
            shapes = tuple((shape, _pose_of(pose)) for (shape, _), pose in pairs)
            pose = self._in_link(message, _pose_of(message.pose), None)
            self._groups[name] = old._replace(pose=pose, shapes=shapes or old.shapes)
        else:
            self._put(name, operation, self._group(message, None))

    def _attached_object(self, message: Any) -> None:
        content, link = message.object, message.link_name
        name, operation, old = content.id, _operation(content), self._groups.get(content.id)
        if operation == REMOVE:
            for key, group in self._groups.items():
                if group.link is not None and name in ("", key) and link in ("", group.link):
                    pose = _product(self._of_link(group.link), group.pose)
                    self._groups[key] = Group(None, pose, group.shapes, group.padding)
            return
        if old is None or content.primitives or content.meshes or content.planes:
            group = self._group(content, link)
        else:
            group, operation = old, ADD
            if old.link != link:
                here = ORIGIN if old.link is None else self._of_link(old.link)
                here = _product(_inverse(self._of_link(link)), _product(here, old.pose))
                group = old._replace(link=link, pose=here)
        group = group._replace(allowed=tuple(message.touch_links), mass=message.weight)
        self._put(name, operation, group)

    def _put(self, name: str, operation: int, group: Group) -> None:
        """Store a group, or add its shapes to an object at the same link."""
        if operation not in (ADD, APPEND):
            raise ManipDynError(f"operation of '{name}' must be ADD or APPEND, got {operation}.")
        old = self._groups.pop(name, None)
        if operation == APPEND and old is not None and old.link == group.link:
            offset = _product(_inverse(old.pose), group.pose)
            added = tuple((shape, _product(offset, pose)) for shape, pose in group.shapes)
            group = old._replace(
                shapes=old.shapes + added,
                allowed=old.allowed + group.allowed,
                mass=max(old.mass, group.mass),
            )
        self._groups[name] = group

    def _group(self, message: Any, link: str | None) -> Group:
        """Return the shapes of a collision object.

        If the object has one shape and the identity as its pose, its frame is that of the shape.
        """
        pose, shapes = _pose_of(message.pose), _shapes(message)
        if len(shapes) == 1 and not (pose.position.any() or (pose.rotation - np.eye(3)).any()):
            (shape, inner, offset) = shapes[0]
            return Group(link, self._in_link(message, inner, link), ((shape, offset),))
        parts = tuple((shape, _product(inner, offset)) for shape, inner, offset in shapes)
        return Group(link, self._in_link(message, pose, link), parts)

    def _in_link(self, message: Any, pose: Pose, link: str | None) -> Pose:
        """Transform a pose from the frame of a message to that of a link, or of the base."""
        frame = message.header.frame_id.lstrip("/")
        if frame == link:
            return pose
        pose = _product(self._of_link(frame), pose)
        return pose if link is None else _product(_inverse(self._of_link(link)), pose)

    def _of_link(self, frame: str) -> Pose:
        """Return the pose of a link, or of another known frame, in the base frame."""
        if frame in self._fixed and frame not in self._robot.link_names:
            return self._fixed[frame]
        problem = self._frames.problem(frame)
        if problem:
            raise ManipDynError(f"pose of a collision object {problem}")
        if not self._frames.moves(frame):
            return ORIGIN
        fixed = self._robot.frame(frame).body < 0
        if self._q is None and not fixed:
            raise ManipDynError(f"q must be specified for poses at link '{frame}', got None.")
        return self._frames.of(frame, np.zeros(self._robot.n) if self._q is None else self._q)


def _names(name: str, group: Group) -> list[str]:
    """Return the names of the shapes of an object in a scene."""
    count = len(group.shapes)
    return [name] if count == 1 else [f"{name}/{k}" for k in range(count)]


def _volume(shape: Shape) -> float:
    return sum(float(solid.computeVolume()) for solid in shape.coal_shapes())


def _operation(message: Any) -> int:
    """Return the operation of a message, in which rclpy represents a byte as bytes."""
    return int.from_bytes(message.operation, "little")


def _shapes(message: Any) -> list[tuple[Shape, Pose, Pose]]:
    """Return the shapes of a collision object, their poses, and offsets in the frames of these."""
    result = list[tuple[Shape, Pose, Pose]]()
    for convert, shapes, poses in (
        (_primitive, message.primitives, message.primitive_poses),
        (_mesh, message.meshes, message.mesh_poses),
        (_plane, message.planes, message.plane_poses),
    ):
        if len(poses) > len(shapes):
            raise ManipDynError(
                f"collision object '{message.id}' must have at most {len(shapes)} poses of "
                f"{len(shapes)} shapes, got {len(poses)}."
            )
        for k, entry in enumerate(shapes):
            shape, offset = convert(message.id, entry)
            result.append((shape, _pose_of(poses[k]) if k < len(poses) else ORIGIN, offset))
    if not result:
        raise ManipDynError(f"collision object '{message.id}' must have shapes, got none.")
    return result


def _primitive(name: str, message: Any) -> tuple[Shape, Pose]:
    kind, lengths = message.type, list(message.dimensions)
    try:
        if kind == BOX:
            return Box(lengths), ORIGIN
        if kind == SPHERE:
            (radius,) = lengths
            return Sphere(radius), ORIGIN
        if kind == CYLINDER:
            length, radius = lengths
            return Cylinder(radius, length), ORIGIN
    except (ManipDynError, ValueError) as error:
        raise ManipDynError(
            f"dimensions of a primitive of '{name}' must suit its type {kind}, got {lengths}."
        ) from error
    raise ManipDynError(
        f"primitive of '{name}' must be a box (1), sphere (2) or cylinder (3), got type {kind}."
    )


def _mesh(name: str, message: Any) -> tuple[Shape, Pose]:
    """Return the mesh of a file, because shapes are read from files."""
    vertices = np.array([[v.x, v.y, v.z] for v in message.vertices]).reshape(-1, 3)
    triangles = np.array([t.vertex_indices for t in message.triangles], dtype=int).reshape(-1, 3)
    if triangles.max(initial=-1) not in range(len(vertices)):
        raise ManipDynError(f"mesh of '{name}' must have triangles of its vertices, got others.")
    rows = np.zeros(len(triangles), dtype=[("corners", "<f4", (4, 3)), ("attribute", "<u2")])
    rows["corners"][:, 1:] = vertices[triangles]
    content = bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes()
    file = Path(_folder().name, f"{sha256(content).hexdigest()}.stl")
    if not file.exists():
        file.write_bytes(content)
    return Mesh(str(file)), ORIGIN


def _plane(name: str, message: Any) -> tuple[Shape, Pose]:
    """Return the half-space a x + b y + c z + d < 0 of a plane."""
    *normal, offset = message.coef
    length = float(np.linalg.norm(normal))
    if not 0.0 < length < np.inf:
        raise ManipDynError(f"plane of '{name}' must have a normal, got {list(message.coef)}.")
    x, y, z = direction = np.array(normal) / length
    rpy = [0.0, np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)]
    return HalfSpace(), Pose(-offset / length * direction, rotation_from_rpy(rpy))


@lru_cache(maxsize=1)
def _folder() -> TemporaryDirectory[str]:
    """Return the folder of mesh files, which is removed when the process exits."""
    return TemporaryDirectory(prefix="manip_dyn_meshes_")


def _allowed_pairs(matrix: Any) -> Callable[[str, str], bool]:
    """Return a function that evaluates moveit_msgs/AllowedCollisionMatrix for two names."""
    index = {name: k for k, name in enumerate(matrix.entry_names)}
    rows = [list(entry.enabled) for entry in matrix.entry_values]
    defaults = dict(zip(matrix.default_entry_names, matrix.default_entry_values, strict=False))
    if [len(row) for row in rows] != [len(index)] * len(index):
        raise ManipDynError(
            f"allowed_collision_matrix must have {len(index)} rows of {len(index)} values, got "
            f"rows of {[len(row) for row in rows]} values."
        )

    def allowed(first: str, second: str) -> bool:
        if first in index and second in index:
            return bool(rows[index[first]][index[second]])
        entries = [bool(defaults[name]) for name in (first, second) if name in defaults]
        return bool(entries) and all(entries)

    return allowed


def _pose_of(message: Any) -> Pose:
    return _pose(pose_numbers(message))


def _pose(numbers: Iterable[float]) -> Pose:
    """Return a pose from a position (3,) and a quaternion (4,); zeros are the identity."""
    values = np.array(list(numbers), dtype=float)
    position, quaternion = values[:3], values[3:]
    if not quaternion.any():
        return Pose(position, np.eye(3))
    if not abs(float(np.linalg.norm(quaternion)) - 1.0) <= UNIT:
        raise ManipDynError(
            f"pose of a collision object must have a unit quaternion, got {quaternion.tolist()}."
        )
    return Pose(position, rotation_matrices(quaternion))


def _product(first: Pose, second: Pose) -> Pose:
    position = first.position + first.rotation @ second.position
    return Pose(position, first.rotation @ second.rotation)


def _inverse(pose: Pose) -> Pose:
    return Pose(-pose.rotation.T @ pose.position, pose.rotation.T)

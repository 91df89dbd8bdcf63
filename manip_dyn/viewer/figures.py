"""Figures of robots and mechanisms.

Robots are drawn with the shapes of the URDF, or with rods and joint hubs.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody import Mechanism
from manip_dyn.multibody.model.geometry import Shape, body_poses, lines, shapes
from manip_dyn.robot import Frame, Robot
from manip_dyn.robot.geometry import find_mesh
from manip_dyn.viewer.scene import GROUND, Colour, Coordinate, Figure, Part, Poses, Rod

THICKNESS = 0.03
"""Radius of a rod relative to the reach of the arm."""
HUB: Colour = (70, 76, 84)


def sticks(robot: Robot, reach: float) -> list[Part]:
    """Return a hub for each joint, and rods between the joints and to the tool.

    The widths are proportional to `reach` (m).
    """
    radius = THICKNESS * reach
    parts = []
    for index, body in enumerate(robot.bodies):
        size = np.array([2.6, 2.6, 3.0]) * radius
        kind = "box" if body.prismatic else "cylinder"
        parts.append(Part(index, kind, np.zeros(3), np.eye(3), size, HUB))
        parts += rod(body.parent, np.zeros(3), body.translation, radius)
    tip = robot.tip_frame
    parts += rod(tip.body, np.zeros(3), tip.translation, radius)
    parts.append(_ball(tip.body, tip.translation, radius))
    return parts


def rod(body: int, begin: Vector, end: Vector, radius: float) -> Iterator[Part]:
    """Yield a cylinder between two points (3,) of a body, and a ball at the second point.

    Nothing is yielded if the points coincide, or if a fixed rod is shorter than its radius (m).
    """
    length = float(np.linalg.norm(end - begin))
    if length < 1e-6 or (body == GROUND and length < radius):
        return
    size = np.array([2.0 * radius, 2.0 * radius, length])
    yield Part(body, "cylinder", 0.5 * (begin + end), turned_to(end - begin), size)
    yield _ball(body, end, radius)


def turned_to(direction: Vector) -> Matrix:
    """Return a rotation matrix (3, 3) with its third column along `direction` (3,)."""
    axis = direction / np.linalg.norm(direction)
    first = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = first - (first @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _ball(body: int, position: Vector, radius: float) -> Part:
    return Part(body, "sphere", position, np.eye(3), np.full(3, 2.0 * radius))


Colours = dict[str, tuple[Colour, float]]


def urdf_parts(robot: Robot, meshes: Sequence[str | Path] = ()) -> list[Part]:
    """Return the visual shapes of each link, or its collision shapes if it has no visual ones.

    Shapes that the viewer does not support and meshes that are not found are omitted.

    Args:
        robot: The robot.
        meshes: Folders of the packages that contain the meshes of the URDF.
    """
    root = ElementTree.fromstring(robot.urdf)
    named: Colours = {}
    for material in root.iter("material"):
        named |= _colour(material, {})
    shapes: list[Part] = []
    for link in root.findall("link"):
        frame = robot.frame(link.get("name", ""))
        for tag in ("visual", "collision"):
            drawn = [_urdf_part(element, frame, named, meshes) for element in link.findall(tag)]
            parts = [part for part in drawn if part is not None]
            shapes += parts
            if parts:
                break
    return shapes


def _urdf_part(
    element: Element, frame: Frame, named: Colours, meshes: Sequence[str | Path]
) -> Part | None:
    shape = element.find("geometry/*")
    if shape is None:
        return None
    file, size = "", np.ones(3)
    if shape.tag == "box":
        size = _numbers(shape, "size", "1 1 1")
    elif shape.tag == "cylinder":
        diameter = 2.0 * float(shape.get("radius", 1.0))
        size = np.array([diameter, diameter, float(shape.get("length", 1.0))])
    elif shape.tag == "sphere":
        size = np.full(3, 2.0 * float(shape.get("radius", 1.0)))
    elif shape.tag == "mesh":
        file = find_mesh(shape.get("filename", ""), meshes)
        size = _numbers(shape, "scale", "1 1 1")
    if shape.tag not in ("box", "cylinder", "sphere") and not file:
        return None
    origin = element.find("origin")
    position = _numbers(origin, "xyz", "0 0 0")
    rotation = Rotation.from_euler("xyz", _numbers(origin, "rpy", "0 0 0")).as_matrix()
    colour, opacity = _shade(element.find("material"), named)
    return Part(
        body=frame.body,
        kind=shape.tag,
        position=frame.translation + frame.rotation @ position,
        rotation=frame.rotation @ rotation,
        size=size,
        colour=colour,
        opacity=opacity,
        file=file,
    )


def _missing_meshes(robot: Robot, meshes: Sequence[str | Path]) -> Iterator[str]:
    """Yield a sentence about the mesh files of visual shapes that are not found."""
    root = ElementTree.fromstring(robot.urdf)
    files = {mesh.get("filename", "") for mesh in root.iterfind("link/visual/geometry/mesh")}
    missing = sorted(file for file in files if not find_mesh(file, meshes))
    if missing:
        yield (
            f"{len(missing)} of {len(files)} mesh files are not found, such as '{missing[0]}'. "
            "Pass the folder that contains the package: --meshes FOLDER."
        )


def _shade(material: Element | None, named: Colours) -> tuple[Colour | None, float]:
    if material is None:
        return None, 1.0
    colours = _colour(material, named)
    return colours.get(material.get("name", ""), (None, 1.0))


def _colour(material: Element, named: Colours) -> Colours:
    """Return the colour and opacity of a material by its name; {} if it has no colour."""
    name, colour = material.get("name", ""), material.find("color")
    if colour is None:
        return {name: named[name]} if name in named else {}
    red, green, blue, alpha = np.clip(_numbers(colour, "rgba", "0.7 0.7 0.7 1"), 0.0, 1.0)
    return {name: ((round(255 * red), round(255 * green), round(255 * blue)), float(alpha))}


def _numbers(element: Element | None, key: str, default: str) -> Vector:
    text = default if element is None else element.get(key, default)
    return np.array([float(word) for word in text.split()])


def robot_figure(robot: Robot, meshes: Sequence[str | Path] = ()) -> Figure:
    """Return the figure of a robot: the shapes of its URDF, or rods and hubs if it has none.

    Args:
        robot: The robot.
        meshes: Folders of the packages that contain the meshes of the URDF, in addition to the
            folder of the URDF and those above it.
    """
    if robot.folder:
        meshes = [*meshes, robot.folder, *Path(robot.folder).resolve().parents]
    kinematics = _ForwardKinematics(robot)
    parts = urdf_parts(robot, meshes)
    reach = _reach(robot, parts)
    return Figure(
        name=robot.name,
        parts=tuple(parts or sticks(robot, reach)),
        poses=kinematics.poses,
        reach=reach,
        tool=kinematics.tool,
        notes=(*_missing_meshes(robot, meshes), *robot.notes),
        joints=tuple(
            Coordinate(name, float(low), float(high), robot.unit(i))
            for i, (name, low, high) in enumerate(
                zip(robot.joint_names, robot.q_min, robot.q_max, strict=True)
            )
        ),
    )


def robot_poses(robot: Robot) -> Callable[[Vector], Poses]:
    """Return the function of the poses of all bodies for joint positions (n,), see `Figure`."""
    return _ForwardKinematics(robot).poses


class _ForwardKinematics:
    """Forward kinematics of all bodies in NumPy, without compilation."""

    def __init__(self, robot: Robot):
        self._bodies, self._tip = robot.bodies, robot.tip_frame
        self._positions = robot.body_positions

    def frames(self, q: Vector) -> tuple[Matrix, Vector]:
        """Return origins (n, 3) and rotations (n, 3, 3) of the bodies at joint positions `q`."""
        q = self._positions(q)
        origins, rotations = np.zeros((len(q), 3)), np.zeros((len(q), 3, 3))
        sines, cosines = np.sin(q), np.cos(q)
        for i, body in enumerate(self._bodies):
            origin, rotation = body.translation, body.rotation
            if body.parent >= 0:
                origin = origins[body.parent] + rotations[body.parent] @ origin
                rotation = rotations[body.parent] @ rotation
            if body.prismatic:
                origins[i], rotations[i] = origin + rotation[:, 2] * q[i], rotation
            else:
                origins[i], rotations[i, :, 2] = origin, rotation[:, 2]
                rotations[i, :, 0] = cosines[i] * rotation[:, 0] + sines[i] * rotation[:, 1]
                rotations[i, :, 1] = cosines[i] * rotation[:, 1] - sines[i] * rotation[:, 0]
        return origins, rotations

    def poses(self, q: Vector) -> Poses:
        origins, rotations = self.frames(q)
        return Poses(origins, quaternions(rotations))

    def tool(self, q: Vector) -> tuple[Vector, Vector]:
        origins, rotations = self.frames(q)
        position, rotation = on_body(self._tip, origins, rotations)
        return position, quaternions(rotation[None])[0]


def on_body(frame: Frame, origins: Matrix, rotations: Vector) -> tuple[Vector, Matrix]:
    """Return the position (3,), m, and rotation matrix (3, 3) of a frame in the base frame.

    Args:
        frame: A frame that is fixed to one of b bodies or to the base.
        origins: Origins (b, 3) of the bodies in the base frame, m.
        rotations: Rotation matrices (b, 3, 3) from the axes of the bodies to those of the base.
    """
    if frame.body < 0:
        return frame.translation, frame.rotation
    rotation = rotations[frame.body]
    return origins[frame.body] + rotation @ frame.translation, rotation @ frame.rotation


def quaternions(rotations: Vector) -> Matrix:
    """Convert rotation matrices (m, 3, 3) to quaternions (m, 4) in the order w, x, y, z."""
    return Rotation.from_matrix(rotations).as_quat()[:, [3, 0, 1, 2]]


def _reach(robot: Robot, parts: Sequence[Part]) -> float:
    """Return an estimate of the largest distance (m) of the arm from its base, without meshes."""
    ends: list[float] = []
    for body, coupling in zip(robot.bodies, robot.couplings, strict=True):
        low, high = (
            coupling.ratio * limits[coupling.joint] + coupling.offset
            for limits in (robot.q_min, robot.q_max)
        )
        length = float(np.linalg.norm(body.translation))
        if body.prismatic and np.isfinite([low, high]).all():
            length += max(abs(low), abs(high))
        ends.append(length + (ends[body.parent] if body.parent >= 0 else 0.0))
    tip = robot.tip_frame
    tool = float(np.linalg.norm(tip.translation)) + (ends[tip.body] if tip.body >= 0 else 0.0)
    drawn = [
        ends[part.body] + float(np.linalg.norm(part.position)) + 0.5 * float(part.size.max())
        for part in parts
        if part.body >= 0 and part.kind != "mesh"
    ]
    return max(tool, *ends, *drawn, 0.1)


COLOURS: dict[str, Colour] = {
    "box": (140, 153, 128),
    "cylinder": (50, 50, 54),
    "spring": (226, 152, 30),
    "rod": (76, 128, 204),
}
OPACITY = {"box": 0.55}


def mechanism_figure(mechanism: Mechanism, name: str = "mechanism") -> Figure:
    """Return the figure of a mechanism; its coordinates are those of `MechanismMotion.q`."""

    def poses(q: Vector) -> Poses:
        positions, rotations = body_poses(mechanism, q)
        return Poses(positions, rotations / np.linalg.norm(rotations, axis=1, keepdims=True))

    positions = poses(mechanism.q0).positions
    spread = np.ptp(positions, axis=0).max() if len(positions) > 1 else 0.0
    drawn = shapes(mechanism)
    return Figure(
        name=name,
        parts=tuple(_mechanism_part(shape) for shape in drawn),
        poses=poses,
        reach=float(max(spread, *(shape.size.max() for shape in drawn))),
        rods=tuple(Rod(line.bodies, line.points, COLOURS[line.kind]) for line in lines(mechanism)),
    )


def _mechanism_part(shape: Shape) -> Part:
    return Part(
        body=shape.body,
        kind=shape.kind,
        position=shape.position,
        rotation=shape.rotation,
        size=shape.size,
        colour=COLOURS[shape.kind],
        opacity=OPACITY.get(shape.kind, 1.0),
    )

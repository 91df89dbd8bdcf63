"""Collision geometry of a robot and a scene, and the pairs that are checked.

A pair of links is not checked if no joint moves between them, if the SRDF disables it, or, without
an SRDF, if only one joint moves between them or they touch in nearly all random postures.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import coal
import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.collision.scene import Scene, SceneObject, check_name
from manip_dyn.collision.shapes import (
    Box,
    Capsule,
    Cylinder,
    Mesh,
    Shape,
    Sphere,
    rotation_from_rpy,
    rpy_from_rotation,
)
from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.robot.geometry import find_mesh
from manip_dyn.robot.model import checked_robot

SAMPLES = 200
"""Number of random postures that select pairs of links."""
HULLS = 16
"""Largest number of convex hulls of a mesh whose single hull touches in nearly all postures."""
ALWAYS = 0.95
"""Fraction of random postures in contact above which a pair is not checked, as in MoveIt."""
SEPARATED = 0.5
"""Fraction of random postures in contact up to which such a pair is checked with finer hulls."""


class Geometry(NamedTuple):
    """A shape that is fixed to a body.

    Attributes:
        owner: Name of the link or scene object.
        body: Index of the body; -1 for the base frame.
        rotation: Rotation (3, 3) from the shape's frame to the body frame.
        translation: Origin (3,) of the shape's frame in the body frame, m.
        shape: The shape.
        padding: Distance by which the shape is enlarged, m.
    """

    owner: str
    body: int
    rotation: Matrix
    translation: Vector
    shape: Shape
    padding: float


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """Collision geometry of a robot in a scene.

    Attributes:
        robot: The robot.
        geometries: Shapes of links and objects. An owner may have several shapes.
        pairs: Pairs of owners that are checked.
        unchecked: Reasons by pair of owners for the pairs of links that are not checked.
        without_shape: Names of links with a mass or a visual shape, but no collision shape.
    """

    robot: Robot = field(repr=False)
    geometries: tuple[Geometry, ...]
    pairs: tuple[tuple[str, str], ...]
    unchecked: dict[tuple[str, str], str]
    without_shape: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the model, one sentence each."""
        return tuple(
            f"link '{link}' has no collision shape and is not checked"
            for link in self.without_shape
        )

    @cached_property
    def omission(self) -> str:
        """End of a sentence about a check: the links whose bodies have no shapes, or ""."""
        bodies = {geometry.body for geometry in _of_robot(self.robot).geometries}
        links = [link for link in self.without_shape if self.robot.frame(link).body not in bodies]
        if not links:
            return ""
        names = ", ".join(links[:3]) + (", ..." if len(links) > 3 else "")
        return f"; links without collision shapes are not checked: {names}"

    def of(self, owner: str) -> list[Geometry]:
        """Return the shapes of a link or an object."""
        return [geometry for geometry in self.geometries if geometry.owner == owner]

    def joints_between(self, first: int, second: int) -> list[int]:
        """Return the joints that move body `second` relative to body `first`, in this order."""
        return joints_between(self.robot, first, second)


def collision_model(robot: Robot, scene: Scene | None = None) -> CollisionModel:
    """Return the collision geometry of a robot, with the objects of a scene if there is one.

    Shapes are read from the ``<collision>`` elements of the URDF. Meshes of links are replaced
    with their convex hulls.

    Raises:
        ManipDynError: If a mesh is missing, or if the scene names an unknown link.
    """
    if not isinstance(scene, (Scene, type(None))):
        raise ManipDynError(f"scene must be a Scene or None, got {scene!r}.")
    return _with_scene(robot, scene) if scene else _of_robot(robot)


def checked_model(robot: Robot, scene: Scene | None = None) -> CollisionModel:
    """Return the collision geometry for a check; see `collision_model`.

    Raises:
        ManipDynError: Also if no shape moves, because every check would pass.
    """
    model = collision_model(checked_robot(robot), scene)
    if robot.bodies and all(geometry.body < 0 for geometry in model.geometries):
        raise ManipDynError(
            f"robot '{robot.name}' must have collision shapes, got none on its moving links. Use "
            "a URDF with <collision> elements."
        )
    return model


def _mass(link: Element) -> float:
    """Return the mass of a link, kg. Mere frames often have an ``<inertial>`` without mass."""
    mass = link.find("inertial/mass")
    return 0.0 if mass is None else float(mass.get("value", "0"))


@lru_cache(maxsize=16)
def _of_robot(robot: Robot) -> CollisionModel:
    root = ElementTree.fromstring(robot.urdf)
    geometries, without_shape = list[Geometry](), list[str]()
    for link in root.iter("link"):
        shapes = list(_shapes_of_link(robot, link))
        geometries += shapes
        if not shapes and (link.find("visual") is not None or _mass(link) > 0.0):
            without_shape.append(link.get("name", ""))
    bodies = {geometry.owner: geometry.body for geometry in geometries}
    links = list(bodies)
    pairs, unchecked = list[tuple[str, str]](), dict[tuple[str, str], str]()
    disabled = disabled_pairs(robot)
    for first, second in combinations(links, 2):
        between = joints_between(robot, bodies[first], bodies[second])
        reason = disabled.get(frozenset((first, second)), "")
        if not between:
            reason = "no joint moves between them"
        elif not robot.srdf and len(between) == 1:
            reason = "adjacent"
        if reason:
            unchecked[first, second] = reason
        else:
            pairs.append((first, second))
    model = CollisionModel(robot, tuple(geometries), tuple(pairs), unchecked, tuple(without_shape))
    return _with_finer_meshes(model)


def disabled_pairs(robot: Robot) -> dict[frozenset[str], str]:
    """Return the reasons that the SRDF states, by disabled pair of links."""
    if not robot.srdf:
        return {}
    return {
        frozenset((entry.get("link1", ""), entry.get("link2", ""))): "disabled by the SRDF: "
        + entry.get("reason", "no reason stated")
        for entry in ElementTree.fromstring(robot.srdf).iter("disable_collisions")
    }


def joints_between(robot: Robot, first: int, second: int) -> list[int]:
    """Return the joints that move body `second` relative to body `first`, from first to second.

    Joints have the indices of the bodies that they move. -1 is the base.
    """
    up, down = _above(robot, first), _above(robot, second)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return [*up, *reversed(down)]


def _above(robot: Robot, body: int) -> list[int]:
    """Return a body and all bodies between it and the base."""
    chain = []
    while body >= 0:
        chain.append(body)
        body = robot.bodies[body].parent
    return chain


def _shapes_of_link(robot: Robot, link: Element) -> Iterator[Geometry]:
    name = link.get("name", "")
    frame = robot.frame(name)
    for element in link.findall("collision"):
        shape = element.find("geometry/*")
        if shape is None:
            continue
        origin = element.find("origin")
        position, rpy = (
            np.array(("0 0 0" if origin is None else origin.get(key, "0 0 0")).split(), float)
            for key in ("xyz", "rpy")
        )
        yield Geometry(
            name,
            frame.body,
            frame.rotation @ rotation_from_rpy(rpy),
            frame.translation + frame.rotation @ position,
            _shape(robot, name, shape),
            0.0,
        )


def _shape(robot: Robot, link: str, element: Element) -> Shape:
    """Return the shape of an element of ``<geometry>``."""
    where = f"collision shape of link '{link}'"
    try:
        if element.tag == "box":
            return Box([float(word) for word in element.get("size", "").split()])
        if element.tag == "sphere":
            return Sphere(float(element.get("radius", "")))
        if element.tag in ("cylinder", "capsule"):
            kind = Cylinder if element.tag == "cylinder" else Capsule
            return kind(float(element.get("radius", "")), float(element.get("length", "")))
    except (ValueError, ManipDynError) as error:
        raise ManipDynError(f"robot '{robot.name}': {where}: {error}") from error
    if element.tag != "mesh":
        raise ManipDynError(
            f"robot '{robot.name}': {where} must be a box, sphere, cylinder, capsule or mesh, got "
            f"<{element.tag}>."
        )
    file = find_collision_mesh(robot, element.get("filename", ""))
    scale = tuple(float(word) for word in element.get("scale", "1 1 1").split())
    return Mesh(file, scale, convex=True)  # type: ignore[arg-type]


def find_collision_mesh(robot: Robot, address: str) -> str:
    """Return the path of a mesh file of a robot's URDF.

    Packages are searched in the sourced workspaces and above the folder of the URDF.

    Raises:
        ManipDynError: If the file does not exist.
    """
    folder = Path(robot.folder)
    folders = [folder, *folder.parents] if robot.folder else []
    file = find_mesh(address, folders)
    if not file:
        hint = f"Its path must be absolute or relative to '{robot.folder or '.'}'."
        if address.startswith("package://"):
            hint = (
                "Source the workspace in which its package is installed (AMENT_PREFIX_PATH), or "
                "add the folder above the package to ROS_PACKAGE_PATH."
            )
        raise ManipDynError(f"robot '{robot.name}': mesh '{address}' is not found. {hint}")
    return file


def random_postures(robot: Robot, count: int, seed: int = 0) -> Matrix:
    """Return random postures (count, n) within the limits, or ± pi for joints without limits."""
    low = np.where(np.isfinite(robot.q_min), robot.q_min, -np.pi)
    high = np.where(np.isfinite(robot.q_max), robot.q_max, np.pi)
    return np.random.default_rng(seed).uniform(low, high, (count, robot.n))


def _with_finer_meshes(model: CollisionModel) -> CollisionModel:
    """Divide meshes whose hulls always touch, and leave out pairs that always touch nevertheless.

    Only meshes are divided that often do not touch without hulls. Meshes with too many triangles
    for this test remain hulls. With an SRDF, no pair is left out.
    """
    contacts = frequent_contacts(model, model.pairs, ALWAYS)
    surfaces = _with_meshes(model, _links(contacts), convex=False)
    touching = frequent_contacts(surfaces, list(contacts), SEPARATED)
    candidates = [pair for pair in contacts if pair not in touching]
    finer = _with_meshes(model, _links(candidates), hulls=HULLS)
    remaining = {**touching, **frequent_contacts(finer, candidates, SEPARATED)}
    separated = _links(pair for pair in contacts if pair not in remaining)
    if model.robot.srdf:
        remaining = {}
    reasons = {
        pair: f"in contact in {contacts[pair]} of {SAMPLES} random postures" for pair in remaining
    }
    return replace(
        _with_meshes(model, separated, hulls=HULLS),
        pairs=tuple(pair for pair in model.pairs if pair not in remaining),
        unchecked={**model.unchecked, **reasons},
    )


def frequent_contacts(
    model: CollisionModel, pairs: Sequence[tuple[str, str]], fraction: float
) -> dict[tuple[str, str], int]:
    """Return the pairs of links that touch in more than a fraction of the random postures.

    The values are the numbers of postures in which they touch.
    """
    if not pairs:
        return {}
    objects, missed = CoalObjects(model), dict.fromkeys(pairs, 0)
    for q in random_postures(model.robot, SAMPLES):
        if not missed:
            break
        objects.move(q)
        counts = {pair: count + (not objects.touch(*pair)) for pair, count in missed.items()}
        missed = {pair: n for pair, n in counts.items() if SAMPLES - n > fraction * SAMPLES}
    return {pair: SAMPLES - count for pair, count in missed.items()}


def _links(pairs: Iterable[tuple[str, str]]) -> set[str]:
    return {link for pair in pairs for link in pair}


def _with_meshes(model: CollisionModel, links: set[str], **changes: Any) -> CollisionModel:
    """Return the model with changed arguments of each `Mesh` of some links."""
    geometries = tuple(
        geometry._replace(shape=replace(geometry.shape, **changes))
        if geometry.owner in links
        and isinstance(geometry.shape, Mesh)
        and (changes.get("convex", True) or geometry.shape.has_surface)
        else geometry
        for geometry in model.geometries
    )
    return replace(model, geometries=geometries)


@lru_cache(maxsize=32)
def _with_scene(robot: Robot, scene: Scene) -> CollisionModel:
    own = _of_robot(robot)
    links = set(robot.link_names)
    for link in scene.link_padding:
        if link not in links:
            hint = closest(link, links)
            raise ManipDynError(f"link_padding has the unknown link '{link}'{hint}")
    geometries = [
        geometry._replace(padding=scene.link_padding.get(geometry.owner, 0.0))
        for geometry in own.geometries
    ]
    pairs, unchecked = list(own.pairs), dict(own.unchecked)
    bodies = {geometry.owner: geometry.body for geometry in geometries}
    for entry in scene.objects.values():
        if entry.name in bodies:
            raise ManipDynError(
                f"names of scene objects must differ from those of links, got '{entry.name}'."
            )
        names = links | set(scene.objects)
        for name in entry.allowed:
            if name not in names:
                raise ManipDynError(
                    f"allowed of '{entry.name}' must be links or objects, got '{name}'"
                    f"{closest(name, names)}"
                )
        geometry = placed(robot, entry)
        for partner, body in bodies.items():
            between = joints_between(robot, body, geometry.body)
            allowed = partner in entry.allowed or (
                partner in scene.objects and entry.name in scene.objects[partner].allowed
            )
            if between and not allowed:
                pairs.append((partner, entry.name))
            else:
                reason = "allowed by the scene" if between else "no joint moves between them"
                unchecked[partner, entry.name] = reason
        geometries.append(geometry)
        bodies[entry.name] = geometry.body
    return CollisionModel(robot, tuple(geometries), tuple(pairs), unchecked, own.without_shape)


def placed(robot: Robot, entry: SceneObject) -> Geometry:
    """Return the shape of a scene object in the frame of the body to which it is fixed.

    Raises:
        ManipDynError: If the object is attached to an unknown link.
    """
    rotation, translation, body = entry.rotation, entry.position, -1
    if entry.link is not None:
        try:
            frame = robot.frame(entry.link)
        except ManipDynError as error:
            raise ManipDynError(f"object '{entry.name}': {error}") from error
        body = frame.body
        translation = frame.translation + frame.rotation @ translation
        rotation = frame.rotation @ rotation
    return Geometry(entry.name, body, rotation, translation, entry.shape, entry.padding)


def body_poses(robot: Robot, q: Vector) -> tuple[Tensor, Matrix]:
    """Return rotations (b + 1, 3, 3) and origins (b + 1, 3), m, of the b bodies and the base.

    The last entry is the base, so that its index is -1.
    """
    q, count = robot.body_positions(q), len(robot.bodies) + 1
    rotations, origins = np.zeros((count, 3, 3)), np.zeros((count, 3))
    rotations[-1] = np.eye(3)
    for i, body in enumerate(robot.bodies):
        above = rotations[body.parent] @ body.rotation
        origins[i] = origins[body.parent] + rotations[body.parent] @ body.translation
        if body.prismatic:
            rotations[i] = above
            origins[i] += q[i] * above[:, 2]
        else:
            s, c = np.sin(q[i]), np.cos(q[i])
            rotations[i] = above @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return rotations, origins


def add_robot(
    scene: Scene,
    name: str,
    robot: Robot,
    q: ArrayLike,
    position: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike = (0.0, 0.0, 0.0),
    padding: float = 0.0,
) -> Scene:
    """Return a scene with the collision shapes of another arm at a fixed posture.

    The new objects are named ``NAME/LINK/0``, ``NAME/LINK/1``, ...

    Args:
        scene: The scene.
        name: First part of the names of the objects.
        robot: The other arm.
        q: Its joint positions (n,), rad or m.
        position: Position (3,) of its base frame, m.
        rpy: Roll, pitch and yaw (3,) of its base frame, rad, as in URDF.
        padding: Distance by which its shapes are enlarged on all sides, m.

    Raises:
        ManipDynError: If the arm has no collision shapes on moving links, or an argument is
            invalid.
    """
    check_name(name)
    model = checked_model(robot)
    rotations, origins = body_poses(robot, finite_vector(f"q of '{name}'", q, robot.n))
    turn = rotation_from_rpy(finite_vector(f"rpy of '{name}'", rpy, 3))
    base = finite_vector(f"position of '{name}'", position, 3)
    for link in dict.fromkeys(geometry.owner for geometry in model.geometries):
        for k, entry in enumerate(model.of(link)):
            rotation = turn @ rotations[entry.body]
            place = base + turn @ origins[entry.body] + rotation @ entry.translation
            angles = rpy_from_rotation(rotation @ entry.rotation)
            title = f"{name}/{link}/{k}"
            scene = scene.add(title, entry.shape, place, angles, padding=padding)
    return scene


class Separation(NamedTuple):
    """Signed distance of two padded shapes, m, and their nearest points (3,), base frame, m."""

    distance: float
    first: Vector
    second: Vector


class CoalObjects:
    """Shapes of a collision model at one posture, as objects of the library coal.

    `closest` is thread-safe, the other methods are not.
    """

    def __init__(self, model: CollisionModel):
        """Create the objects of coal."""
        self._lock = Lock()
        self._robot = model.robot
        entries = [(g, shape) for g in model.geometries for shape in _coal_shapes(g.shape)]
        self._geometries = [geometry for geometry, _ in entries]
        self._shapes = [shape for _, shape in entries]
        self._places = [coal.Transform3s() for _ in entries]
        self._of = dict[str, list[int]]()
        for i, geometry in enumerate(self._geometries):
            self._of.setdefault(geometry.owner, []).append(i)
        self._distance, self._collision = coal.DistanceRequest(), coal.CollisionRequest()
        self._distance.gjk_tolerance = self._distance.epa_tolerance = 1e-9
        self._coarse = coal.DistanceRequest()  # with coal's tolerance of 1e-6 m

    def move(self, q: Vector) -> None:
        """Move all objects to a posture (n,)."""
        rotations, origins = body_poses(self._robot, q)
        for place, geometry in zip(self._places, self._geometries, strict=True):
            rotation = rotations[geometry.body]
            place.setRotation(rotation @ geometry.rotation)
            place.setTranslation(origins[geometry.body] + rotation @ geometry.translation)

    def separation(self, first: str, second: str) -> Separation:
        """Return the smallest signed distance of the shapes of two owners."""
        return min(
            (self._separation(i, j) for i in self._of[first] for j in self._of[second]),
            key=lambda separation: separation.distance,
        )

    def closest(
        self, q: Vector, pairs: Sequence[tuple[str, str]]
    ) -> tuple[tuple[str, str], Separation]:
        """Return the closest of some pairs of owners at a posture (n,), and its separation.

        Without pairs, the names are empty and the distance is infinite.
        """
        nothing = np.full(3, np.nan)
        best = ("", ""), Separation(np.inf, nothing, nothing)
        with self._lock:
            self.move(q)
            separations = [(pair, self.separation(*pair)) for pair in pairs]
        return min([*separations, best], key=lambda entry: entry[1].distance)

    def touch(self, first: str, second: str) -> bool:
        """Return whether shapes of two owners touch, without padding."""
        return any(
            coal.collide(
                self._shapes[i],
                self._places[i],
                self._shapes[j],
                self._places[j],
                self._collision,
                coal.CollisionResult(),
            )
            for i in self._of[first]
            for j in self._of[second]
        )

    def _separation(self, i: int, j: int) -> Separation:
        distance, result = self._coal_distance(i, j, self._distance)
        if distance < -1e300:  # the depth of about 1 in 1000 contacts fails to converge to 1e-9 m
            distance, result = self._coal_distance(i, j, self._coarse)
        first, second = np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
        paddings = self._geometries[i].padding, self._geometries[j].padding
        if distance > 0.0:
            direction = (second - first) / max(float(np.linalg.norm(second - first)), 1e-300)
            first, second = first + paddings[0] * direction, second - paddings[1] * direction
        return Separation(float(distance) - sum(paddings), first, second)

    def _coal_distance(
        self, i: int, j: int, request: coal.DistanceRequest
    ) -> tuple[float, coal.DistanceResult]:
        result = coal.DistanceResult()
        shapes, places = self._shapes, self._places
        return coal.distance(shapes[i], places[i], shapes[j], places[j], request, result), result


@lru_cache(maxsize=512)
def _coal_shapes(shape: Shape) -> list[coal.CollisionGeometry]:
    return shape.coal_shapes()

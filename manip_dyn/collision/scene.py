"""`Scene`: named shapes around an arm or attached to its links, from Python or YAML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.collision.shapes import (
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    Mesh,
    Shape,
    Sphere,
    centre_and_inertia,
    checked_shape,
    rotation_from_rpy,
)
from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative
from manip_dyn.core.errors import ManipDynError, closest, shortened
from manip_dyn.core.files import mapping, read_yaml
from manip_dyn.robot import Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.model import checked_robot
from manip_dyn.robot.pinocchio_model import with_payloads

FARTHEST = 1e4
"""Largest coordinate of a scene object, m. It bounds the rounding errors of proofs."""


@dataclass(frozen=True, eq=False)
class SceneObject:
    """A shape with a pose.

    Attributes:
        name: Unique name in the scene.
        shape: The shape.
        position: Position (3,) of the shape's frame, m.
        rpy: Roll, pitch and yaw (3,) of the shape's frame, rad, as in URDF.
        link: Name of the link to which the object is attached and in whose frame the pose is
            given. None for an object that is fixed in the base frame.
        padding: Distance by which the shape is enlarged on all sides, m.
        allowed: Names of links and objects that the object may touch.
        mass: Mass of an attached object, kg, which `Scene.loaded` adds to the robot.
    """

    name: str
    shape: Shape
    position: Vector
    rpy: Vector
    link: str | None = None
    padding: float = 0.0
    allowed: tuple[str, ...] = ()
    mass: float = 0.0

    @property
    def rotation(self) -> Matrix:
        """Rotation matrix (3, 3) from the shape's frame to the frame of the pose."""
        return rotation_from_rpy(self.rpy)

    @property
    def content(self) -> tuple[object, ...]:
        """All attributes, for comparisons."""
        position, rpy = tuple(self.position.tolist()), tuple(self.rpy.tolist())
        attached = self.link, self.padding, self.allowed, self.mass
        return self.name, self.shape, position, rpy, *attached


@dataclass(frozen=True, eq=False)
class Scene:
    """Immutable set of named objects around an arm.

    `add` and `without` return new scenes. Scenes with the same objects in the same order are
    equal.

    Attributes:
        objects: Objects by name.
        link_padding: Distances by which the links are enlarged on all sides, m, by link name.
    """

    objects: Mapping[str, SceneObject] = field(default_factory=lambda: MappingProxyType({}))
    link_padding: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Check and freeze the mappings."""
        for name, entry in self.objects.items():
            if not isinstance(entry, SceneObject) or entry.name != name:
                raise ManipDynError(
                    f"objects must map names to scene objects, got {name!r}: {entry!r}. Use add."
                )
        padding = {
            str(link): not_negative(f"link_padding of '{link}'", value, "m")
            for link, value in self.link_padding.items()
        }
        object.__setattr__(self, "objects", MappingProxyType(dict(self.objects)))
        object.__setattr__(self, "link_padding", MappingProxyType(padding))

    @cached_property
    def _content(self) -> tuple[object, ...]:
        objects = tuple(entry.content for entry in self.objects.values())
        return objects, frozenset(self.link_padding.items())

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a scene with the same objects in the same order."""
        return isinstance(other, Scene) and self._content == other._content

    def __hash__(self) -> int:
        """Return the hash of the content."""
        return hash(self._content)

    def __repr__(self) -> str:
        """Return the names of the objects."""
        return f"Scene({', '.join(self.objects)})"

    def __reduce__(self) -> tuple[type[Scene], tuple[dict[str, SceneObject], dict[str, float]]]:
        """Return constructor and arguments, for pickle."""
        return Scene, (dict(self.objects), dict(self.link_padding))

    def add(
        self,
        name: str,
        shape: Shape,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = (0.0, 0.0, 0.0),
        link: str | None = None,
        padding: float = 0.0,
        allowed: Sequence[str] = (),
        mass: float = 0.0,
    ) -> Scene:
        """Return a scene with one more object.

        Args:
            name: Unique name of the object.
            shape: A `Box`, `Sphere`, `Cylinder`, `Capsule`, `HalfSpace` or `Mesh`.
            position: Position (3,) of the shape's frame, m.
            rpy: Roll, pitch and yaw (3,) of the shape's frame, rad, as in URDF.
            link: Name of the link to which the object is attached. Default: fixed in the base
                frame.
            padding: Distance by which the shape is enlarged on all sides, m.
            allowed: Names of links and objects that the object may touch, such as the fingers
                that hold it.
            mass: Mass of an object that is attached to a link, kg. `loaded` adds it to the robot,
                with the centre and inertia of a uniform density.

        Raises:
            ManipDynError: If the name exists or an argument is invalid.
        """
        check_name(name)
        if name in self.objects:
            raise ManipDynError(f"name must be unique in the scene, got '{name}' twice.")
        names = isinstance(allowed, Collection) and not isinstance(allowed, str)
        if not names or not all(isinstance(entry, str) for entry in allowed):
            raise ManipDynError(f"allowed of '{name}' must be a list of names, got {allowed!r}.")
        if not (link is None or isinstance(link, str)):
            raise ManipDynError(f"link of '{name}' must be a name or None, got {link!r}.")
        checked = checked_shape(f"shape of '{name}'", shape)
        if link is not None and isinstance(checked, HalfSpace):
            raise ManipDynError(f"link of the half-space '{name}' must be None, got '{link}'.")
        mass = not_negative(f"mass of '{name}'", mass, "kg")
        if mass and link is None:
            raise ManipDynError(f"mass of '{name}' must be 0 kg without link, got {mass:g} kg.")
        place = finite_vector(f"position of '{name}'", position, 3)
        if np.abs(place).max() > FARTHEST:
            raise ManipDynError(
                f"position of '{name}' must be within {FARTHEST:g} m of the origin, got "
                f"{place.tolist()}."
            )
        entry = SceneObject(
            name,
            checked,
            place,
            finite_vector(f"rpy of '{name}'", rpy, 3),
            link,
            not_negative(f"padding of '{name}'", padding, "m"),
            tuple(allowed),
            mass,
        )
        return replace(self, objects={**self.objects, name: entry})

    def without(self, name: str) -> Scene:
        """Return a scene without the object `name`.

        Raises:
            ManipDynError: If there is no such object.
        """
        if name not in self.objects:
            hint = closest(str(name), self.objects)
            raise ManipDynError(f"name must be an object of the scene, got '{name}'{hint}")
        return replace(self, objects={k: v for k, v in self.objects.items() if k != name})

    def loaded(self, robot: Robot) -> Robot:
        """Return a robot with the masses of the attached objects, for dynamics and planning.

        The masses move with their links, wherever the links are in the arm. The geometry of the
        robot is unchanged, so the result is checked in the same scene.

        Raises:
            ManipDynError: If an object is attached to an unknown link.
        """
        payloads = []
        for entry in self.objects.values():
            if entry.mass and entry.link is not None:
                centre, inertia = centre_and_inertia(entry.shape)
                turn = entry.rotation
                com, tensor = entry.position + turn @ centre, turn @ inertia @ turn.T
                payloads.append(Payload(entry.link, entry.mass, com, entry.mass * tensor))
        return with_payloads(checked_robot(robot), payloads) if payloads else robot


def check_name(name: Any) -> None:
    """Raise an error if the name of an object is not a string or is empty."""
    if not isinstance(name, str) or not name:
        raise ManipDynError(f"name must be a string that is not empty, got {name!r}.")


def load_scene(path: str | Path) -> Scene:
    """Read a scene from a YAML file.

    The file has the key ``objects`` and optionally ``link_padding``. Each object has exactly one
    shape and optionally the other arguments of `Scene.add`::

        objects:
          table: {box: [1.2, 0.8, 0.05], position: [0.6, 0.0, -0.025]}
          ball: {sphere: 0.1, position: [0.5, 0.2, 0.4], padding: 0.01}
          post: {cylinder: {radius: 0.05, length: 1.0}, rpy: [0.0, 0.3, 0.0]}
          hose: {capsule: {radius: 0.02, length: 0.3}, link: tool0, allowed: [wrist_3_link]}
          part: {box: [0.1, 0.1, 0.2], link: tool0, mass: 1.5, allowed: [hose]}
          floor: {half_space: {}, position: [0.0, 0.0, -0.5]}
          bin: {mesh: {file: bin.stl, scale: 0.001, convex: true, hulls: 8}}
        link_padding: {forearm_link: 0.02}

    The paths of mesh files are relative to the YAML file.

    Raises:
        ManipDynError: If the file cannot be read, or has an unknown key or an invalid value.
    """
    if not isinstance(path, (str, Path)):
        raise ManipDynError(f"scene must be the path of a YAML file, got {shortened(path)}.")
    path = Path(path).expanduser()
    if path.is_dir():
        raise ManipDynError(f"scene must be a YAML file, got the folder '{path}'.")
    if not path.is_file():
        raise ManipDynError(f"scene must be a readable file, got '{path}': no such file.")
    return read_yaml(path, lambda content: _scene(content, path.parent))


SHAPES: Mapping[str, tuple[str, ...]] = {
    "box": (),
    "sphere": (),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "half_space": (),
    "mesh": ("file", "scale", "convex", "hulls"),
}
"""Keys of the shapes in YAML and of their fields. Boxes and spheres are numbers."""
PLACEMENT = ("position", "rpy", "link", "padding", "allowed", "mass")


def _scene(content: Any, folder: Path) -> Scene:
    content = mapping("the scene", {} if content is None else content, ("objects", "link_padding"))
    scene = Scene(link_padding=_mapping("link_padding", content.get("link_padding")))
    for name, entry in _mapping("objects", content.get("objects")).items():
        entry = {} if entry is None else entry
        entry = mapping(f"object '{name}'", entry, (*SHAPES, *PLACEMENT))
        kinds = [key for key in entry if key in SHAPES]
        if len(kinds) != 1:
            raise ManipDynError(
                f"object '{name}' must have exactly one of {', '.join(SHAPES)}, got "
                f"{', '.join(kinds) or 'none'}."
            )
        try:
            shape = _shape(kinds[0], entry[kinds[0]], folder)
        except ManipDynError as error:
            raise ManipDynError(f"object '{name}': {error}") from error
        scene = scene.add(str(name), shape, **{k: entry[k] for k in PLACEMENT if k in entry})
    return scene


def _mapping(name: str, value: Any) -> dict[str, Any]:
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise ManipDynError(f"{name} must be a mapping by name, got {value!r}.")
    return value


def _shape(kind: str, value: Any, folder: Path) -> Shape:
    if kind == "box":
        return Box(value)
    if kind == "sphere":
        return Sphere(value)
    if kind == "half_space":
        if value not in (None, {}):
            raise ManipDynError(f"half_space must be {{}}, got {shortened(value)}.")
        return HalfSpace()
    if kind == "mesh" and isinstance(value, str):
        value = {"file": value}
    keys = SHAPES[kind]
    value = mapping(kind, value, keys, required=keys[:1] if kind == "mesh" else keys)
    if kind == "mesh":
        return Mesh(**{**value, "file": str(folder / str(value["file"]))})
    return Cylinder(**value) if kind == "cylinder" else Capsule(**value)

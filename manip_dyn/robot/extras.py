"""Properties that URDF cannot describe, from a YAML file with the name of the URDF.

All keys are optional::

    gravity: [0.0, 0.0, -9.81]                    # m/s^2, base frame
    armature: {JOINT: 0.75}                       # rotor inertia at the joint, kg m^2 or kg
    springs: {JOINT: {stiffness: 400.0, rest: 0.0}}   # N m/rad and rad, or N/m and m
    friction: {JOINT: {coulomb: 4.0, static: 6.0, stribeck_velocity: 0.01}}   # see below
    payload: {link: tool0, mass: 6.0, com: [0, 0, 0], inertia: [0, 0, 0, 0, 0, 0]}

Friction is in N m, with the Stribeck velocity in rad/s, or in N and m/s for prismatic joints.
`payload` is fixed to `link`, and its `mass` is in kg. `com` is the centre of mass in the link
frame, m. `inertia` is the inertia about the centre of mass in the axes of the link, kg m^2, as
ixx, iyy, izz, ixy, ixz, iyz. Joints and links that `lock` or `tip` removed are ignored; unknown
names are errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import mapping, read_yaml
from manip_dyn.robot.urdf import check_inertia_tensor

KEYS = ("gravity", "armature", "springs", "friction", "payload")
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Default gravity in the base frame, m/s^2, as in pinocchio."""


@dataclass(frozen=True)
class Payload:
    """A rigid body fixed to a link.

    Attributes:
        link: Name of the link.
        mass: Mass, kg.
        com: Centre of mass (3,) in the link frame, m.
        inertia: Inertia (3, 3) about the centre of mass in the axes of the link, kg m^2.
    """

    link: str
    mass: float
    com: Vector
    inertia: Vector


class DryFriction(NamedTuple):
    """Dry friction of one joint, see `manip_dyn.robot.model.Friction`.

    Attributes:
        coulomb: Coulomb friction, N m or N. None selects the value of the URDF.
        static: Static friction, N m or N. None selects the Coulomb friction.
        stribeck: Stribeck velocity, rad/s or m/s; 0 for none.
    """

    coulomb: float | None = None
    static: float | None = None
    stribeck: float = 0.0


@dataclass(frozen=True)
class Extras:
    """Content of the YAML file, with joints by name; a spring is (stiffness, rest position)."""

    gravity: Vector = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    armature: dict[str, float] = field(default_factory=dict)
    springs: dict[str, tuple[float, float]] = field(default_factory=dict)
    friction: dict[str, DryFriction] = field(default_factory=dict)
    payload: Payload | None = None


def read_extras(path: Path | None, joints: Iterable[str], links: Iterable[str]) -> Extras:
    """Read a YAML file, or return the defaults if it does not exist.

    Args:
        path: Path of the YAML file, or None.
        joints: Names of all joints in the URDF.
        links: Names of all links in the URDF.

    Raises:
        ManipDynError: If the file is invalid.
    """
    if path is None or not path.is_file():
        return Extras()
    return read_yaml(path, lambda content: _extras(content, list(joints), list(links)))


def _extras(content: Any, joints: list[str], links: list[str]) -> Extras:
    content = {} if content is None else content
    content = mapping("the file", content, KEYS)
    armature = mapping("armature", content.get("armature", {}), joints)
    springs = mapping("springs", content.get("springs", {}), joints)
    friction = mapping("friction", content.get("friction", {}), joints)
    payload = content.get("payload")
    return Extras(
        gravity=finite_vector("gravity", content.get("gravity", STANDARD_GRAVITY), 3),
        armature={j: not_negative(f"armature of {j}", v) for j, v in armature.items()},
        springs={j: _spring(f"spring of {j}", v) for j, v in springs.items()},
        friction={j: _friction(f"friction of {j}", v) for j, v in friction.items()},
        payload=None if payload is None else _payload("payload", payload, links),
    )


def _spring(where: str, entry: Any) -> tuple[float, float]:
    entry = mapping(where, entry, ("stiffness", "rest"))
    stiffness = not_negative(f"{where}, stiffness", entry.get("stiffness"))
    return stiffness, float(finite_vector(f"{where}, rest", [entry.get("rest", 0.0)], 1)[0])


def _friction(where: str, entry: Any) -> DryFriction:
    names = ("coulomb", "static", "stribeck_velocity")
    entry = mapping(where, entry, names)
    coulomb, static, stribeck = (
        None if entry.get(name) is None else not_negative(f"{where}, {name}", entry[name])
        for name in names
    )
    return DryFriction(coulomb, static, stribeck or 0.0)


def _payload(where: str, entry: Any, links: list[str]) -> Payload:
    entry = mapping(where, entry, ("link", "mass", "com", "inertia"))
    if entry.get("link") not in links:
        hint = closest("", links)
        raise ManipDynError(f"{where}: link must exist, got {entry.get('link')!r}{hint}")
    six = finite_vector(f"{where}, inertia", entry.get("inertia", [0.0] * 6), 6)
    ixx, iyy, izz, ixy, ixz, iyz = six
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    check_inertia_tensor(where, tensor)
    return Payload(
        link=entry["link"],
        mass=positive(f"{where}, mass", entry.get("mass"), "kg"),
        com=finite_vector(f"{where}, com", entry.get("com", [0.0] * 3), 3),
        inertia=tensor,
    )

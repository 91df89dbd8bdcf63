"""`load_robot`: create a `Robot` from a URDF and the YAML file with the same name."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot.extras import DryFriction, Extras, read_extras
from manip_dyn.robot.model import Coupling, Friction, Robot, bodies_of, frame_of, ratios_of
from manip_dyn.robot.pinocchio_model import Oracle, pinocchio_model
from manip_dyn.robot.source import read_source, read_srdf
from manip_dyn.robot.urdf import Description, Mimic, inertia_notes

LARGEST_INERTIA = 1e300
"""Joint inertia, kg m^2 or kg, above which computations overflow."""


def load_robot(
    source: str | Path,
    lock: Mapping[str, float] | None = None,
    tip: str | None = None,
    mass_scale: float = 1.0,
    xacro_args: Mapping[str, object] | None = None,
    holds_itself: bool = False,
    viscous_friction: ArrayLike | None = None,
    coulomb_friction: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    srdf: str | Path | None = None,
) -> Robot:
    """Load a robot from a URDF.

    Args:
        source: Name of a shipped robot such as ``pa10``, path of a URDF or xacro file,
            ``package://PACKAGE/PATH`` for a file in a sourced workspace, or a URDF string.
        lock: Positions (rad or m), by joint name, of joints to replace with fixed joints. Joints
            that mimic a locked joint are also locked. Locked links retain their mass.
        tip: Name of the link that is the tool frame. Links beyond it, and side branches attached
            by movable joints, are removed. By default nothing is removed, and the tip is
            ``tool0`` if it exists, otherwise the last link of the chain with the most movable
            joints.
        mass_scale: Factor for the masses and inertias of all bodies and the payload, for example
            for an arm that is heavier than its URDF. Rotor inertias are not scaled.
        xacro_args: Arguments of a xacro file by name.
        holds_itself: Whether the arm's own controller compensates gravity, as those of Universal
            Robots and Franka do. Efforts then exclude the weight, and `gravity` of the robot is
            the uncompensated remainder, which is zero unless `mass_scale` differs from 1.
        viscous_friction: Damping of the joints (n,), N m s/rad or N s/m, instead of the URDF's.
        coulomb_friction: Speed-independent friction of the joints (n,), N m or N, instead of that
            of URDF and YAML file. Zeros disable it.
        armature: Rotor inertia at the joints (n,), kg m^2 or kg, instead of the YAML file's.
        srdf: Path or ``package://`` URI of an SRDF file, or its text. Its ``disable_collisions``
            elements list the pairs of links that need no collision check. By default they are
            found automatically, see `manip_dyn.collision`.

    Returns:
        The robot, with the extras of the YAML file next to the URDF.

    Raises:
        ManipDynError: If the file, the tree, an inertia or an argument is invalid.
    """
    description, extras, folder = _read(source, lock, tip, xacro_args)
    description.check_dynamics()
    scale = positive("mass_scale", mass_scale)
    if holds_itself:  # the controller compensates the weight of the unscaled masses
        extras = replace(extras, gravity=(1.0 - 1.0 / scale) * extras.gravity)
    tip = tip or description.default_tip()
    friction = (viscous_friction, coulomb_friction)
    robot = _build(description, extras, tip, scale, friction, armature)
    _check_mass_matrix(robot)
    return replace(robot, folder=folder, srdf=_srdf_of(robot, srdf))


def load_kinematics(
    source: str | Path,
    lock: Mapping[str, float] | None = None,
    tip: str | None = None,
    xacro_args: Mapping[str, object] | None = None,
    srdf: str | Path | None = None,
) -> Robot:
    """Load a URDF for display, without checks of its dynamics.

    Links without mass and impossible inertias are accepted, so simulations and plans of the robot
    may be wrong or fail. Floating and planar joints are fixed, and `notes` lists them.

    Args:
        source: See `load_robot`.
        lock: See `load_robot`.
        tip: See `load_robot`.
        xacro_args: See `load_robot`.
        srdf: See `load_robot`.

    Raises:
        ManipDynError: If the file, the tree, a number or an argument is invalid.
    """
    description, extras, folder = _read(source, lock, tip, xacro_args)
    fixed = description.fix_unsupported()
    robot = _build(description, extras, tip or description.default_tip(), 1.0, (None, None), None)
    notes = [f"joint '{name}' is shown fixed" for name in fixed]
    return replace(robot, folder=folder, srdf=_srdf_of(robot, srdf), notes=(*robot.notes, *notes))


def _srdf_of(robot: Robot, source: str | Path | None) -> str:
    """Return the text of an SRDF, or ""; raise an error if it is that of another robot."""
    text = read_srdf(source)
    if not text:
        return ""
    elements = ElementTree.fromstring(text).iter("disable_collisions")
    links = {link for element in elements for link in (element.get("link1"), element.get("link2"))}
    if links and links.isdisjoint(robot.link_names):
        raise ManipDynError(
            f"srdf must name links of robot '{robot.name}', got only others, such as "
            f"'{min(map(str, links))}'."
        )
    return text


def _read(
    source: str | Path,
    lock: Mapping[str, float] | None,
    tip: str | None,
    xacro_args: Mapping[str, object] | None,
) -> tuple[Description, Extras, str]:
    """Return the URDF after `tip` and `lock`, the content of the YAML file, and their folder."""
    content = read_source(source, xacro_args)
    description = Description(content)
    extras = read_extras(content.extras, description.joints(), description.links())
    if tip is not None:
        description.cut(tip)
    if not isinstance(lock or {}, Mapping):
        raise ManipDynError(f"lock must be a mapping of joint names to positions, got {lock!r}.")
    description.lock(lock or {})
    folder = "" if content.extras is None else str(content.extras.parent.absolute())
    return description, extras, folder


def _build(
    description: Description,
    extras: Extras,
    tip: str,
    mass_scale: float,
    friction: tuple[ArrayLike | None, ArrayLike | None],
    armature: ArrayLike | None,
) -> Robot:
    model = pinocchio_model(description, extras, mass_scale)
    couplings = _couplings(description, tuple(model.names)[1:])
    mimics = description.mimics()
    names = tuple(c.name for c in couplings if c.name not in mimics)
    joints = [description.movable()[name] for name in names]
    _check_no_mimic(extras, mimics)
    elements = [description.movable()[c.name] for c in couplings]
    by_body = np.array(
        [
            (
                _attribute(element, "dynamics", "damping", 0.0),
                _attribute(element, "dynamics", "friction", 0.0),
                extras.armature.get(element.get("name", ""), 0.0),
            )
            for element in elements
        ]
    ).reshape(-1, 3)
    ratios = ratios_of(couplings)
    damping, inertia = (ratios.T**2 @ by_body[:, [0, 2]]).T.tolist()
    rotors = _not_negative("armature", armature, inertia)
    model.armature = np.array([0.0 if c.name in mimics else rotors[c.joint] for c in couplings])
    dry = _dry_friction(names, (np.abs(ratios).T @ by_body[:, 1]).tolist(), extras, friction[1])
    return Robot(
        name=description.name,
        joint_names=names,
        joint_types=tuple(joint.get("type", "") for joint in joints),
        q_min=_frozen(_position_limit(joint, "lower", -math.inf) for joint in joints),
        q_max=_frozen(_position_limit(joint, "upper", math.inf) for joint in joints),
        v_max=_frozen(_attribute(joint, "limit", "velocity", math.inf) for joint in joints),
        tau_max=_frozen(_attribute(joint, "limit", "effort", math.inf) for joint in joints),
        damping=_not_negative("viscous_friction", friction[0], damping),
        coulomb_friction=dry.coulomb,
        static_friction=dry.static,
        stribeck_velocity=dry.stribeck,
        armature=rotors,
        stiffness=_frozen(extras.springs.get(name, (0.0, 0.0))[0] for name in names),
        rest=_frozen(extras.springs.get(name, (0.0, 0.0))[1] for name in names),
        gravity=_frozen(extras.gravity),
        base=description.base(),
        tip=tip,
        urdf=description.text(),
        notes=(*_notes(names, joints), *inertia_notes(description.root)),
        model=model,
        bodies=bodies_of(model),
        couplings=couplings,
        tip_frame=frame_of(model, tip),
    )


def _couplings(description: Description, names: tuple[str, ...]) -> tuple[Coupling, ...]:
    """Return the couplings of the joints `names` to the independent joints among them."""
    mimics = description.mimics()
    index = {name: i for i, name in enumerate(name for name in names if name not in mimics)}
    return tuple(
        Coupling(name, index[name])
        if name in index
        else Coupling(name, index[mimics[name].leader], mimics[name].ratio, mimics[name].offset)
        for name in names
    )


def _check_no_mimic(extras: Extras, mimics: Mapping[str, Mimic]) -> None:
    """Raise `ManipDynError` for springs or friction of a mimic joint in the YAML file."""
    for key, entries in (("springs", extras.springs), ("friction", extras.friction)):
        for name in mimics.keys() & entries:
            raise ManipDynError(
                f"{key} must be given for an independent joint such as '{mimics[name].leader}', "
                f"got the mimic joint '{name}'."
            )


def _position_limit(joint: Element, key: str, default: float) -> float:
    return default if joint.get("type") == "continuous" else _attribute(joint, "limit", key, 0.0)


def _attribute(joint: Element, tag: str, key: str, default: float) -> float:
    element = joint.find(tag)
    return default if element is None or element.get(key) is None else float(element.get(key, ""))


def _frozen(values: Iterable[float]) -> Vector:
    array = np.array(list(values), dtype=np.float64)
    array.setflags(write=False)
    return array


def _not_negative(name: str, values: ArrayLike | None, default: list[float]) -> Vector:
    array = finite_vector(name, default if values is None else values, len(default))
    if np.any(array < 0.0):
        raise ManipDynError(f"{name} must be at least 0, got {array.tolist()}.")
    return _frozen(array)


def _dry_friction(
    names: tuple[str, ...], urdf: list[float], extras: Extras, coulomb: ArrayLike | None
) -> Friction:
    """Return the friction from the argument, the YAML file or the URDF, in this order."""
    if coulomb is not None:
        levels = _not_negative("coulomb_friction", coulomb, [0.0] * len(names))
        return Friction(levels, levels, _frozen([0.0] * len(names)))
    rows = []
    for name, urdf_level in zip(names, urdf, strict=True):
        entry = extras.friction.get(name, DryFriction())
        level = urdf_level if entry.coulomb is None else entry.coulomb
        static = level if entry.static is None else entry.static
        if static < level:
            raise ManipDynError(
                f"friction of {name}: static must be at least the Coulomb friction {level:g}, got "
                f"{static:g}."
            )
        rows.append((level, static, entry.stribeck))
    return Friction(*map(_frozen, np.array(rows).reshape(-1, 3).T))


def _notes(names: tuple[str, ...], joints: list[Element]) -> list[str]:
    notes = []
    for name, joint in zip(names, joints, strict=True):
        if _attribute(joint, "limit", "effort", math.inf) == 0.0:
            notes.append(f"joint '{name}': the effort limit is 0, so no effort can act on it")
        if _attribute(joint, "limit", "velocity", math.inf) == 0.0:
            notes.append(f"joint '{name}': the speed limit is 0, so no plan or track can move it")
    return notes


def _check_mass_matrix(robot: Robot) -> None:
    """Raise `ManipDynError` if the inertia of a joint is zero or overflows at a test posture."""
    posture = np.full(robot.n, 0.1)
    inertias = Oracle(robot).mass_matrix(posture).diagonal()
    for joint, inertia in zip(robot.joint_names, inertias, strict=True):
        if inertia <= 1e-12:
            raise ManipDynError(
                f"robot '{robot.name}': joint '{joint}' must move an inertia above 0, got "
                f"{inertia:g} kg m^2 or kg. Add an armature in the YAML file."
            )
        if not inertia < LARGEST_INERTIA:
            raise ManipDynError(
                f"robot '{robot.name}': joint '{joint}' moves an inertia above "
                f"{LARGEST_INERTIA:g} kg m^2 or kg. Check the lengths (m) and masses (kg) behind "
                "it."
            )

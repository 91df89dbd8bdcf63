"""`load_robot`: from a URDF (and the YAML beside it) to a `Robot`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.numerics import Friction
from manip_dyn.robot.description import Description
from manip_dyn.robot.extras import DryFriction, Extras, read_extras
from manip_dyn.robot.model import Robot, bodies_of, frame_of
from manip_dyn.robot.pinocchio_model import Oracle, pinocchio_model
from manip_dyn.robot.source import read_source

LARGEST_INERTIA = 1e300
"""Of a joint, kg m^2 or kg: from there on numbers overflow."""


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
) -> Robot:
    """Load a robot from a URDF.

    Args:
        source: Name of a shipped robot such as ``pa10``, path of a URDF or xacro file,
            ``package://PACKAGE/PATH`` of one in a sourced workspace, or the URDF itself as text.
        lock: Joints to hold fixed, by name, at a position in rad or m. A joint that mimics a
            locked one is locked with it. Locked links keep their mass.
        tip: Link whose frame is the tool. What lies beyond it, and side branches behind other
            movable joints, are cut off. Default: ``tool0``, else the longest chain's last link.
        mass_scale: Factor of the masses and inertias of all bodies, payload included, as for an
            arm that is heavier than its description says; rotor inertias stay.
        xacro_args: Arguments of a xacro file, by name.
        holds_itself: Whether the arm's own controller holds its weight, as those of Universal
            Robots and Franka do: efforts are without it then, and `gravity` of the robot is what
            that controller leaves over, which is nothing unless `mass_scale` hides mass from it.
        viscous_friction: Damping of the joints (n,), N m s/rad or N s/m, instead of the URDF's.
        coulomb_friction: Friction of the joints (n,), N m or N, at rest and at any speed, instead
            of the URDF's and the YAML's; zeros for none.
        armature: Rotor inertia at the joints (n,), kg m^2 or kg, instead of the YAML's.

    Returns:
        The robot, with the extras of the YAML file of the same stem beside the URDF.

    Raises:
        ManipDynError: If the file, the tree, an inertia or an argument cannot be used.
    """
    found = read_source(source, xacro_args)
    description = Description(found)
    extras = read_extras(found.extras, description.joints(), description.links())
    if tip is not None:
        description.cut(tip)
    if not isinstance(lock or {}, Mapping):
        raise ManipDynError(f"lock is {lock!r}; expected joint names with their positions")
    description.lock(lock or {})
    description.check_dynamics()
    tip = tip or description.default_tip()
    scale = positive("mass_scale", mass_scale)
    if holds_itself:  # the weight of the masses that its controller knows is taken off that of all
        extras = replace(extras, gravity=(1.0 - 1.0 / scale) * extras.gravity)
    return _build(description, extras, tip, scale, (viscous_friction, coulomb_friction), armature)


def _build(
    description: Description,
    extras: Extras,
    tip: str,
    mass_scale: float,
    friction: tuple[ArrayLike | None, ArrayLike | None],
    armature: ArrayLike | None,
) -> Robot:
    model = pinocchio_model(description, extras, mass_scale)
    names = tuple(model.names)[1:]
    rotors = _not_negative(
        "armature", armature, [extras.armature.get(name, 0.0) for name in names]
    )
    model.armature = np.array(rotors)
    joints = [description.movable()[name] for name in names]
    damping = [_attribute(joint, "dynamics", "damping", 0.0) for joint in joints]
    dry = _dry_friction(names, joints, extras, friction[1])
    robot = Robot(
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
        notes=tuple(_notes(names, joints)),
        model=model,
        bodies=bodies_of(model),
        tip_frame=frame_of(model, tip),
    )
    _check_mass_matrix(robot)
    return robot


def _position_limit(joint: Element, key: str, without: float) -> float:
    return without if joint.get("type") == "continuous" else _attribute(joint, "limit", key, 0.0)


def _attribute(joint: Element, tag: str, key: str, without: float) -> float:
    element = joint.find(tag)
    return without if element is None or element.get(key) is None else float(element.get(key, ""))


def _frozen(values: Iterable[float]) -> Vector:
    array = np.array(list(values), dtype=np.float64)
    array.setflags(write=False)
    return array


def _not_negative(name: str, given: ArrayLike | None, usual: list[float]) -> Vector:
    array = finite_vector(name, usual if given is None else given, len(usual))
    if np.any(array < 0.0):
        raise ManipDynError(f"{name} is {array.tolist()}; expected none below 0")
    return _frozen(array)


def _dry_friction(
    names: tuple[str, ...], joints: list[Element], extras: Extras, given: ArrayLike | None
) -> Friction:
    """Return the friction that is given, or else the YAML's, or else the URDF's."""
    if given is not None:
        every = _not_negative("coulomb_friction", given, [0.0] * len(joints))
        return Friction(every, every, _frozen([0.0] * len(joints)))
    rows = []
    for name, joint in zip(names, joints, strict=True):
        said = extras.friction.get(name, DryFriction())
        stated = _attribute(joint, "dynamics", "friction", 0.0)
        level = stated if said.coulomb is None else said.coulomb
        static = level if said.static is None else said.static
        if static < level:
            raise ManipDynError(
                f"friction of {name} is {level:g} with static {static:g}; expected a static one "
                "not below"
            )
        rows.append((level, static, said.stribeck))
    return Friction(*(_frozen(each) for each in zip(*rows, strict=True)))


def _notes(names: tuple[str, ...], joints: list[Element]) -> list[str]:
    notes = []
    for name, joint in zip(names, joints, strict=True):
        if _attribute(joint, "limit", "effort", math.inf) == 0.0:
            notes.append(f"joint '{name}': the effort limit is 0, so no torque can act on it")
        if _attribute(joint, "limit", "velocity", math.inf) == 0.0:
            notes.append(f"joint '{name}': the speed limit is 0, so no plan or track can move it")
    return notes


def _check_mass_matrix(robot: Robot) -> None:
    """Refuse a joint that nothing resists, or nothing moves: no acceleration is defined."""
    posture = np.full(robot.n, 0.1)
    inertias = Oracle(robot).mass_matrix(posture).diagonal()
    for joint, inertia in zip(robot.joint_names, inertias, strict=True):
        if inertia <= 1e-12:
            raise ManipDynError(
                f"robot '{robot.name}': joint '{joint}' moves no inertia ({inertia:g} kg m^2 or "
                "kg about its axis); expected more than 0, or an armature in the YAML beside it"
            )
        if not inertia < LARGEST_INERTIA:
            raise ManipDynError(
                f"robot '{robot.name}': joint '{joint}' moves an inertia beyond "
                f"{LARGEST_INERTIA:g} kg m^2 or kg; expected less: check the lengths (m) and "
                "masses (kg) behind it"
            )

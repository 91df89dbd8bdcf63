"""Joints and forces as rows of primitives: which function, which bodies, what is fixed to them.

Haug (1989), section 9.4: a spherical joint is three points, a universal one adds a dot-1, a
revolute one two, a translational one is three dot-1 and two dot-2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody.equations.tables import ROTATIONAL_SPRING, SPRING, TYRE
from manip_dyn.multibody.kernels.primitives import DISTANCE, DOT_1, DOT_2, POINT
from manip_dyn.multibody.model.elements import Joint, RotationalSpring, Spring, Tyre

Pose = tuple[Vector, Vector]
"""Position (3,) and rotation (3, 3) of a body."""


class Row(NamedTuple):
    """A primitive and what it is about: r (12,) in body axes, or global for a point's a_i."""

    kind: int
    numbers: Vector


def joint_rows(joint: Joint, poses: Sequence[Pose]) -> list[Row]:
    """Return the primitives that a joint between bodies with two poses keeps constant."""
    row = _rows(poses, joint.points)
    points = [row(POINT, unit) for unit in np.eye(3)]
    if joint.kind == "spherical":
        return points
    if joint.kind == "distance":
        return [row(DISTANCE)]
    if joint.kind == "component":
        return [row(DOT_2, joint.axis[0])]
    if joint.kind == "universal":
        return [*points, row(DOT_1, joint.axis[0], joint.axis[1])]
    h = joint.axis[0] if joint.axis is not None else np.array([0.0, 0.0, 1.0])
    f, g = across(h)
    parallel = [row(DOT_1, f, h), row(DOT_1, g, h)]
    if joint.kind == "revolute":
        return [*points, *parallel]
    still = row(DOT_1, f, g)
    if joint.kind == "fixed":
        return [*points, *parallel, still]
    if joint.kind == "translational":
        return [*parallel, still, row(DOT_2, f), row(DOT_2, g)]
    raise NotImplementedError(f"there are no constraints for a joint of kind '{joint.kind}'")


def force_row(
    force: Spring | RotationalSpring | Tyre, poses: Sequence[Pose]
) -> tuple[int, Vector, Vector]:
    """Return the law of a force, r and second r (24,), and the law's constants (8,)."""
    constants = np.zeros(8)
    if isinstance(force, Spring):
        straight = _rows(poses, force.points)(DISTANCE)
        constants[:4] = force.stiffness, force.damping, force.length, force.force
        return SPRING, np.concatenate([straight.numbers, np.zeros(12)]), constants
    if isinstance(force, RotationalSpring):
        f, g = across(force.axis)
        c, s = np.cos(force.rest), np.sin(force.rest)
        row = _rows(poses, np.zeros((2, 3)))
        along, across_it = row(DOT_1, c * f + s * g, f), row(DOT_1, c * g - s * f, f)
        constants[:4] = force.stiffness, force.damping, 0.0, force.force
        numbers = np.concatenate([along.numbers, across_it.numbers])
        return ROTATIONAL_SPRING, numbers, constants
    ends = np.array([np.zeros(3), force.point])
    upward = _rows(poses, ends)(POINT, np.array([0.0, 0.0, 1.0]))
    constants[:3] = force.stiffness, force.damping, force.radius
    constants[4:] = force.radius, force.bump, force.speed, force.hit
    return TYRE, np.concatenate([upward.numbers, np.zeros(12)]), constants


def told(row: Row) -> str:
    """Return what a row of a joint keeps, in words."""
    if row.kind == POINT:
        return f"position along {'xyz'[int(np.argmax(np.abs(row.numbers[:3])))]}"
    return {DOT_1: "direction", DOT_2: "displacement", DISTANCE: "distance"}[row.kind]


def told_apart(names: Sequence[str]) -> list[str]:
    """Return names of which no two are alike: those that stand several times get a number."""
    count, made = Counter(names), list[str]()
    for name in names:
        number, new = 1, name
        while count[name] > 1 and (new in count or new in made):
            new, number = f"{name} ({number})", number + 1
        made.append(new)
    return made


def across(h: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors that make a right-handed frame f, g, h."""
    start = np.eye(3)[int(np.argmin(np.abs(h)))]
    f = np.cross(start, h)
    f = f / np.linalg.norm(f)
    return f, np.cross(h, f)


def _rows(poses: Sequence[Pose], points: Vector) -> Callable[..., Row]:
    """Return what makes a row of a kind and up to two global directions, at two points."""
    (p_i, turn_i), (p_j, turn_j) = poses

    def row(kind: int, first: Vector | None = None, second: Vector | None = None) -> Row:
        numbers = np.zeros(12)
        if first is not None:
            numbers[:3] = first if kind == POINT else turn_i.T @ first
        if second is not None:
            numbers[3:6] = turn_j.T @ second
        numbers[6:9] = turn_i.T @ (points[0] - p_i)
        numbers[9:12] = turn_j.T @ (points[1] - p_j)
        return Row(kind, numbers)

    return row

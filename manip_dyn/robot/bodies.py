"""A robot's moving bodies as plain numbers, each in a frame whose z axis is its joint's axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector


class Body(NamedTuple):
    """One moving body with its joint.

    Attributes:
        parent: Index of the parent body, -1 for the base.
        prismatic: Whether the joint slides along z instead of turning about it.
        rotation: Of the joint frame at q = 0 in the parent frame, (3, 3).
        translation: Of the joint frame in the parent frame, (3,), m.
        mass: kg.
        com: Centre of mass in the body frame, (3,), m.
        inertia: About the centre of mass in the body's axes, (3, 3), kg m^2.
    """

    parent: int
    prismatic: bool
    rotation: Matrix
    translation: Vector
    mass: float
    com: Vector
    inertia: Matrix


class Frame(NamedTuple):
    """A frame fixed to a body (index, -1 for the base): rotation (3, 3), translation (3,)."""

    body: int
    rotation: Vector
    translation: Vector


def bodies_of(model: pinocchio.Model) -> tuple[Body, ...]:
    """Return the bodies of a pinocchio model, base to tips."""
    subspaces = _subspaces(model)
    axes = [np.eye(3), *body_axes(model)]
    bodies = []
    for i in range(1, model.njoints):
        parent, placement = model.parents[i], model.jointPlacements[i]
        inertia = model.inertias[i]
        bodies.append(
            Body(
                parent=parent - 1,
                prismatic=bool(np.any(subspaces[i - 1][0])),
                rotation=_snapped(axes[parent].T @ placement.rotation @ axes[i]),
                translation=_snapped(axes[parent].T @ placement.translation),
                mass=float(inertia.mass),
                com=_snapped(axes[i].T @ inertia.lever),
                inertia=_snapped(axes[i].T @ inertia.inertia @ axes[i]),
            )
        )
    return tuple(bodies)


def body_axes(model: pinocchio.Model) -> list[Matrix]:
    """Return the axes (3, 3) of each body's frame in that of its joint in pinocchio."""
    return [_frame_about(linear + angular) for linear, angular in _subspaces(model)]


def frame_of(model: pinocchio.Model, link: str) -> Frame:
    """Return the frame of a link."""
    frame = model.frames[model.getFrameId(link, pinocchio.BODY)]
    joint, placement = frame.parentJoint, frame.placement
    axes = np.eye(3) if joint == 0 else _frame_about(sum(_subspaces(model)[joint - 1]))
    rotation = _snapped(axes.T @ placement.rotation)
    return Frame(joint - 1, rotation, _snapped(axes.T @ placement.translation))


def _subspaces(model: pinocchio.Model) -> list[tuple[Vector, Vector]]:
    """Return per joint the linear and angular velocity (3,) at unit speed, in its own frame."""
    data = model.createData()
    pinocchio.forwardKinematics(model, data, np.zeros(model.nq), np.ones(model.nv))
    columns = [np.array(data.joints[i].S).reshape(6) for i in range(1, model.njoints)]
    return [(column[:3], column[3:]) for column in columns]


def _frame_about(axis: Vector) -> Matrix:
    """Return a rotation (3, 3) whose third column is the unit vector `axis`.

    A coordinate axis gives a permutation of the coordinate axes, so that zeros stay zeros.
    """
    first = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = first - (first @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _snapped(values: Vector) -> Vector:
    """Return the values with rounding noise about 0 and 1 removed, so that it can fold away."""
    snapped = np.array(values, dtype=np.float64)
    for exact in (0.0, 1.0, -1.0):
        snapped[np.abs(snapped - exact) < 4e-16] = exact
    return snapped

"""A robot's numbers as arrays, for the loops of `dynamics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.rigid_body.inertia import rigid_bodies
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector


class Tree(NamedTuple):
    """The numbers of a robot whose n joints have their descendants right behind them.

    Attributes:
        parent: Number of each joint's parent, (n,); -1 at the base.
        related: 1 where one of two joints carries the other, or both are one, else 0, (n, n).
        prismatic: 1 for prismatic joints, 0 for revolute ones, (n,).
        rotation: Of the body in its parent's axes at q = 0, (n, 3, 3).
        translation: Of the body's origin in its parent's axes at q = 0, (n, 3), m.
        mass: kg, (n,).
        moment: First moments of mass about the body's origin, in its axes, (n, 3), kg m.
        spread: Second moments sum(m r r^T), (n, 3, 3), kg m^2.
        gravity: In the base's axes, (3,), m/s^2.
        armature: Rotor inertias, (n,), kg m^2 or kg.
        damping: (n,), N m s or N s/m.
        stiffness: Of the springs, (n,), N m or N/m.
        rest: Positions of the springs without effort, (n,), rad or m.
    """

    parent: Any
    related: Any
    prismatic: Any
    rotation: Any
    translation: Any
    mass: Any
    moment: Any
    spread: Any
    gravity: Any
    armature: Any
    damping: Any
    stiffness: Any
    rest: Any


def tree_of(robot: Robot) -> Tree:
    """Return the numbers of a robot."""
    bodies, rigid = robot.bodies, rigid_bodies(robot.bodies)
    inertias: Vector = np.array([each.inertia for each in rigid])
    traces = np.trace(inertias, axis1=1, axis2=2)
    parents = [body.parent for body in bodies]
    return Tree(
        parent=np.array(parents),
        related=_related(parents),
        prismatic=np.array([int(body.prismatic) for body in bodies]),
        rotation=np.array([body.rotation for body in bodies]),
        translation=np.array([body.translation for body in bodies]),
        mass=np.array([each.mass for each in rigid]),
        moment=np.array([each.moment for each in rigid]),
        spread=0.5 * traces[:, None, None] * np.eye(3) - inertias,
        gravity=np.array(robot.gravity),
        armature=np.array(robot.armature),
        damping=np.array(robot.damping),
        stiffness=np.array(robot.stiffness),
        rest=np.array(robot.rest),
    )


def _related(parents: Sequence[int]) -> Vector:
    """Return 1 where a joint is the other's ancestor or descendant, or both are one, else 0."""
    related = np.eye(len(parents))
    for joint in range(len(parents)):
        above = parents[joint]
        while above >= 0:
            related[joint, above] = related[above, joint] = 1.0
            above = parents[above]
    return related

"""Base parameters: the same dynamics with as many inertial parameters zero as joints allow.

A part of a body's inertia that its joint cannot tell from the parent's is given to the parent:
for a revolute joint about z the mass, the first moment along z, and equal moments of inertia
about x and y; for a prismatic joint all moments of inertia. What remains of a body is not
that of any real body, but the efforts, the mass matrix and the accelerations are the arm's own.

Gautier, Khalil (1990), Direct calculation of minimum set of inertial parameters of serial
robots; Khalil, Kleinfinger (1987).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manip_dyn.codegen.rigid_body.inertia import Rigid
from manip_dyn.codegen.rigid_body.kinematics import JointPose
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Body


def with_base_parameters(bodies: Sequence[Body], rigid: Sequence[Rigid]) -> list[Rigid]:
    """Return equivalent parameters (floats) of the bodies, base to tips.

    What reaches the base drops out: it never moves, so only the potential energy, and that by
    a constant, would know it.
    """
    return [_without_noise(each) for each in regrouped(bodies, rigid)]


def regrouped(bodies: Sequence[Body], rigid: Sequence[Rigid]) -> list[Rigid]:
    """Return equivalent parameters of the bodies, numbers or arrays; rounding leaves its noise."""
    left = list(rigid)
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        left[i], given = _split(left[i], body.prismatic)
        if body.parent >= 0:
            pose = JointPose(body.rotation.tolist(), 1.0, 0.0, body.translation.tolist())
            left[body.parent] = left[body.parent].plus(given.seen_from(pose))
    return left


def kept_parameters(prismatic: bool) -> list[bool]:
    """Return which of a body's ten parameters, as `Rigid.numbers`, regrouping leaves to it."""
    moments = [not prismatic, False, *[not prismatic] * 4]
    return [prismatic, True, True, prismatic, *moments]


def _split(rigid: Rigid, prismatic: bool) -> tuple[Rigid, Rigid]:
    """Return what stays with the body and what its parent takes over."""
    mass, moment, inertia = rigid
    none = [[0.0] * 3 for _ in range(3)]
    if prismatic:
        return Rigid(mass, moment, none), Rigid(0.0, [0.0] * 3, inertia)
    across = inertia[1][1]
    rest = [list(row) for row in inertia]
    rest[0][0] = rest[0][0] - across  # of arrays, the caller's stays
    rest[1][1] = 0.0
    given = [[across, 0.0, 0.0], [0.0, across, 0.0], [0.0, 0.0, 0.0]]
    return Rigid(0.0, [*moment[:2], 0.0], rest), Rigid(mass, [0.0, 0.0, moment[2]], given)


def _without_noise(rigid: Rigid) -> Rigid:
    """Return the parameters with what rounding left of zeros removed."""
    inertia: Vector = np.array(rigid.inertia)
    moment: Vector = np.array(rigid.moment)
    inertia[np.abs(inertia) < 1e-15 * np.abs(inertia).max(initial=0.0)] = 0.0
    moment[np.abs(moment) < 1e-15 * np.abs(moment).max(initial=0.0)] = 0.0
    return Rigid(rigid.mass, moment.tolist(), inertia.tolist())

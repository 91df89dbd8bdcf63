"""Work done on each link by its weight and by the forces and moments at its joints.

The Newton-Euler recursion computes the force f and the moment n that the preceding link exerts on
each link (Fan 2003, eqs. 3.58-3.64). The power on a link is the power of f, n and the weight,
minus the power that the link transmits to its children (eqs. 5.65-5.66, 6.50-6.51). For any tree
of revolute and prismatic joints, it is::

    P_i = f_i . v_i + n_i . w_i + m_i g . v_ci - sum_c (f_c . (v_i + w_i x r_c) + n_c . w_i)

Here v_i and v_ci are the velocities of the joint origin and of the centre of mass of link i, w_i
is its angular velocity, m_i its mass, and g the gravity. The sum is over the children c of the
link, whose joint origins are at r_c relative to that of the link.

By the work-energy principle, this power changes the kinetic energy of the link. The net work on
each link over a motion from rest to rest is therefore zero.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot

POINTS = 16
"""Number of points of the Gauss-Legendre rule between two knots."""
FEW, DENSE = 4, 100
"""Number of points of the rule if there are more than `DENSE` knots, and this number of knots."""
LONGEST = 0.2
"""Longest interval between knots, as a fraction of the duration. Longer intervals are divided."""


class Moving(Protocol):
    """Interface of a motion with knots that is evaluated at many times in one call."""

    @property
    def knots(self) -> Vector:
        """Times between which the efforts are smooth, s."""

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""


class WorkCurves(NamedTuple):
    """Times (k,), s, and the work (k, b), J, done on each of b moving links up to these times.

    Without mimic joints, there is one link per joint.
    """

    time: Vector
    work: Vector


class _LinkMotion(NamedTuple):
    """Motion of a link at k times, in base axes: pose, velocities and accelerations."""

    rotation: Vector
    origin: Vector
    omega: Vector
    velocity: Vector
    alpha: Vector
    acceleration: Vector


def work_curves(robot: Robot, moving: Moving) -> WorkCurves:
    """Return the work on each link of `robot` up to the knots of a motion.

    Long intervals between knots are divided, see `LONGEST`.
    """
    knots = _refined_knots(np.unique(moving.knots))
    if len(knots) < 2:
        return WorkCurves(knots, np.zeros((len(knots), len(robot.bodies))))
    points = POINTS if len(knots) <= DENSE else FEW
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = 0.5 * np.diff(knots)
    times = (0.5 * (knots[:-1] + knots[1:]))[:, None] + half[:, None] * nodes
    forward = customize(robot).unchecked.forward_dynamics
    q, v, effort = moving.at(times.ravel())
    drive = effort - robot.friction.sliding(v, np.abs(v))
    a = np.array([forward(*state) for state in zip(q, v, drive, strict=True)])
    power = link_powers(robot, q, v, a).reshape(*times.shape, -1)
    steps = half[:, None] * np.einsum("kpn,p->kn", power, weights)
    return WorkCurves(knots, np.vstack([0.0 * steps[:1], np.cumsum(steps, axis=0)]))


def _refined_knots(knots: Vector) -> Vector:
    """Return the knots, with additional knots in long intervals."""
    longest = LONGEST * (knots[-1] - knots[0]) * (1.0 + 1e-9)
    segments = [knots[:1]]
    for begin, end in pairwise(knots):
        segments.append(np.linspace(begin, end, int(np.ceil((end - begin) / longest)) + 1)[1:])
    return np.concatenate(segments)


def link_powers(robot: Robot, q: Vector, v: Vector, a: Vector) -> Matrix:
    """Return the power (k, b), W, on each of b moving links for k states.

    Args:
        robot: The arm.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s.
        a: Accelerations (k, n), rad/s^2 or m/s^2.
    """
    ratios = robot.ratios.T
    links = _link_motions(robot, robot.body_positions(q.T).T, v @ ratios, a @ ratios)
    count, n = len(q), len(links)
    forces, moments = np.zeros((n, count, 3)), np.zeros((n, count, 3))
    powers = np.zeros((count, n))
    for i in reversed(range(n)):
        body, link = robot.bodies[i], links[i]
        lever = link.rotation @ body.com
        acceleration = (
            link.acceleration
            + np.cross(link.alpha, lever)
            + np.cross(link.omega, np.cross(link.omega, lever))
        )
        force = body.mass * (acceleration - robot.gravity)
        tensor = link.rotation @ body.inertia @ link.rotation.swapaxes(1, 2)
        spin = np.einsum("kij,kj->ki", tensor, link.omega)
        forces[i] += force
        moments[i] += (
            np.einsum("kij,kj->ki", tensor, link.alpha)
            + np.cross(link.omega, spin)
            + np.cross(lever, force)
        )
        at_center = link.velocity + np.cross(link.omega, lever)
        powers[:, i] += _dot(forces[i], link.velocity) + _dot(moments[i], link.omega)
        powers[:, i] += body.mass * at_center @ robot.gravity
        k = body.parent
        if k >= 0:
            arm = link.origin - links[k].origin
            at_joint = links[k].velocity + np.cross(links[k].omega, arm)
            powers[:, k] -= _dot(forces[i], at_joint) + _dot(moments[i], links[k].omega)
            forces[k] += forces[i]
            moments[k] += moments[i] + np.cross(arm, forces[i])
    return powers


def _link_motions(robot: Robot, q: Vector, v: Vector, a: Vector) -> list[_LinkMotion]:
    """Return the motions of the links, parents before children (Fan 2003, eqs. 3.60-3.64).

    Positions, velocities and accelerations (k, b) are those of the joints of b bodies.
    """
    count = len(q)
    still = np.zeros((count, 3))
    base = _LinkMotion(np.tile(np.eye(3), (count, 1, 1)), *[still] * 5)
    links: list[_LinkMotion] = []
    for i, body in enumerate(robot.bodies):
        above = links[body.parent] if body.parent >= 0 else base
        frame = above.rotation @ body.rotation
        axis = frame[:, :, 2]
        arm = above.rotation @ body.translation
        turn, rate, push = np.tile(np.eye(3), (count, 1, 1)), v[:, i, None], a[:, i, None]
        if body.prismatic:
            arm = arm + axis * q[:, i, None]
        else:
            cosine, sine = np.cos(q[:, i]), np.sin(q[:, i])
            turn[:, 0, 0], turn[:, 0, 1], turn[:, 1, 0], turn[:, 1, 1] = (
                cosine,
                -sine,
                sine,
                cosine,
            )
        omega, alpha = above.omega, above.alpha
        velocity = above.velocity + np.cross(omega, arm)
        acceleration = (
            above.acceleration + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        )
        if body.prismatic:
            velocity = velocity + axis * rate
            acceleration = acceleration + axis * push + 2.0 * np.cross(omega, axis * rate)
        else:
            alpha = alpha + axis * push + np.cross(omega, axis * rate)
            omega = omega + axis * rate
        pose = (frame @ turn, above.origin + arm)
        links.append(_LinkMotion(*pose, omega, velocity, alpha, acceleration))
    return links


def _dot(a: Vector, b: Vector) -> Vector:
    return np.einsum("ki,ki->k", a, b)

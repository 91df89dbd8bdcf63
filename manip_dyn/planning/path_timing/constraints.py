"""Limits along a path as constraint rows, each between -1 and 1.

On a path q(s) the arm has one degree of freedom. Let x be the square of the path speed ds/dt and u
the path acceleration. A row is a limited quantity divided by its limit::

    a(s) u + c(s) x + d(s) sqrt(x) + f exp(-m(s)^2 x) + b(s)

For an effort, a = M q' and c = M q'' + (Coriolis and centrifugal terms at dq/dt = q'). d is
viscous damping, f the difference of static and Coulomb friction, and b the sum of weight, springs
and Coulomb friction, which acts in the direction of q' (Bobrow, Dubowsky, Gibson 1985; Shin, McKay
1985). For an acceleration, a = q' and c = q''. For the squared speed, c = q'^2 of the joint that
is nearest to its limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Tensor, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.numerics import Friction
from manip_dyn.planning.path_timing.joint_path import ENDPOINT_OFFSET, JointPath
from manip_dyn.robot import Robot

SAMPLE_FRACTIONS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Where in an interval the rows are known: its ends are constrained, all are checked."""
NO_WRENCH = np.zeros(6)
STANDSTILL = 1e-13
"""Joints whose dq/ds is less than this share of the largest one stand still."""


class Limits(NamedTuple):
    """What is limited: speeds, efforts, accelerations (n,) (inf: not), and the payload (10,)."""

    speed: Vector
    effort: Vector
    acceleration: Vector
    payload: Vector | None


class ConstraintRows(NamedTuple):
    """The rows of all intervals (k, p, r) at p places of each, see the module.

    The first n rows are efforts, the next n accelerations, where any is limited; the last one is
    the speed.
    """

    a: Tensor
    c: Tensor
    d: Tensor
    f: Tensor
    m: Tensor
    b: Tensor

    @property
    def rough(self) -> bool:
        """Whether there is damping, or friction that falls."""
        return bool(np.any(self.d) or np.any(self.f))


class Geometry(NamedTuple):
    """The path at the places of all intervals: q, q', q'', (k, p, n)."""

    q: Tensor
    first: Tensor
    second: Tensor


def geometry(path: JointPath, begins: Vector, widths: Vector, shares: Vector) -> Geometry:
    """Return the path at places of intervals (k,), shares of them (p,)."""
    shares = np.clip(shares, ENDPOINT_OFFSET, 1.0 - ENDPOINT_OFFSET)
    s = begins[:, None] + widths[:, None] * shares
    shape = (*s.shape, -1)
    return Geometry(*(path(s.ravel(), order).reshape(shape) for order in range(3)))


def constraint_rows(robot: Robot, limits: Limits, along: Geometry) -> ConstraintRows:
    """Return the rows of all intervals."""
    k, p, n = along.q.shape
    flat = [np.ascontiguousarray(each.reshape(k * p, n)) for each in along]
    limited = bool(np.any(np.isfinite(limits.acceleration)))
    made = np.zeros((6, k * p, (2 if limited else 1) * n + 1))
    loaded = limits.payload is not None
    payload = limits.payload if limits.payload is not None else np.zeros(10)
    name = "inverse_dynamics_loaded" if loaded else "inverse_dynamics"
    (address,) = addresses(robot, name)
    # Copies, which are of one type whether their owners may be written to or not.
    vectors = (robot.damping, limits.effort, limits.acceleration, limits.speed)
    damping, effort, acceleration, speed = (np.array(each) for each in vectors)
    friction = Friction(*(np.array(each) for each in robot.friction))
    _fill_rows(
        address,
        loaded,
        payload,
        NO_WRENCH,
        flat[0],
        flat[1],
        flat[2],
        damping,
        friction,
        effort,
        acceleration,
        speed,
        made,
    )
    return ConstraintRows(*made.reshape(6, k, p, -1))


@compiled
def _fill_rows(
    address,
    loaded,
    payload,
    wrench,
    q,
    first,
    second,
    damping,
    friction,
    effort,
    acceleration,
    speed,
    out,
):
    """Write the rows at all places; a limit of infinity gives a row of zeros."""
    n, last = q.shape[1], out.shape[2] - 1
    x, v, a = np.zeros(n), np.zeros(n), np.zeros(n)
    weight, push, square = np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(q.shape[0]):
        for part in range(3):
            for i in range(n):
                x[i] = q[k, i]
                v[i] = first[k, i] if part == 2 else 0.0
                a[i] = (0.0, first[k, i], second[k, i])[part]
            into = (weight, push, square)[part]
            if loaded:
                call_kernel(address, (x, v, a, payload, wrench, into))
            else:
                call_kernel(address, (x, v, a, into))
        fastest, largest = 0.0, 0.0
        for i in range(n):
            largest = max(largest, abs(first[k, i]))
        for i in range(n):
            share, along = 1.0 / effort[i], first[k, i]
            drag = damping[i] * along
            out[0, k, i] = (push[i] - weight[i]) * share
            out[1, k, i] = (square[i] - weight[i] - drag) * share
            out[2, k, i] = drag * share
            side = 1.0 if along > 0.0 else -1.0
            if abs(along) <= STANDSTILL * largest:
                side = 0.0
            out[3, k, i] = side * (friction.static[i] - friction.coulomb[i]) * share
            if friction.stribeck[i] > 0.0:
                out[4, k, i] = along / friction.stribeck[i]
            out[5, k, i] = (weight[i] + side * friction.coulomb[i]) * share
            if last > n:
                out[0, k, n + i] = along / acceleration[i]
                out[1, k, n + i] = second[k, i] / acceleration[i]
            fastest = max(fastest, abs(along) / speed[i])
        out[1, k, last] = fastest * fastest


@compiled
def evaluate_rows(rows, rough, widths, squares, shares, bulges, beyond, used):
    """Write what the rows come to inside the intervals.

    Args:
        rows: At places of the intervals, shares of them (p,).
        rough: Whether there is damping, or friction that falls.
        widths: Of the intervals (k,).
        squares: Control points (2 k + 1,) of the squared speed, see `speed_profile`.
        shares: The places (p,).
        bulges: Whether a quarter of the greatest second difference is added: a parabola is
            greater by half as much between places at equal distances.
        beyond: The greatest of each row (k, r), less 1.
        used: The lesser at both ends (k,) of what the greatest row there comes to.
    """
    a, c, d, f, m, b = rows
    for k in range(widths.shape[0]):
        x, z, y = squares[2 * k], squares[2 * k + 1], squares[2 * k + 2]
        first, last = (z - x) / widths[k], (y - z) / widths[k]
        begin, end = 0.0, 0.0
        for r in range(a.shape[2]):
            most, bulge, before, rise = 0.0, 0.0, 0.0, 0.0
            for p in range(shares.shape[0]):
                t = shares[p]
                u = first + (last - first) * t
                square = (1.0 - t) * ((1.0 - t) * x + 2.0 * t * z) + t * t * y
                value = a[k, p, r] * u + c[k, p, r] * square + b[k, p, r]
                if rough:
                    root = np.sqrt(square)
                    value += d[k, p, r] * root
                    value += f[k, p, r] * np.exp(-m[k, p, r] * m[k, p, r] * square)
                most = max(most, abs(value))
                if p == 0:
                    begin = max(begin, abs(value))
                if p == shares.shape[0] - 1:
                    end = max(end, abs(value))
                if p > 1:
                    bulge = max(bulge, abs(value - before - rise))
                rise, before = value - before, value
            beyond[k, r] = most - 1.0 + (bulge / 4.0 if bulges else 0.0)
        used[k] = min(begin, end)

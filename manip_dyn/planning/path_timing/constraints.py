"""Limits along a path as constraint rows, whose values must be between -1 and 1.

On a path q(s) the arm has one degree of freedom. Let x be the square of the path speed ds/dt, and
u the path acceleration. A row is a limited quantity divided by its limit::

    a(s) u + c(s) x + d(s) sqrt(x) + f exp(-m(s)^2 x) + b(s)

Primes denote derivatives with respect to s. For an effort, a = M q' and c = M q'' + (Coriolis and
centrifugal terms at dq/dt = q'). The term d is viscous damping, f the difference between static
and Coulomb friction, and m is q' divided by the Stribeck velocity. The term b is the sum of
weight, springs and Coulomb friction, which acts in the direction of q' (Bobrow, Dubowsky, Gibson
1985; Shin, McKay 1985). For an acceleration, a = q' and c = q''. For the squared speed, c = q'^2
of the joint that is nearest to its limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Tensor, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.path_timing.joint_path import ENDPOINT_OFFSET, JointPath
from manip_dyn.robot import Robot
from manip_dyn.robot.model import Friction

SAMPLE_FRACTIONS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Sample points of an interval. The ends are constrained, and all points are checked."""
NO_WRENCH = np.zeros(6)
STANDSTILL = 1e-13
"""Largest fraction of the largest dq/ds at which a joint counts as at rest."""


class Limits(NamedTuple):
    """Limits (n,) of speed, effort and acceleration, inf without limit; payload (10,) or None."""

    speed: Vector
    effort: Vector
    acceleration: Vector
    payload: Vector | None


class ConstraintRows(NamedTuple):
    """Coefficients (k, p, r) of r rows at p points of k intervals; see the module docstring.

    The first n rows are efforts. If accelerations are limited, they are the next n rows. The last
    row is the speed.
    """

    a: Tensor
    c: Tensor
    d: Tensor
    f: Tensor
    m: Tensor
    b: Tensor

    @property
    def rough(self) -> bool:
        """Whether there is viscous damping or Stribeck friction."""
        return bool(np.any(self.d) or np.any(self.f))


class Geometry(NamedTuple):
    """Path at p sample points of k intervals: q, q' and q'', each (k, p, n)."""

    q: Tensor
    first: Tensor
    second: Tensor


def geometry(path: JointPath, begins: Vector, widths: Vector, fractions: Vector) -> Geometry:
    """Evaluate the path at fractions (p,) of k intervals; ends are moved slightly inwards."""
    fractions = np.clip(fractions, ENDPOINT_OFFSET, 1.0 - ENDPOINT_OFFSET)
    s = begins[:, None] + widths[:, None] * fractions
    shape = (*s.shape, -1)
    return Geometry(*(path(s.ravel(), order).reshape(shape) for order in range(3)))


def constraint_rows(robot: Robot, limits: Limits, along: Geometry) -> ConstraintRows:
    """Compute the rows of an arm at all sample points of a path."""
    k, p, n = along.q.shape
    flat = [np.ascontiguousarray(x.reshape(k * p, n)) for x in along]
    limited = bool(np.any(np.isfinite(limits.acceleration)))
    values = np.zeros((6, k * p, (2 if limited else 1) * n + 1))
    loaded = limits.payload is not None
    payload = limits.payload if limits.payload is not None else np.zeros(10)
    name = "inverse_dynamics_loaded" if loaded else "inverse_dynamics"
    (address,) = addresses(robot, name)
    # The copies are writable, so that the compiled function has one signature.
    vectors = (robot.damping, limits.effort, limits.acceleration, limits.speed)
    damping, effort, acceleration, speed = (np.array(x) for x in vectors)
    friction = Friction(*(np.array(x) for x in robot.friction))
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
        values,
    )
    return ConstraintRows(*values.reshape(6, k, p, -1))


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
    """Write the rows at all points to `out`. An infinite limit results in a row of zeros."""
    n, last = q.shape[1], out.shape[2] - 1
    x, v, a = np.zeros(n), np.zeros(n), np.zeros(n)
    weight, push, square = np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(q.shape[0]):
        for term in range(3):
            for i in range(n):
                x[i] = q[k, i]
                v[i] = first[k, i] if term == 2 else 0.0
                a[i] = (0.0, first[k, i], second[k, i])[term]
            into = (weight, push, square)[term]
            if loaded:
                call_kernel(address, (x, v, a, payload, wrench, into))
            else:
                call_kernel(address, (x, v, a, into))
        fastest, largest = 0.0, 0.0
        for i in range(n):
            largest = max(largest, abs(first[k, i]))
        for i in range(n):
            inverse, slope = 1.0 / effort[i], first[k, i]
            viscous = damping[i] * slope
            out[0, k, i] = (push[i] - weight[i]) * inverse
            out[1, k, i] = (square[i] - weight[i] - viscous) * inverse
            out[2, k, i] = viscous * inverse
            direction = 1.0 if slope > 0.0 else -1.0
            if abs(slope) <= STANDSTILL * largest:
                direction = 0.0
            out[3, k, i] = direction * (friction.static[i] - friction.coulomb[i]) * inverse
            if friction.stribeck[i] > 0.0:
                out[4, k, i] = slope / friction.stribeck[i]
            out[5, k, i] = (weight[i] + direction * friction.coulomb[i]) * inverse
            if last > n:
                out[0, k, n + i] = slope / acceleration[i]
                out[1, k, n + i] = second[k, i] / acceleration[i]
            fastest = max(fastest, abs(slope) / speed[i])
        out[1, k, last] = fastest * fastest


@compiled
def evaluate_rows(rows, rough, widths, squares, fractions, bulges, beyond, used):
    """Write bounds of the rows in all intervals, and the largest rows at their ends.

    Args:
        rows: Rows at fractions (p,) of the intervals.
        rough: Whether there is viscous damping or Stribeck friction.
        widths: Widths of the intervals (k,).
        squares: Control points (2 k + 1,) of the squared speed, see `speed_profile`.
        fractions: The fractions (p,).
        bulges: Whether to add a quarter of the largest second difference to the values. Between
            equidistant points, a parabola exceeds its values by at most an eighth of it.
        beyond: Output (k, r): largest absolute value of each row, minus 1.
        used: Output (k,): largest absolute value of all rows at the end of the interval at which
            this value is smaller.
    """
    a, c, d, f, m, b = rows
    for k in range(widths.shape[0]):
        x, z, y = squares[2 * k], squares[2 * k + 1], squares[2 * k + 2]
        first, last = (z - x) / widths[k], (y - z) / widths[k]
        begin, end = 0.0, 0.0
        for r in range(a.shape[2]):
            most, bulge, before, rise = 0.0, 0.0, 0.0, 0.0
            for p in range(fractions.shape[0]):
                t = fractions[p]
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
                if p == fractions.shape[0] - 1:
                    end = max(end, abs(value))
                if p > 1:
                    bulge = max(bulge, abs(value - before - rise))
                rise, before = value - before, value
            beyond[k, r] = most - 1.0 + (bulge / 4.0 if bulges else 0.0)
        used[k] = min(begin, end)

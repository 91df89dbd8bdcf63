"""Compiled state and costate equations on arcs with efforts between their limits.

A singular effort keeps the switching function of its joint at zero. A joint at a position limit
or speed has no acceleration, so one effort, its own or that of another joint, is between its
limits. The switching function of this effort is also zero, because the limit acts on the costates.
The symbols are those of `canonical`.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.linear_algebra import factorize, solve
from manip_dyn.planning.minimum_time.extremals.canonical import Arc, arc_of, canonical
from manip_dyn.robot import Robot


class ConstrainedArc(NamedTuple):
    """Controls along an arc, and work arrays.

    Attributes:
        arc: Efforts, kernels and further arrays.
        limits: Effort limits (n,), N m or N.
        joint: Joint with the singular effort, or -1 (1,).
        indirect: Effort that holds another joint at its limit only through the speed of the
            effort's joint, or -1 (1,).
        held: Joint that each effort holds at its limit, or -1 (n,).
        singular_effort: The normalized singular effort, and the derivative of S'' by it (2,).
        forces: Contributions of the limits to -p_v' (n,).
        full_rates: Rates of (x, p) with the full effort (4 n,).
        rows: S' and its derivatives by (x, p) (n, 1 + 4 n).
        moves: Derivatives of the accelerations of held joints by the efforts that hold them (n,
            n).
        acts: Transpose of `moves` (n, n).
        efforts: Efforts that hold joints at limits (n,).
        multipliers: Forces of the limits for these efforts (n,).
        pivots: Row exchanges of a matrix factorization (n,).
    """

    arc: Arc
    limits: Vector
    joint: NDArray[np.int64]
    indirect: NDArray[np.int64]
    held: NDArray[np.int64]
    singular_effort: Vector
    forces: Vector
    full_rates: Matrix
    rows: Matrix
    moves: Matrix
    acts: Matrix
    efforts: Vector
    multipliers: Vector
    pivots: Vector


def constrained_arc_of(robot: Robot) -> ConstrainedArc:
    """Allocate the work arrays for one robot."""
    n = robot.n
    forces, efforts, multipliers, pivots = np.zeros((4, n))
    return ConstrainedArc(
        arc_of(robot),
        np.array(robot.tau_max),
        np.zeros(1, dtype=np.int64),
        np.full(1, -1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty(2),
        forces,
        np.empty(4 * n),
        np.empty((n, 1 + 4 * n)),
        np.empty((n, n)),
        np.empty((n, n)),
        efforts,
        multipliers,
        pivots,
    )


@compiled(short=True, counted=False)
def constrained(t, y, p, out):
    """Write the rates of (x, p), (4 n,), along a `ConstrainedArc`."""
    if p.joint[0] >= 0:
        singular(y, p, out)
    elif p.indirect[0] >= 0:
        indirect(y, p, out)
    else:
        boundary(y, p, out)


@compiled(short=True, python=False, counted=False)
def singular(y, p, out):
    """Write the rates of (x, p) while the effort of one joint keeps its S' constant.

    S'' is linear in the effort. Its values for zero and for full effort determine the normalized
    effort for which S'' is zero. Writes this effort and the derivative of S'' by it.
    """
    arc, full_rates, rows = p.arc, p.full_rates, p.rows
    n, j = arc.tau.shape[0], p.joint[0]
    arc.tau[j] = 0.0
    canonical(0.0, y, arc, out)
    arc.tau[j] = p.limits[j]
    canonical(0.0, y, arc, full_rates)
    switching_rates(y, arc, rows)
    without = full = 0.0
    for i in range(4 * n):
        without += rows[j, 1 + i] * out[i]
        full += rows[j, 1 + i] * full_rates[i]
    fraction = without / (without - full)
    p.singular_effort[0] = fraction
    p.singular_effort[1] = full - without
    for i in range(4 * n):
        out[i] += fraction * (full_rates[i] - out[i])
    arc.tau[j] = fraction * p.limits[j]


@compiled(short=True, python=False, counted=False)
def switching_rates(y, arc, rows):
    """Write S' and its derivatives by (x, p), (n, 1 + 4 n), at the state in `arc`."""
    n = arc.tau.shape[0]
    for i in range(n):
        arc.adjoint[i] = y[3 * n + i]
        arc.a[i] = y[2 * n + i]
    call_kernel(arc.kernels.switching_rates, (arc.q, arc.v, arc.a, arc.adjoint, rows))


@compiled(short=True, python=False, counted=False)
def indirect(y, p, out):
    """Write the rates of (x, p) while effort k holds joint i at a limit through the speed of k.

    The effort does not change the acceleration of joint i, but its rate, which it keeps at zero.
    The force of the limit does not change S' either; it makes S'' zero.
    """
    arc, full_rates, rows, slopes = p.arc, p.full_rates, p.rows, p.arc.slopes
    k = p.indirect[0]
    n, i = arc.tau.shape[0], p.held[k]
    arc.tau[k] = p.limits[k]
    canonical(0.0, y, arc, full_rates)
    arc.tau[k] = 0.0
    canonical(0.0, y, arc, out)
    call_kernel(arc.kernels.forward_dynamics_derivatives, (arc.q, arc.v, arc.tau, slopes))
    switching_rates(y, arc, rows)
    without = more = 0.0
    for j in range(n):
        without += slopes[0, i, j] * arc.v[j] + slopes[1, i, j] * out[n + j]
        more += slopes[1, i, j] * (full_rates[n + j] - out[n + j])
    fraction = -without / more
    rate = 0.0
    for j in range(4 * n):
        out[j] += fraction * (full_rates[j] - out[j])
        rate += rows[k, 1 + j] * out[j]
    for j in range(n):
        p.forces[j] = 0.0
    p.forces[i] = rate / rows[k, 1 + 3 * n + i]
    out[3 * n + i] -= p.forces[i]
    out[n + i] = 0.0
    arc.tau[k] = fraction * p.limits[k]


@compiled(short=True, python=False, counted=False)
def boundary(y, p, out):
    """Write the rates of (x, p) while efforts k hold joints `held`[k] at limits.

    These joints have no acceleration, and these efforts have S' = 0. Both conditions are linear,
    with the same elements of M^-1, transposed. The efforts make the accelerations zero. The forces
    that the limits add to -p_v' of their joints make S' zero.
    """
    arc, held, rows, slopes = p.arc, p.held, p.rows, p.arc.slopes
    moves, acts, efforts, multipliers = p.moves, p.acts, p.efforts, p.multipliers
    n = arc.tau.shape[0]
    for k in range(n):
        if held[k] >= 0:
            arc.tau[k] = 0.0
    canonical(0.0, y, arc, out)
    call_kernel(arc.kernels.forward_dynamics_derivatives, (arc.q, arc.v, arc.tau, slopes))
    switching_rates(y, arc, rows)
    for k in range(n):
        efforts[k] = -out[n + held[k]] if held[k] >= 0 else 0.0
        multipliers[k] = rows[k, 0] if held[k] >= 0 else 0.0
        for j in range(n):
            if held[k] >= 0 and held[j] >= 0:
                moves[k, j] = slopes[2, held[k], j]
                acts[j, k] = slopes[2, j, held[k]]
            else:
                moves[k, j] = acts[j, k] = 1.0 if j == k else 0.0
    factorize(moves, p.pivots)
    solve(moves, p.pivots, efforts)
    factorize(acts, p.pivots)
    solve(acts, p.pivots, multipliers)
    for k in range(n):
        if not (isfinite(efforts[k]) and isfinite(multipliers[k])):
            for i in range(4 * n):
                out[i] = nan
            return
        p.forces[k] = 0.0
    for k in range(n):
        if held[k] >= 0:
            arc.tau[k] = efforts[k]
            p.forces[held[k]] = multipliers[k]
    canonical(0.0, y, arc, out)
    for k in range(n):
        if held[k] >= 0:
            out[n + held[k]] = 0.0
            out[3 * n + held[k]] -= p.forces[held[k]]

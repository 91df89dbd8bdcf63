"""State and costate on an arc where efforts lie between their limits, compiled for all arms.

A singular effort keeps the switching function of its joint zero. A joint at a limit of position or
speed has no acceleration, so an effort, its own or another one, lies between the limits and its
switching function is zero too, by the force with which the limit acts on the costates. Symbols are
those of `canonical`.
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
    """What the efforts do along an arc, and arrays to work with.

    Attributes:
        arc: Efforts, kernels and more arrays.
        limits: Limits (n,) of the efforts, N m or N.
        joint: The joint whose effort is singular, or -1 (1,).
        indirect: The effort that keeps another joint at its limit by its speed only, or -1 (1,).
        kept: Which joint each effort keeps at its limit, -1 for none (n,).
        share: The singular effort over its limit, and by how much S'' rises with it (2,).
        forces: What the limits add to -p_v' (n,).
        other: Rates of (x, p) with the full effort (4 n,).
        rows: S' and its derivatives by (x, p) (n, 1 + 4 n).
        moves: Accelerations of the kept joints by the efforts that keep them (n, n).
        acts: The same, transposed (n, n).
        efforts: Efforts that keep (n,).
        shares: Forces for each of these (n,).
        pivots: Rows that were exchanged when a matrix was factorized (n,).
    """

    arc: Arc
    limits: Vector
    joint: NDArray[np.int64]
    indirect: NDArray[np.int64]
    kept: NDArray[np.int64]
    share: Vector
    forces: Vector
    other: Matrix
    rows: Matrix
    moves: Matrix
    acts: Matrix
    efforts: Vector
    shares: Vector
    pivots: Vector


def constrained_arc_of(robot: Robot) -> ConstrainedArc:
    """Return the arrays for one robot."""
    n = robot.n
    forces, efforts, shares, pivots = np.zeros((4, n))
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
        shares,
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

    S'' is linear in the efforts, so its values without and with that joint's full effort give
    the share of it that makes S'' zero. Writes that share and how S'' changes with it.
    """
    arc, other, rows = p.arc, p.other, p.rows
    n, j = arc.tau.shape[0], p.joint[0]
    arc.tau[j] = 0.0
    canonical(0.0, y, arc, out)
    arc.tau[j] = p.limits[j]
    canonical(0.0, y, arc, other)
    switching_rates(y, arc, rows)
    without = full = 0.0
    for i in range(4 * n):
        without += rows[j, 1 + i] * out[i]
        full += rows[j, 1 + i] * other[i]
    share = without / (without - full)
    p.share[0] = share
    p.share[1] = full - without
    for i in range(4 * n):
        out[i] += share * (other[i] - out[i])
    arc.tau[j] = share * p.limits[j]


@compiled(short=True, python=False, counted=False)
def switching_rates(y, arc, rows):
    """Write S' and its derivatives by (x, p), (n, 1 + 4 n); positions and velocities are known."""
    n = arc.tau.shape[0]
    for i in range(n):
        arc.adjoint[i] = y[3 * n + i]
        arc.a[i] = y[2 * n + i]
    call_kernel(arc.kernels.switching_rates, (arc.q, arc.v, arc.a, arc.adjoint, rows))


@compiled(short=True, python=False, counted=False)
def indirect(y, p, out):
    """Write the rates of (x, p) while effort k keeps joint i at a limit by k's own speed.

    The effort adds nothing to the joint's acceleration, but to its rate, which it makes zero; so
    the force of the limit on the costates adds nothing to S', and makes S'' zero.
    """
    arc, other, rows, slopes, k = p.arc, p.other, p.rows, p.arc.slopes, p.indirect[0]
    n, i = arc.tau.shape[0], p.kept[k]
    arc.tau[k] = p.limits[k]
    canonical(0.0, y, arc, other)
    arc.tau[k] = 0.0
    canonical(0.0, y, arc, out)
    call_kernel(arc.kernels.forward_dynamics_derivatives, (arc.q, arc.v, arc.tau, slopes))
    switching_rates(y, arc, rows)
    without = more = 0.0
    for j in range(n):
        without += slopes[0, i, j] * arc.v[j] + slopes[1, i, j] * out[n + j]
        more += slopes[1, i, j] * (other[n + j] - out[n + j])
    share = -without / more
    rate = 0.0
    for j in range(4 * n):
        out[j] += share * (other[j] - out[j])
        rate += rows[k, 1 + j] * out[j]
    for j in range(n):
        p.forces[j] = 0.0
    p.forces[i] = rate / rows[k, 1 + 3 * n + i]
    out[3 * n + i] -= p.forces[i]
    out[n + i] = 0.0
    arc.tau[k] = share * p.limits[k]


@compiled(short=True, python=False, counted=False)
def boundary(y, p, out):
    """Write the rates of (x, p) while efforts k keep joints `kept`[k] at limits.

    These joints have no acceleration and these efforts S' = 0. Both conditions are linear, with
    the same elements of M^-1, transposed: the efforts make the accelerations zero, and the
    forces that the limits add to -p_v' of their joints make S' zero.
    """
    arc, kept, rows, slopes = p.arc, p.kept, p.rows, p.arc.slopes
    moves, acts, efforts, shares = p.moves, p.acts, p.efforts, p.shares
    n = arc.tau.shape[0]
    for k in range(n):
        if kept[k] >= 0:
            arc.tau[k] = 0.0
    canonical(0.0, y, arc, out)
    call_kernel(arc.kernels.forward_dynamics_derivatives, (arc.q, arc.v, arc.tau, slopes))
    switching_rates(y, arc, rows)
    for k in range(n):
        efforts[k] = -out[n + kept[k]] if kept[k] >= 0 else 0.0
        shares[k] = rows[k, 0] if kept[k] >= 0 else 0.0
        for j in range(n):
            if kept[k] >= 0 and kept[j] >= 0:
                moves[k, j] = slopes[2, kept[k], j]
                acts[j, k] = slopes[2, j, kept[k]]
            else:
                moves[k, j] = acts[j, k] = 1.0 if j == k else 0.0
    factorize(moves, p.pivots)
    solve(moves, p.pivots, efforts)
    factorize(acts, p.pivots)
    solve(acts, p.pivots, shares)
    for k in range(n):
        if not (isfinite(efforts[k]) and isfinite(shares[k])):
            for i in range(4 * n):
                out[i] = nan
            return
        p.forces[k] = 0.0
    for k in range(n):
        if kept[k] >= 0:
            arc.tau[k] = efforts[k]
            p.forces[kept[k]] = shares[k]
    canonical(0.0, y, arc, out)
    for k in range(n):
        if kept[k] >= 0:
            out[n + kept[k]] = 0.0
            out[3 * n + kept[k]] -= p.forces[kept[k]]

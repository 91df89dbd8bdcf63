"""Compiled state and costate equations, for all arms.

Times are in s. States are x = (q, v), and costates p = (p_q, p_v). With H = 1 + p_q . v + p_v . a
the canonical equations are dx/dt = dH/dp and dp/dt = -dH/dx (Fan 2003, eqs. 3.4 to 3.9). The
switching functions of the joints are S = dH/dtau = M^-1 p_v (eq. 3.5).

A singular effort keeps the switching function of its joint at zero. A joint at a position or speed
limit has no acceleration, so one effort, its own or that of another joint, is between its limits.
The switching function of this effort is also zero, because the limit acts on the costates.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.solvers import factorize, solve
from manip_dyn.robot import Robot


class CanonicalKernels(NamedTuple):
    """Addresses of the kernels of one robot."""

    forward_dynamics: int
    inverse_dynamics: int
    forward_dynamics_derivatives: int
    forward_dynamics_adjoint: int
    forward_dynamics_second_derivatives: int
    switching_rates: int


class Arc(NamedTuple):
    """Efforts along an arc, and work arrays.

    Attributes:
        kernels: Kernel addresses of the robot.
        tau: Efforts (n,), N m or N.
        q: Positions (n,).
        v: Velocities (n,).
        adjoint: Costates of the velocities (n,).
        a: Accelerations (n,).
        by: Derivatives of adjoint . a with respect to q, v and tau (3, n).
        slopes: Derivatives of the accelerations with respect to q, v and tau (3, n, n).
        curves: Derivatives of `by` with respect to q, v and tau (3, n, 3, n).
    """

    kernels: CanonicalKernels
    tau: Vector
    q: Vector
    v: Vector
    adjoint: Vector
    a: Vector
    by: Matrix
    slopes: Tensor
    curves: Tensor


@inlined(always=True, short=True, counted=False)
def _move(y, p, out):
    """Write the rates of x (2 n,), and positions, velocities and accelerations in the `Arc`."""
    n = p.tau.shape[0]
    for i in range(n):
        p.q[i] = y[i]
        p.v[i] = y[n + i]
    call_kernel(p.kernels.forward_dynamics, (p.q, p.v, p.tau, p.a))
    for i in range(n):
        out[i] = p.v[i]
        out[n + i] = p.a[i]


@compiled(short=True, counted=False)
def motion(t, y, p, out):
    """Write only the rates of x, (2 n,), along an `Arc`."""
    _move(y, p, out)


@compiled(short=True, counted=False)
def canonical(t, y, p, out):
    """Write the rates of (x, p), (4 n,), along an `Arc`."""
    n = p.tau.shape[0]
    _move(y, p, out)
    for i in range(n):
        p.adjoint[i] = y[3 * n + i]
    call_kernel(p.kernels.forward_dynamics_adjoint, (p.q, p.v, p.tau, p.adjoint, p.by))
    for i in range(n):
        out[2 * n + i] = -p.by[0, i]
        out[3 * n + i] = -y[2 * n + i] - p.by[1, i]


@compiled(short=True, python=False, counted=False)
def variations(t, y, p, out):
    """Write the rates of (x, p) and of its derivatives along an `Arc`.

    After (x, p), `y` contains the derivatives of x with respect to the initial x, of p with
    respect to the initial x, and of p with respect to the initial p, by rows, (2 n, 2 n) each.
    """
    slopes, curves = p.slopes, p.curves
    n = p.tau.shape[0]
    m = 2 * n
    canonical(t, y, p, out)
    call_kernel(p.kernels.forward_dynamics_derivatives, (p.q, p.v, p.tau, slopes))
    second = p.kernels.forward_dynamics_second_derivatives
    call_kernel(second, (p.q, p.v, p.tau, p.adjoint, curves))
    xx, px, pp = 2 * m, 2 * m + m * m, 2 * m + 2 * m * m
    for c in range(m):
        for i in range(n):
            out[xx + i * m + c] = y[xx + (n + i) * m + c]
            total = position = speed = 0.0
            px_q, px_v = 0.0, -y[px + i * m + c]
            pp_q, pp_v = 0.0, -y[pp + i * m + c]
            for j in range(n):
                dq, dv = y[xx + j * m + c], y[xx + (n + j) * m + c]
                total += slopes[0, i, j] * dq + slopes[1, i, j] * dv
                position += curves[0, i, 0, j] * dq + curves[0, i, 1, j] * dv
                speed += curves[1, i, 0, j] * dq + curves[1, i, 1, j] * dv
                by_x, by_p = y[px + (n + j) * m + c], y[pp + (n + j) * m + c]
                px_q -= slopes[0, j, i] * by_x
                px_v -= slopes[1, j, i] * by_x
                pp_q -= slopes[0, j, i] * by_p
                pp_v -= slopes[1, j, i] * by_p
            out[xx + (n + i) * m + c] = total
            out[px + i * m + c] = px_q - position
            out[px + (n + i) * m + c] = px_v - speed
            out[pp + i * m + c] = pp_q
            out[pp + (n + i) * m + c] = pp_v


def arc_of(robot: Robot) -> Arc:
    """Allocate the work arrays for one robot."""
    n = robot.n
    tau, q, v, adjoint, a = np.zeros((5, n))
    wide = np.empty((3, n)), np.empty((3, n, n)), np.empty((3, n, 3, n))
    return Arc(kernels_of(robot), tau, q, v, adjoint, a, *wide)


@lru_cache(maxsize=64)
def kernels_of(robot: Robot) -> CanonicalKernels:
    """Return the kernel addresses of `robot` for this module."""
    return CanonicalKernels(*addresses(robot, *CanonicalKernels._fields))


class ConstrainedArc(NamedTuple):
    """Controls along an arc, and work arrays.

    Attributes:
        arc: Efforts, kernels and further arrays.
        limits: Effort limits (n,), N m or N.
        joint: Joint with the singular effort, or -1 (1,).
        indirect: Effort that holds another joint at its limit only through the speed of the
            effort's joint, or -1 (1,).
        held: Joint that each effort holds at its limit, or -1 (n,).
        singular_effort: The normalized singular effort, and the derivative of d2S/dt2 with respect
            to it (2,).
        forces: Contributions of the limits to -dp_v/dt (n,).
        full_rates: Rates of (x, p) with the full effort (4 n,).
        rows: dS/dt and its derivatives with respect to (x, p) (n, 1 + 4 n).
        moves: Derivatives of the accelerations of held joints with respect to the efforts that
            hold them (n, n).
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
        held = False
        for k in range(p.held.shape[0]):
            held = held or p.held[k] >= 0
        if held:
            singular_at_limit(y, p, out)
        else:
            singular(y, p, out)
    elif p.indirect[0] >= 0:
        indirect(y, p, out)
    else:
        boundary(y, p, out)


@compiled(short=True, python=False, counted=False)
def singular(y, p, out):
    """Write the rates of (x, p) while the effort of one joint keeps its dS/dt constant.

    The second derivative of S is linear in the effort. Its values for zero and for full effort
    determine the normalized effort for which it is zero. This effort, and the derivative of
    d2S/dt2 with respect to it, are written to `p.singular_effort`.
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
    for i in range(n):
        p.forces[i] = 0.0
    arc.tau[j] = fraction * p.limits[j]


@compiled(short=True, python=False, counted=False)
def singular_at_limit(y, p, out):
    """Write the rates of (x, p) with a singular effort j while effort k holds joint i at a limit.

    The force of the limit, which makes dS_k/dt zero, changes dS_j/dt in the ratio of two elements
    of M^-1, (j, i) and (k, i). Otherwise as in `singular`.
    """
    arc, full_rates, rows, curves = p.arc, p.full_rates, p.rows, p.arc.curves
    n, j = arc.tau.shape[0], p.joint[0]
    arc.tau[j] = 0.0
    boundary(y, p, out)
    k = 0
    while p.held[k] < 0:
        k += 1
    i, held_effort = p.held[k], arc.tau[k]
    arc.tau[j] = p.limits[j]
    boundary(y, p, full_rates)
    gain, ratio = arc.slopes[2, k, i], arc.slopes[2, j, i] / arc.slopes[2, k, i]
    for m in range(n):
        arc.adjoint[m] = 1.0 if m == i else 0.0
    second = arc.kernels.forward_dynamics_second_derivatives
    call_kernel(second, (arc.q, arc.v, arc.tau, arc.adjoint, curves))
    ratio_rate = 0.0
    for m in range(n):
        ratio_rate += (curves[2, j, 0, m] - ratio * curves[2, k, 0, m]) * arc.v[m] / gain
    switching_rates(y, arc, rows)
    without = full = -ratio_rate * rows[k, 0]
    for m in range(4 * n):
        without += (rows[j, 1 + m] - ratio * rows[k, 1 + m]) * out[m]
        full += (rows[j, 1 + m] - ratio * rows[k, 1 + m]) * full_rates[m]
    fraction = without / (without - full)
    p.singular_effort[0] = fraction
    p.singular_effort[1] = full - without
    for m in range(4 * n):
        out[m] += fraction * (full_rates[m] - out[m])
    arc.tau[k] = held_effort + fraction * (arc.tau[k] - held_effort)
    arc.tau[j] = fraction * p.limits[j]


@compiled(short=True, python=False, counted=False)
def switching_rates(y, arc, rows):
    """Write dS/dt and its derivatives with respect to (x, p), (n, 1 + 4 n), at the state in `arc`.

    S are the switching functions (n,).
    """
    n = arc.tau.shape[0]
    for i in range(n):
        arc.adjoint[i] = y[3 * n + i]
        arc.a[i] = y[2 * n + i]
    call_kernel(arc.kernels.switching_rates, (arc.q, arc.v, arc.a, arc.adjoint, rows))


@compiled(short=True, python=False, counted=False)
def indirect(y, p, out):
    """Write the time derivatives of (x, p) while effort k keeps joint i at a limit indirectly.

    Indirectly means: effort k = ``p.indirect[0]`` does not change the acceleration of joint i
    = ``p.held[k]``, but accelerates joint k, whose speed changes the acceleration of joint i.
    The effort keeps the time derivative of this acceleration at zero. The force of the limit
    does not change dS/dt either, where S is the switching function of effort k; the force
    makes d2S/dt2 zero.
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

    These joints have no acceleration, and the switching functions S of these efforts are constant.
    Both conditions are linear, with the same elements of M^-1, transposed. The efforts make the
    accelerations zero. The forces that the limits add to -dp_v/dt of their joints make dS/dt zero.
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

"""Compiled canonical equations of state and costate under constant efforts, for all arms.

Times are in s. States are x = (q, v), and costates p = (p_q, p_v). With H = 1 + p_q . v + p_v . a
the canonical equations are x' = dH/dp and p' = -dH/dx (Fan 2003, eqs. 3.4 to 3.9). The switching
functions of the joints are S = dH/dtau = M^-1 p_v (eq. 3.5).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.compiled import compiled, inlined
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
        by: Derivatives of adjoint . a by q, v and tau (3, n).
        slopes: Derivatives of the accelerations by q, v and tau (3, n, n).
        curves: Derivatives of `by` by q, v and tau (3, n, 3, n).
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
    """Write the rates of (x, p) and of its derivatives by the initial (x, p), along an `Arc`.

    After (x, p), `y` contains the derivatives of x by x, of p by x and of p by p, by rows, (2 n, 2
    n) each.
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

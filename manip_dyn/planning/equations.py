"""What Pontryagin's principle asks to be integrated, compiled once for all arms.

Times are in s, states are x = (q, v), costates p = (p_q, p_v). With H = 1 + p_q . v + p_v . a
the canonical equations are x' = dH/dp and p' = -dH/dx (Fan 2003, eqs. 3.4 to 3.9), and
S = dH/dtau = M^-1 p_v is the switching function of each joint (eq. 3.5).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from manip_dyn.codegen.by_address import addresses
from manip_dyn.core.generated import generated_module
from manip_dyn.planning import grid_text, linear_program, linear_system
from manip_dyn.planning.held_motion import import_lines
from manip_dyn.robot import Robot


class Kernels(NamedTuple):
    """Addresses of the kernels of one robot."""

    forward_dynamics: int
    inverse_dynamics: int
    forward_dynamics_derivatives: int
    forward_dynamics_adjoint: int
    forward_dynamics_second_derivatives: int
    switching_rates: int


TEXT = '''"""State and costate equations. Written by manip_dyn.planning.equations; do not edit."""

import numpy as np
from numba import njit

from manip_dyn.codegen.by_address import call
from manip_dyn.core.compiled import OPTIONS
from manip_dyn.planning.linear_program import solve_linear_program


@njit(**OPTIONS)
def canonical(t, y, p, out):
    """Write the rates of (x, p), (4 n,), under efforts; p is (kernels, efforts, scratch)."""
    kernels, tau, q, v, adjoint, by = p
    n, m = tau.shape[0], 2 * tau.shape[0]
    for i in range(n):
        q[i], v[i], adjoint[i] = y[i], y[n + i], y[3 * n + i]
    call(kernels.forward_dynamics, (q, v, tau, out[n:m]))
    call(kernels.forward_dynamics_adjoint, (q, v, tau, adjoint, by))
    for i in range(n):
        out[i] = v[i]
        out[m + i] = -by[0, i]
        out[3 * n + i] = -y[m + i] - by[1, i]


@njit(**OPTIONS)
def variations(t, y, p, out):
    """Write the rates of (x, p) and of their derivatives by the initial (x, p).

    Behind (x, p) come, row by row, the derivatives of x by x, of p by x and of p by p,
    (2 n, 2 n) each.
    """
    kernels, tau, q, v, adjoint, by, slopes, curves = p
    n, m = tau.shape[0], 2 * tau.shape[0]
    canonical(t, y, (kernels, tau, q, v, adjoint, by), out)
    call(kernels.forward_dynamics_derivatives, (q, v, tau, slopes))
    call(kernels.forward_dynamics_second_derivatives, (q, v, tau, adjoint, curves))
    xx, px, pp = 2 * m, 2 * m + m * m, 2 * m + 2 * m * m
    for c in range(m):
        for i in range(n):
            out[xx + i * m + c] = y[xx + (n + i) * m + c]
            total = position = speed = 0.0
            here, further = 0.0, -y[px + i * m + c]
            kept, next = 0.0, -y[pp + i * m + c]
            for j in range(n):
                dq, dv = y[xx + j * m + c], y[xx + (n + j) * m + c]
                total += slopes[0, i, j] * dq + slopes[1, i, j] * dv
                position += curves[0, i, 0, j] * dq + curves[0, i, 1, j] * dv
                speed += curves[1, i, 0, j] * dq + curves[1, i, 1, j] * dv
                lever, other = y[px + (n + j) * m + c], y[pp + (n + j) * m + c]
                here -= slopes[0, j, i] * lever
                further -= slopes[1, j, i] * lever
                kept -= slopes[0, j, i] * other
                next -= slopes[1, j, i] * other
            out[xx + (n + i) * m + c] = total
            out[px + i * m + c] = here - position
            out[px + (n + i) * m + c] = further - speed
            out[pp + i * m + c] = kept
            out[pp + (n + i) * m + c] = next
'''

CONSTRAINED_TEXT = '''"""Singular arcs and limits. Written by manip_dyn.planning; do not edit."""

from math import nan

from numba import njit

from manip_dyn.codegen.by_address import call
from manip_dyn.core.compiled import OPTIONS

{imports}


@njit(**OPTIONS)
def constrained(t, y, p, out):
    """Write the rates of (x, p) while an effort is singular or joints are kept at limits."""
    if p[1][0] >= 0:
        singular(y, p, out)
    else:
        kept(y, p, out)


@njit(**OPTIONS)
def singular(y, p, out):
    """Write the rates of (x, p) while the effort of one joint keeps its S' constant.

    S'' is linear in the efforts, so its values without and with that joint's full effort give
    the share of it that makes S'' zero. Writes that share and how S'' changes with it.
    """
    canonical_scratch, joint, limits, other, rows, share = p[:6]
    kernels, tau, q, v, _, _ = canonical_scratch
    n = tau.shape[0]
    j = joint[0]
    tau[j] = 0.0
    canonical(0.0, y, canonical_scratch, out)
    tau[j] = limits[j]
    canonical(0.0, y, canonical_scratch, other)
    for i in range(n):
        q[i], v[i] = y[i], y[n + i]
    call(kernels.switching_rates, (q, v, y[2 * n : 3 * n], y[3 * n :], rows))
    without = full = 0.0
    for i in range(4 * n):
        without += rows[j, 1 + i] * out[i]
        full += rows[j, 1 + i] * other[i]
    share[0], share[1] = without / (without - full), full - without
    for i in range(4 * n):
        out[i] += share[0] * (other[i] - out[i])
    tau[j] = share[0] * limits[j]


@njit(**OPTIONS)
def kept(y, p, out):
    """Write the rates of (x, p) while efforts k keep joints `held`[k] (n,), -1 for none.

    These joints have no acceleration and these efforts S' = 0. Both conditions are linear, with
    the same elements of M^-1, transposed: the efforts make the accelerations zero, and the
    forces (n,) that the limits add to -p_v' of their joints make S' zero.
    """
    canonical_scratch, _, _, _, rows, _, held, slopes, forces = p
    kernels, tau, q, v, _, by = canonical_scratch
    n = tau.shape[0]
    for k in range(n):
        if held[k] >= 0:
            tau[k] = 0.0
    canonical(0.0, y, canonical_scratch, out)
    call(kernels.forward_dynamics_derivatives, (q, v, tau, slopes))
    call(kernels.switching_rates, (q, v, y[2 * n : 3 * n], y[3 * n :], rows))
    moves, acts, inverse, efforts, shares = slopes[0], slopes[1], slopes[2], by[0], by[1]
    for k in range(n):
        efforts[k] = -out[n + held[k]] if held[k] >= 0 else 0.0
        shares[k] = rows[k, 0] if held[k] >= 0 else 0.0
        for j in range(n):
            if held[k] >= 0 and held[j] >= 0:
                moves[k, j], acts[j, k] = inverse[held[k], j], inverse[j, held[k]]
            else:
                moves[k, j] = acts[j, k] = 1.0 if j == k else 0.0
    if not (solve(moves, efforts) and solve(acts, shares)):
        for i in range(4 * n):
            out[i] = nan
        return
    for k in range(n):
        forces[k] = 0.0
    for k in range(n):
        if held[k] >= 0:
            tau[k] = efforts[k]
            forces[held[k]] = shares[k]
    canonical(0.0, y, canonical_scratch, out)
    for k in range(n):
        if held[k] >= 0:
            out[n + held[k]] = 0.0
            out[3 * n + held[k]] -= forces[held[k]]
'''


@lru_cache(maxsize=64)
def kernels_of(robot: Robot) -> Kernels:
    """Return what the functions of this module take to be about `robot`."""
    return Kernels(*addresses(robot, *Kernels._fields))


@lru_cache(maxsize=1)
def compiled_constrained() -> ModuleType:
    """Return the module of `CONSTRAINED_TEXT`."""
    imports = import_lines(compiled_equations().canonical)
    return _module("constrained", CONSTRAINED_TEXT.format(imports=imports) + linear_system.TEXT)


@lru_cache(maxsize=1)
def compiled_equations() -> ModuleType:
    """Return the module of `TEXT`, compiled when first called, cached on disk."""
    return _module("minimum_time", TEXT + grid_text.TEXT)


def _module(kind: str, text: str) -> ModuleType:
    content = text.encode() + Path(linear_program.__file__).read_bytes()
    return generated_module(kind, content, lambda: text)

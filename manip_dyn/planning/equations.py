"""What Pontryagin's principle asks to be integrated, compiled per robot from its kernels.

Times are in s, states are x = (q, v), costates p = (p_q, p_v). With H = 1 + p_q . v + p_v . a
the canonical equations are x' = dH/dp and p' = -dH/dx (Fan 2003, eqs. 3.4 to 3.9), and
S = dH/dtau = M^-1 p_v is the switching function of each joint (eq. 3.5).
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.generated import generated_module
from manip_dyn.integrate.functions import importable
from manip_dyn.planning import grid_text
from manip_dyn.robot import Robot

KERNELS = (
    "forward_dynamics",
    "inverse_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_adjoint",
    "forward_dynamics_second_derivatives",
)
TEXT = '''"""State and costate equations. Written by manip_dyn.planning.equations; do not edit."""

import numpy as np
from numba import njit

from manip_dyn.codegen.straight_line import OPTIONS
from manip_dyn.planning.linear_program import solve_linear_program

{imports}

N = {n}
X = 2 * N


@njit(**OPTIONS)
def canonical(t, y, p, out):
    """Write the rates of (x, p), (4 N,), under the efforts; p holds efforts and scratch."""
    tau, q, v, adjoint, by = p[0], p[1], p[2], p[3], p[4]
    for i in range(N):
        q[i], v[i], adjoint[i] = y[i], y[N + i], y[3 * N + i]
    forward_dynamics(q, v, tau, out[N:X])
    forward_dynamics_adjoint(q, v, tau, adjoint, by)
    for i in range(N):
        out[i] = v[i]
        out[X + i] = -by[0, i]
        out[3 * N + i] = -y[X + i] - by[1, i]


@njit(**OPTIONS)
def variations(t, y, p, out):
    """Write the rates of (x, p) and of their derivatives by the initial (x, p).

    Behind (x, p) come, row by row, the derivatives of x by x, of p by x and of p by p,
    (2 N, 2 N) each.
    """
    tau, q, v, adjoint, by, slopes, curves = p
    canonical(t, y, (tau, q, v, adjoint, by), out)
    forward_dynamics_derivatives(q, v, tau, slopes)
    forward_dynamics_second_derivatives(q, v, tau, adjoint, curves)
    xx, px, pp = 2 * X, 2 * X + X * X, 2 * X + 2 * X * X
    for c in range(X):
        for i in range(N):
            out[xx + i * X + c] = y[xx + (N + i) * X + c]
            total = position = speed = 0.0
            here, further = 0.0, -y[px + i * X + c]
            kept, next = 0.0, -y[pp + i * X + c]
            for j in range(N):
                dq, dv = y[xx + j * X + c], y[xx + (N + j) * X + c]
                total += slopes[0, i, j] * dq + slopes[1, i, j] * dv
                position += curves[0, i, 0, j] * dq + curves[0, i, 1, j] * dv
                speed += curves[1, i, 0, j] * dq + curves[1, i, 1, j] * dv
                lever, other = y[px + (N + j) * X + c], y[pp + (N + j) * X + c]
                here -= slopes[0, j, i] * lever
                further -= slopes[1, j, i] * lever
                kept -= slopes[0, j, i] * other
                next -= slopes[1, j, i] * other
            out[xx + (N + i) * X + c] = total
            out[px + i * X + c] = here - position
            out[px + (N + i) * X + c] = further - speed
            out[pp + i * X + c] = kept
            out[pp + (N + i) * X + c] = next
'''

CONSTRAINED_TEXT = '''"""Singular arcs and limits. Written by manip_dyn.planning; do not edit."""

from numba import njit

from manip_dyn.codegen.straight_line import OPTIONS

{imports}

N = {n}


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
    tau, q, v, adjoint, by = canonical_scratch
    j = joint[0]
    tau[j] = 0.0
    canonical(0.0, y, canonical_scratch, out)
    tau[j] = limits[j]
    canonical(0.0, y, canonical_scratch, other)
    for i in range(N):
        q[i], v[i] = y[i], y[N + i]
    switching_rates(q, v, y[2 * N : 3 * N], y[3 * N :], rows)
    without = full = 0.0
    for i in range(4 * N):
        without += rows[j, 1 + i] * out[i]
        full += rows[j, 1 + i] * other[i]
    share[0], share[1] = without / (without - full), full - without
    for i in range(4 * N):
        out[i] += share[0] * (other[i] - out[i])
    tau[j] = share[0] * limits[j]


@njit(**OPTIONS)
def kept(y, p, out):
    """Write the rates of (x, p) while joints are `held` without acceleration and with S' = 0.

    Both conditions are linear, with the same rows of M^-1: the efforts of these joints make
    their accelerations zero, and the forces (N,) that the limits add to -p_v' make S' zero.
    """
    canonical_scratch, _, _, _, rows, _, held, slopes, forces = p
    tau, q, v, adjoint, by = canonical_scratch
    for i in range(N):
        if held[i]:
            tau[i] = 0.0
    canonical(0.0, y, canonical_scratch, out)
    forward_dynamics_derivatives(q, v, tau, slopes)
    switching_rates(q, v, y[2 * N : 3 * N], y[3 * N :], rows)
    inverse = slopes[2]
    for i in range(N):
        forces[i] = rows[i, 0]
        by[0, i] = -out[N + i]
    for i in range(N):
        if held[i]:
            for k in range(N):
                if held[k] and k != i:
                    share = inverse[k, i] / inverse[i, i]
                    for j in range(N):
                        inverse[k, j] -= share * inverse[i, j]
                    forces[k] -= share * forces[i]
                    by[0, k] -= share * by[0, i]
    for i in range(N):
        forces[i] = forces[i] / inverse[i, i] if held[i] else 0.0
        if held[i]:
            tau[i] = by[0, i] / inverse[i, i]
    canonical(0.0, y, canonical_scratch, out)
    for i in range(N):
        if held[i]:
            out[N + i] = 0.0
            out[3 * N + i] -= forces[i]
'''


@lru_cache(maxsize=64)
def compiled_constrained(robot: Robot) -> ModuleType:
    """Return the module of `CONSTRAINED_TEXT` for a robot."""
    kernels = customize(robot).in_place
    functions = {
        "canonical": compiled_equations(robot).canonical,
        "switching_rates": kernels.switching_rates,
        "forward_dynamics_derivatives": kernels.forward_dynamics_derivatives,
    }
    return _module(robot, "constrained", CONSTRAINED_TEXT, functions)


@lru_cache(maxsize=64)
def compiled_equations(robot: Robot) -> ModuleType:
    """Return the module of `TEXT` for a robot, compiled when first called, cached on disk."""
    kernels = customize(robot).in_place
    return _module(
        robot,
        "minimum_time",
        TEXT + grid_text.TEXT,
        {name: getattr(kernels, name) for name in KERNELS},
    )


def _module(robot: Robot, kind: str, text: str, functions: dict[str, Any]) -> ModuleType:
    imports = []
    for name, function in functions.items():
        home = importable(function)
        if home is None:
            raise ManipDynError(f"the function '{name}' of robot '{robot.name}' has no module")
        imports.append(f"from {home[0]} import {home[1]} as {name}")
    text = text.format(imports="\n".join(imports), n=robot.n)
    return generated_module(f"{robot.name}_{kind}", text.encode(), lambda: text)

"""The arm that is really there: the planned one's equations, with other masses and a push."""

from __future__ import annotations

import math
from typing import NamedTuple

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.linear_algebra import factorize, solve


class Kernels(NamedTuple):
    """Addresses of the planned arm's kernels."""

    inverse_dynamics: int
    mass_matrix: int
    inverse_dynamics_loaded: int
    mass_matrix_loaded: int


class Arm(NamedTuple):
    """Numbers of the arm, arrays (n,) unless it says otherwise.

    Attributes:
        mass_scale: Factor of all masses and inertias of the bodies; rotors stay.
        payload: What the tool carries beside what is planned for, over `mass_scale` (10,).
        wrench: Zeros (6,).
        damping: N m s or N s/m.
        stiffness: Of the springs, N m or N/m.
        rest: Where these are slack, rad or m.
        armature: Rotor inertias, kg m^2 or kg.
        push: Efforts that act beside the commands, N m or N.
        push_begin: From when on, s.
        push_end: Until when, s.
        step: The longest step of the integration, s.
    """

    mass_scale: float
    payload: Vector
    wrench: Vector
    damping: Vector
    stiffness: Vector
    rest: Vector
    armature: Vector
    push: Vector
    push_begin: float
    push_end: float
    step: float


class Scratch(NamedTuple):
    """Memory of the integration."""

    q: Vector
    v: Vector
    zero: Vector
    bias: Vector
    mass: Matrix
    pivots: Vector
    tau: Vector
    place: Vector
    rates: Matrix


@compiled(short=True, python=False)
def rates(kernels, arm, y, scratch, out):
    """Write the rates (2 n,) of the state y (2 n,) under the efforts `scratch.tau`.

    The bodies' share of the planned arm's M and h is what damping, springs and rotors leave; it
    is scaled. A payload that is divided by the scale comes out whole.
    """
    n, scale = scratch.tau.size, arm.mass_scale
    q, v, bias, mass = scratch.q, scratch.v, scratch.bias, scratch.mass
    for i in range(n):
        q[i], v[i] = y[i], y[n + i]
    call_kernel(
        kernels.inverse_dynamics_loaded, (q, v, scratch.zero, arm.payload, arm.wrench, bias)
    )
    call_kernel(kernels.mass_matrix_loaded, (q, arm.payload, mass))
    for i in range(n):
        for j in range(n):
            mass[i, j] *= scale
        mass[i, i] += (1.0 - scale) * arm.armature[i]
        passive = arm.damping[i] * v[i] + arm.stiffness[i] * (q[i] - arm.rest[i])
        bias[i] = scratch.tau[i] - (scale * (bias[i] - passive) + passive)
    factorize(mass, scratch.pivots)
    solve(mass, scratch.pivots, bias)
    for i in range(n):
        out[i], out[n + i] = v[i], bias[i]


@compiled(short=True, python=False)
def advance(kernels, arm, y, duration, scratch):
    """Move the state y (2 n,) by `duration` s of constant efforts, by classical Runge-Kutta."""
    steps = max(math.ceil(duration / arm.step - 1e-6), 1)
    h = duration / steps
    place, k = scratch.place, scratch.rates
    for _ in range(steps):
        rates(kernels, arm, y, scratch, k[0])
        for stage in range(1, 4):
            part = h if stage == 3 else 0.5 * h
            for i in range(y.size):
                place[i] = y[i] + part * k[stage - 1, i]
            rates(kernels, arm, place, scratch, k[stage])
        for i in range(y.size):
            y[i] += h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])

"""What holds the sticking joints of an arm with dry friction; specialized for each robot.

They neither move nor accelerate; what holds them follows from the dynamics of the others
(locked-joint dynamics)::

    M_ss a_s = tau_s - F_s - h_s,    a_r = 0,    f_r = tau_r - M_rs a_s - h_r

with s the sliding and r the sticking joints, the bias h = ID(q, v, 0), and F the friction of those
that slide. It is the same under every effort law, which calls it.
"""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.linear_solve import factorize, solve
from manip_dyn.core.views import part

# Bound for each robot.
N = 1
"""Number of joints."""


class Sliding(NamedTuple):
    """What is known of the joints, and scratch.

    Attributes:
        mode: 1 or -1 for joints (n,) that slide, 0 for those that stick; 1 without friction.
        coulomb: See `Friction`.
        static: See `Friction`.
        stribeck: See `Friction`.
        held: What holds the sticking joints (n,), N m or N.
        bias: Scratch (n,).
        still: Zeros (n,).
        mass: Scratch (n, n).
        matrix: Scratch (n, n).
        pivots: Scratch (n,).
    """

    mode: Vector
    coulomb: Vector
    static: Vector
    stribeck: Vector
    held: Vector
    bias: Vector
    still: Vector
    mass: Matrix
    matrix: Matrix
    pivots: Vector


@inlined
def no_mass(q, out):
    """Write the mass matrix (n, n)."""


@inlined
def no_dynamics(q, v, a, out):
    """Write the efforts (n,) that give the accelerations a (n,)."""


mass_matrix, inverse_dynamics = no_mass, no_dynamics


@compiled(python=False, counted=False)
def hold(y, now, tau):
    """Take what holds the sticking joints from the efforts (n,) less the friction of the others.

    Args:
        y: The state (2 n + 1,).
        now: A reference to `Sliding`; ``now.held`` is filled.
        tau: The efforts, changed.
    """
    q, v, a = part(y, 0, N), part(y, N, N), now.still
    for i in range(N):
        a[i] = 0.0
    inverse_dynamics(q, v, a, now.bias)
    mass_matrix(q, now.mass)
    for i in range(N):
        slides = now.mode[i] != 0.0
        a[i] = tau[i] - now.bias[i] if slides else 0.0
        for j in range(N):
            both = slides and now.mode[j] != 0.0
            now.matrix[i, j] = now.mass[i, j] if both else 0.0
        if not slides:
            now.matrix[i, i] = 1.0
    factorize(now.matrix, now.pivots)
    solve(now.matrix, now.pivots, a)
    for i in range(N):
        if now.mode[i] == 0.0:
            needed = now.bias[i]
            for j in range(N):
                needed += now.mass[i, j] * a[j]
            now.held[i] = tau[i] - needed
            tau[i] = needed

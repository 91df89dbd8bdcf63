"""What holds the sticking joints of an arm with dry friction; compiled once for all arms.

They neither move nor accelerate; what holds them follows from the dynamics of the others
(locked-joint dynamics)::

    M_ss a_s = tau_s - F_s - h_s,    a_r = 0,    f_r = tau_r - M_rs a_s - h_r

with s the sliding and r the sticking joints, the bias h = ID(q, v, 0), and F the friction of those
that slide. It is the same under every effort law, which calls it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays.views import part
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.numerics.linear_solve import factorize, solve


class Sliding(NamedTuple):
    """What is known of the joints, and scratch.

    Attributes:
        mode: 1 or -1 for joints (n,) that slide, 0 for those that stick; 1 without friction.
        coulomb: See `Friction`.
        static: See `Friction`.
        stribeck: See `Friction`.
        given: Efforts (n,), where no law gives them, N m or N.
        efforts: What acts on the joints (n,), N m or N.
        held: What holds the sticking joints (n,), N m or N.
        bias: Scratch (n,).
        still: Zeros (n,).
        mass: Scratch (n, n).
        matrix: Scratch (n, n).
        pivots: Scratch (n,).
        mass_matrix: The kernel's address, see `by_address`.
        inverse_dynamics: The kernel's address.
        motion: Address of the kernel `motion_and_work`.
        linear_motion: Address of the kernel `linear_motion_and_work`; 0 if nobody needs it.
    """

    mode: Vector
    coulomb: Vector
    static: Vector
    stribeck: Vector
    given: Vector
    efforts: Vector
    held: Vector
    bias: Vector
    still: Vector
    mass: Matrix
    matrix: Matrix
    pivots: Vector
    mass_matrix: Any
    inverse_dynamics: Any
    motion: Any
    linear_motion: Any


@compiled(python=False, counted=False)
def hold(y, now, tau):
    """Take what holds the sticking joints from the efforts (n,) less the friction of the others.

    Args:
        y: The state (2 n + 1,).
        now: A reference to `Sliding`; ``now.held`` is filled.
        tau: The efforts, changed.
    """
    n, a = now.still.shape[0], now.still
    q, v = part(y, 0, n), part(y, n, n)
    for i in range(n):
        a[i] = 0.0
    call_kernel(now.inverse_dynamics, (q, v, a, now.bias))
    call_kernel(now.mass_matrix, (q, now.mass))
    for i in range(n):
        slides = now.mode[i] != 0.0
        a[i] = tau[i] - now.bias[i] if slides else 0.0
        for j in range(n):
            both = slides and now.mode[j] != 0.0
            now.matrix[i, j] = now.mass[i, j] if both else 0.0
        if not slides:
            now.matrix[i, i] = 1.0
    factorize(now.matrix, now.pivots)
    solve(now.matrix, now.pivots, a)
    for i in range(n):
        if now.mode[i] == 0.0:
            needed = now.bias[i]
            for j in range(n):
                needed += now.mass[i, j] * a[j]
            now.held[i] = tau[i] - needed
            tau[i] = needed

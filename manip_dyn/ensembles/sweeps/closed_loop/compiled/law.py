"""Computed-torque feedback within the effort limits: `planning.execution.feedback`, compiled."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.linear_algebra import factorize, solve


class Law(NamedTuple):
    """Gains, limits, what is remembered, and memory; see `planning.execution.Tuning`.

    Attributes:
        stiffness: 1/s^2.
        damping: 1/s.
        integral: 1/s^3.
        tolerance: rad or m.
        limit: Efforts (n,), N m or N.
        sum: Integral of the position error (n,).
        saturated: Whether efforts were cut off, (1,).
        wanted: Efforts (n,) before they are cut off.
    """

    stiffness: float
    damping: float
    integral: float
    tolerance: float
    limit: Vector
    sum: Vector
    saturated: Vector
    wanted: Vector
    asked: Vector
    there: Vector
    zero: Vector
    mass: Matrix
    part: Matrix
    lack: Vector
    pivots: Vector


@compiled(short=True, python=False)
def accelerate(law, q, v, q_ref, v_ref):
    """Write the accelerations (n,) that lead to the reference into `law.asked`."""
    for i in range(q.size):
        law.asked[i] = (
            law.stiffness * (q_ref[i] - q[i])
            + law.damping * (v_ref[i] - v[i])
            + law.integral * law.sum[i]
        )


@compiled(short=True, python=False)
def correct(kernels, law, q, v, q_ref, v_ref, out):
    """Write what is to be added to the efforts (n,) of the reference."""
    accelerate(law, q, v, q_ref, v_ref)
    call_kernel(kernels.inverse_dynamics, (q, v, law.asked, out))
    call_kernel(kernels.inverse_dynamics, (q_ref, v_ref, law.zero, law.there))
    for i in range(q.size):
        out[i] -= law.there[i]


@compiled(short=True, python=False)
def limit(kernels, law, q, out):
    """Write `law.wanted` within the limits; joints with room keep their own accelerations."""
    n, over = q.size, 0
    for i in range(n):
        out[i] = min(max(law.wanted[i], -law.limit[i]), law.limit[i])
        over += out[i] != law.wanted[i]
    law.saturated[0] = over > 0
    if over in (0, n):
        return
    call_kernel(kernels.mass_matrix, (q, law.mass))
    row = 0
    for i in range(n):
        if out[i] != law.wanted[i]:
            column = 0
            for j in range(n):
                if out[j] != law.wanted[j]:
                    law.part[row, column] = law.mass[i, j]
                    column += 1
            law.lack[row] = out[i] - law.wanted[i]
            row += 1
    part, lack, pivots = law.part[:over, :over].copy(), law.lack[:over], law.pivots[:over]
    factorize(part, pivots)
    solve(part, pivots, lack)
    for i in range(n):
        if out[i] == law.wanted[i]:
            more, column = out[i], 0
            for j in range(n):
                if out[j] != law.wanted[j]:
                    more += law.mass[i, j] * lack[column]
                    column += 1
            law.there[i] = min(max(more, -law.limit[i]), law.limit[i])
    for i in range(n):
        if out[i] == law.wanted[i]:
            out[i] = law.there[i]

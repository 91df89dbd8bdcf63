"""Second-order condition of an extremal: the second derivative of its duration."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector


def curvature_of(jumps: Vector, by_unknown: Matrix, jacobian: Matrix) -> float:
    """Return the smallest eigenvalue of the Lagrangian's Hessian under the goal constraint.

    The derivative of the Lagrangian T + p(T) . (x(T) - goal) by a switch time is the jump of H, 2
    s limit S with the sign s before the switch. The derivative by T is H.

    Args:
        jumps: Jumps of H divided by S at the switches of full efforts, and 1 for H (m + 1,).
        by_unknown: Derivatives of the final (x, p) by the unknowns (4 n, all).
        jacobian: Derivatives of the conditions by the unknowns.
    """
    n = len(by_unknown) // 4
    x_by_time, p_by_costate, p_by_time = (
        by_unknown[: 2 * n, 2 * n :],
        by_unknown[2 * n :, : 2 * n],
        by_unknown[2 * n :, 2 * n :],
    )
    _, sizes, right = np.linalg.svd(x_by_time)
    free = right[int((sizes > 1e-9 * sizes[0]).sum()) :]
    if len(free) == 0:
        return np.inf
    rows = jacobian[2 * n :]
    eliminated = rows[:, 2 * n :] - rows[:, : 2 * n] @ np.linalg.solve(p_by_costate, p_by_time)
    hessian = jumps[:, None] * eliminated
    reduced = free @ (0.5 * (hessian + hessian.T)) @ free.T
    return float(np.linalg.eigvalsh(reduced)[0])

"""Motion with constant efforts in each of many equal cells, and its derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled


class CellMotion(NamedTuple):
    """A motion in cells of constant effort.

    Attributes:
        u: Normalized efforts (cells, n).
        states: States at the ends of the cells (cells + 1, 2 n).
        jacobians: Derivatives of the acceleration by q, v and the efforts at the midpoint of each
            cell (cells, 3, n, n).
        ends: Rates of the state at the end of each cell (cells, 2 n).
    """

    u: Vector
    states: Matrix
    jacobians: Vector
    ends: Vector


class CellWork(NamedTuple):
    """Work arrays of the integration.

    Attributes:
        q: Positions (n,).
        v: Velocities (n,).
        tau: Efforts (n,).
        a: Accelerations (n,).
        x: State (2 n,).
        stages: Rates of the state (5, 2 n).
        mean: Mean of a derivative over a cell (2 n,).
        total: Derivative at the start of the cell (2 n,).
        product: Term of the exponential series (2 n,).
    """

    q: Vector
    v: Vector
    tau: Vector
    a: Vector
    x: Vector
    stages: Matrix
    mean: Vector
    total: Vector
    product: Vector


def cell_motion_of(n: int, cells: int) -> CellMotion:
    """Allocate the arrays for a motion of n joints."""
    m = 2 * n
    return CellMotion(
        np.empty((cells, n)),
        np.empty((cells + 1, m)),
        np.empty((cells, 3, n, n)),
        np.empty((cells, m)),
    )


def cell_work_of(n: int) -> CellWork:
    """Allocate the work arrays for n joints."""
    q, v, tau, a = np.empty((4, n))
    x, mean, total, product = np.empty((4, 2 * n))
    return CellWork(q, v, tau, a, x, np.empty((5, 2 * n)), mean, total, product)


@compiled(short=True, python=False, counted=False)
def sweep(kernels, start, limits, duration, motion, work):
    """Integrate from `start` (2 n,) over all cells, with one RK4 step per cell.

    Reads the normalized efforts ``motion.u``, which are multiplied by ``limits`` (n,), and writes
    the other arrays of the motion.
    """
    u, states, ends, x, stages = motion.u, motion.states, motion.ends, work.x, work.stages
    q, v, tau, a = work.q, work.v, work.tau, work.a
    n, cells = u.shape[1], u.shape[0]
    h = duration / cells
    for i in range(2 * n):
        x[i] = states[0, i] = start[i]
    for k in range(cells):
        for i in range(n):
            tau[i] = limits[i] * u[k, i]
        for stage in range(5):  # four stages of the step, then the rates at its end
            ahead = h if stage == 3 else 0.5 * h
            for i in range(n):
                q[i] = x[i]
                v[i] = x[n + i]
                if 0 < stage < 4:
                    q[i] += ahead * stages[stage - 1, i]
                    v[i] += ahead * stages[stage - 1, n + i]
            call_kernel(kernels.forward_dynamics, (q, v, tau, a))
            for i in range(n):
                stages[stage, i] = v[i]
                stages[stage, n + i] = a[i]
            if stage == 2:
                derivatives = kernels.forward_dynamics_derivatives
                call_kernel(derivatives, (q, v, tau, motion.jacobians[k]))
            if stage == 3:
                for i in range(2 * n):
                    inner = stages[1, i] + stages[2, i]
                    x[i] += h / 6.0 * (stages[0, i] + 2.0 * inner + stages[3, i])
                    states[k + 1, i] = x[i]
        for i in range(2 * n):
            ends[k, i] = stages[4, i]


@compiled(short=True, python=False, counted=False)
def pull_back(lever, node, limits, h, motion, work, columns, rows, row):
    """Write the derivatives of lever . x at a node by all controls and the duration.

    They are written to a row of `columns` (any, rows), stored column by column, with the controls
    first and the duration last. `lever` (2 n,) is replaced by the derivative by the start.
    Derivatives over a cell are exponentials of its Jacobian.
    """
    jacobians, ends = motion.jacobians, motion.ends
    mean, total, product = work.mean, work.total, work.product
    n, cells = limits.shape[0], ends.shape[0]
    slope = 0.0
    for k in range(node * n, cells * n):
        columns[k * rows + row] = 0.0
    for k in range(node - 1, -1, -1):
        for i in range(2 * n):
            slope += lever[i] * ends[k, i] / cells
            total[i] = mean[i] = lever[i]
        # Series: total is lever exp(J h), and mean is its mean over the cell.
        for order in range(1, 5):
            for j in range(n):
                by_q, by_v = 0.0, lever[j]
                for i in range(n):
                    by_q += lever[n + i] * jacobians[k, 0, i, j]
                    by_v += lever[n + i] * jacobians[k, 1, i, j]
                product[j] = by_q
                product[n + j] = by_v
            for j in range(2 * n):
                lever[j] = product[j] * h / order
                total[j] += lever[j]
                mean[j] += lever[j] / (order + 1)
        for j in range(2 * n):
            lever[j] = total[j]
        for j in range(n):
            gain = 0.0
            for i in range(n):
                gain += mean[n + i] * jacobians[k, 2, i, j]
            columns[(k * n + j) * rows + row] = h * limits[j] * gain
    columns[cells * n * rows + row] = slope

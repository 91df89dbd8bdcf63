"""Sparse LDL^T factorization of the equations of all accelerations and multipliers.

The accelerations a (N,) and multipliers lambda (m,) satisfy

    M a + Phi_q^T lambda = Q,     Phi_q a = tau.

The unknowns are ordered block by block, from the leaves of the tree of blocks to the ground, see
`topology`. In each block, the coordinates of the bodies precede the multipliers. All pivots then
are Schur complements that are positive definite (coordinates) or negative definite (multipliers),
so that no row exchanges are necessary (Baraff, "Linear-time dynamics using Lagrange multipliers",
1996). M is singular along the Euler parameters e of a body. The factorized matrix contains
M + s e e^T instead, which has the same solution, because e e^T a follows from the constraint on
the norm of e. Factors: Davis, "Direct methods for sparse linear systems" (2006), section 4.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.equations.primitives import SIZE
from manip_dyn.multibody.equations.tables import (
    FIRST,
    System,
    bodies_of,
    links_of,
    loads_of,
    motion_of,
    system_of,
)

PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Pairs of Euler parameters of a body in the order of `System.mass_slots`."""


def sparse_system(links: np.ndarray, blocks: Sequence[np.ndarray], size: int) -> System:
    """Analyse the sparse equations of a mechanism and create their arrays.

    Args:
        links: Offsets of the coordinates of the two bodies of each constraint (m, 2); N for the
            ground.
        blocks: Indices of the bodies of each block. A block is connected with the ground through
            an earlier one.
        size: Number of coordinates N.
    """
    block_of = np.full(size // 7 + 1, -1)
    for k, bodies in enumerate(blocks):
        block_of[bodies] = k
    owners = block_of[links // 7].max(axis=1)  # the later block
    unknowns = [
        index
        for k in range(len(blocks) - 1, -1, -1)
        for index in (
            *(7 * body + i for body in blocks[k] for i in range(7)),
            *(size + row for row in np.flatnonzero(owners == k)),
        )
    ]
    count = size + len(links)
    order = np.empty(count, dtype=np.int64)
    order[unknowns] = np.arange(count)
    entries = [
        (order[7 * body + 3 + i], order[7 * body + 3 + j])
        for body in range(size // 7)
        for i, j in PAIRS
    ]
    gradients = [
        (order[size + row], order[first + i] if first < size else -1)
        for row, pair in enumerate(links.tolist())
        for first in pair
        for i in range(7)
    ]
    columns = _filled_columns(count, [*entries, *(pair for pair in gradients if pair[1] >= 0)])
    starts = np.cumsum([0, *map(len, columns)])
    slots = {
        (row, column): starts[column] + k
        for column, column_rows in enumerate(columns)
        for k, row in enumerate(column_rows)
    }
    by_row = sorted(slots)
    row_counts = np.bincount([row for row, _ in by_row], minlength=count)
    indices = {
        "order": order,
        "mass_slots": [slots[max(pair), min(pair)] for pair in entries],
        "link_slots": [slots.get((max(pair), min(pair)), -1) for pair in gradients],
        "columns": starts,
        "column_rows": [row for column_rows in columns for row in column_rows],
        "rows": np.cumsum([0, *row_counts]),
        "row_columns": [column for _, column in by_row],
        "row_slots": [slots[pair] for pair in by_row],
    }
    arrays = {name: np.array(values, dtype=np.int64) for name, values in indices.items()}
    arrays["mass_slots"] = arrays["mass_slots"].reshape(-1, len(PAIRS))
    arrays["link_slots"] = arrays["link_slots"].reshape(-1, SIZE)
    vectors = {name: np.zeros(count) for name in ("diagonal", "x", "line")}
    return System(**arrays, lower=np.zeros(len(slots)), **vectors)


def _filled_columns(count: int, entries: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the rows of the entries of L below the diagonal, including fill, by columns."""
    columns: list[set[int]] = [set() for _ in range(count)]
    for i, j in entries:
        columns[min(i, j)].add(max(i, j))
    for column in columns:
        if column:
            parent = min(column)
            columns[parent] |= column - {parent}
    return [sorted(column) for column in columns]


@compiled(short=True, python=False, counted=False)
def _assemble(p):
    """Write the matrix to `lower` and `diagonal`, and the right-hand side to `x`.

    `Links.work` contains tau.
    """
    system, bodies, links, motion = system_of(p), bodies_of(p), links_of(p), motion_of(p)
    order, mass_slots, link_slots = system.order, system.mass_slots, system.link_slots
    lower, diagonal, x = system.lower, system.diagonal, system.x
    mass, turning, rows, slopes, tau = (
        bodies.mass,
        bodies.turning,
        links.rows,
        links.slopes,
        links.work,
    )
    force, q, v = loads_of(p).force, motion.q, motion.v
    size = force.shape[0]
    for i in range(lower.shape[0]):
        lower[i] = 0.0
    for i in range(diagonal.shape[0]):
        diagonal[i] = 0.0
    for b in range(mass.shape[0]):
        for i in range(3):
            diagonal[order[7 * b + i]] = mass[b]
            x[order[7 * b + i]] = force[7 * b + i]
        first, weight, square = 7 * b + 3, 0.0, 0.0
        for i in range(4):
            weight += 0.25 * turning[b, i, i]
            square += v[first + i] * v[first + i]
        for i in range(4):
            e = q[first + i]
            diagonal[order[first + i]] = turning[b, i, i] + weight * e * e
            x[order[first + i]] = force[first + i] - weight * e * square
        slot = 0
        for i in range(3):
            for j in range(i + 1, 4):
                value = turning[b, i, j] + weight * q[first + i] * q[first + j]
                lower[mass_slots[b, slot]] = value
                slot += 1
    for k in range(tau.shape[0]):
        x[order[size + k]] = tau[k]
        for i in range(SIZE):
            if rows[k, FIRST + i // 7] < size:
                lower[link_slots[k, i]] = slopes[k, i]


@compiled(python=False, counted=False)
def _factorize(system):
    """Factorize the matrix in `lower` and `diagonal` in place. `x` is solved forwards."""
    columns, column_rows = system.columns, system.column_rows
    rows, row_columns, row_slots = system.rows, system.row_columns, system.row_slots
    lower, diagonal, x, line = system.lower, system.diagonal, system.x, system.line
    for k in range(diagonal.shape[0]):
        first, last = rows[k], rows[k + 1]
        for entry in range(first, last):
            line[row_columns[entry]] = lower[row_slots[entry]]
        pivot, total = diagonal[k], x[k]
        for entry in range(first, last):
            column, slot = row_columns[entry], row_slots[entry]
            value = line[column]
            for i in range(columns[column], slot):
                line[column_rows[i]] -= lower[i] * value
            factor = value * diagonal[column]
            pivot -= factor * value
            total -= factor * x[column]
            lower[slot] = factor
        diagonal[k], x[k] = 1.0 / pivot, total


@compiled(short=True, python=False, counted=False)
def solve_accelerations(p):
    """Write the accelerations `a` for the forces in `force` and tau in `Links.work`."""
    _assemble(p)
    system, a, size = system_of(p), motion_of(p).a, loads_of(p).force.shape[0]
    _factorize(system)
    columns, column_rows, lower = system.columns, system.column_rows, system.lower
    diagonal, x, order = system.diagonal, system.x, system.order
    for k in range(x.shape[0] - 1, -1, -1):
        x[k] *= diagonal[k]
        for i in range(columns[k], columns[k + 1]):
            x[k] -= lower[i] * x[column_rows[i]]
    for i in range(size):
        a[i] = x[order[i]]

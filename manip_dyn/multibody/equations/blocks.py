"""Linear systems of the gradients with respect to the dependent coordinates, block by block.

The gradients Phi_u (m, m) are block lower triangular. A block contains the bodies that form loops
with each other, or a single body, see `topology`. Its constraints also depend on the body through
which it is connected with the ground, which belongs to an earlier block. Only the diagonal blocks
are factorized, so that the cost of a chain or tree is proportional to its number of bodies.
"""

from __future__ import annotations

from manip_dyn.core.arrays import part
from manip_dyn.core.arrays import rows as rows_of
from manip_dyn.core.compiled import compiled
from manip_dyn.core.solvers import factorize, solve
from manip_dyn.multibody.equations.primitives import SIZE
from manip_dyn.multibody.equations.tables import FIRST, links_of


@compiled(python=False, counted=False)
def _eliminate(matrix, pivots):
    factorize(matrix, pivots)


@compiled(python=False, counted=False)
def _substitute(factors, pivots, x):
    solve(factors, pivots, x)


@compiled(short=True, python=False, counted=False)
def refactor(p):
    """Factorize the diagonal blocks of the gradients in `slopes`."""
    links = links_of(p)
    rows, roles, slopes, starts = links.rows, links.roles, links.slopes, links.starts
    factors, pivots = links.factors, links.pivots
    for b in range(starts.shape[0] - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        for k in range(first, first + size):
            for i in range(size):
                factors[k, i] = 0.0
            for side in range(2):
                start = rows[k, FIRST + side]
                for i in range(7):
                    role = roles[start + i]
                    if role >= first:
                        factors[k, role - first] += slopes[k, 7 * side + i]
        _eliminate(rows_of(factors, first, size), part(pivots, first, size))


@compiled(short=True, python=False, counted=False)
def substitute(p, x):
    """Replace x (m,) with the solution of the factorized system."""
    links = links_of(p)
    rows, roles, slopes, starts = links.rows, links.roles, links.slopes, links.starts
    factors, pivots = links.factors, links.pivots
    for b in range(starts.shape[0] - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        if first > 0:
            for k in range(first, first + size):
                for i in range(SIZE):
                    role = roles[rows[k, FIRST + i // 7] + i % 7]
                    if 0 <= role < first:
                        x[k] -= slopes[k, i] * x[role]
        _substitute(rows_of(factors, first, size), part(pivots, first, size), part(x, first, size))


@compiled(short=True, python=False, counted=False)
def solve_transposed(p, x):
    """Replace x (m,) with the solution of the transposed factorized system."""
    links = links_of(p)
    rows, roles, slopes, starts = links.rows, links.roles, links.slopes, links.starts
    factors, pivots = links.factors, links.pivots
    for b in range(starts.shape[0] - 2, -1, -1):
        first, size = starts[b], starts[b + 1] - starts[b]
        _solve_block_transposed(
            rows_of(factors, first, size), part(pivots, first, size), part(x, first, size)
        )
        if first > 0:
            for k in range(first, first + size):
                for i in range(SIZE):
                    role = roles[rows[k, FIRST + i // 7] + i % 7]
                    if 0 <= role < first:
                        x[role] -= slopes[k, i] * x[k]


@compiled(short=True, python=False, counted=False)
def _solve_block_transposed(factors, pivots, x):
    size = x.shape[0]
    for k in range(size):
        x[k] *= factors[k, k]
        for i in range(k + 1, size):
            x[i] -= factors[k, i] * x[k]
    for k in range(size - 1, -1, -1):
        for i in range(k):
            x[i] -= factors[k, i] * x[k]
    for k in range(size - 1, -1, -1):
        best = int(pivots[k])
        x[k], x[best] = x[best], x[k]


@compiled(short=True, python=False, counted=False)
def solve_rows(p, x):
    """Replace the columns of x (m, n) with solutions of the factorized system, skipping zeros."""
    links = links_of(p)
    rows, roles, slopes, starts = links.rows, links.roles, links.slopes, links.starts
    factors, pivots, width = links.factors, links.pivots, x.shape[1]
    for b in range(starts.shape[0] - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        if first > 0:
            for k in range(first, first + size):
                for i in range(SIZE):
                    role = roles[rows[k, FIRST + i // 7] + i % 7]
                    if 0 <= role < first and slopes[k, i] != 0.0:
                        for c in range(width):
                            x[k, c] -= slopes[k, i] * x[role, c]
        _solve_block_rows(
            rows_of(factors, first, size), part(pivots, first, size), rows_of(x, first, size)
        )


@compiled(short=True, python=False, counted=False)
def _solve_block_rows(factors, pivots, x):
    size, width = x.shape
    for k in range(size):
        best = int(pivots[k])
        if best != k:
            for c in range(width):
                x[k, c], x[best, c] = x[best, c], x[k, c]
    for row in range(1, size):
        for k in range(row):
            factor = factors[row, k]
            if factor != 0.0:
                for c in range(width):
                    x[row, c] -= factor * x[k, c]
    for row in range(size - 1, -1, -1):
        for k in range(row + 1, size):
            factor = factors[row, k]
            if factor != 0.0:
                for c in range(width):
                    x[row, c] -= factor * x[k, c]
        for c in range(width):
            x[row, c] *= factors[row, row]

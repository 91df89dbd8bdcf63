"""Template for the Taylor series of a robot, computed by one pass per order.

A row of the workspace contains all coefficients of one order: the state (SIZE), the efforts (N),
the rates of the state (SIZE), and the intermediate results of the passes.
"""

from __future__ import annotations

from math import nan
from typing import Any

from manip_dyn.core.arrays import unowned
from manip_dyn.core.compiled import compiled, inlined

# Parameters of the template.
N, SIZE, WIDTH = 1, 1, 3
"""Numbers of joints, of a state, and of a row of the workspace."""


@inlined
def no_passes(order, work):
    """Fill rows 0 to `order` - 1 of a workspace with the state in row 0, efforts in all rows."""


fill: Any = no_passes


@compiled
def taylor(q, v, tau, work, out):
    """Write the coefficients of q(t) into `out` (order + 1, n) for efforts `tau` (m, n)."""
    order = out.shape[0] - 1
    for i in range(N):
        work[0, i] = q[i]
        work[0, N + i] = v[i]
        for k in range(order):
            work[k, SIZE + i] = tau[k, i] if k < tau.shape[0] else 0.0
    fill(order - 1, work)
    for i in range(N):
        out[0, i] = q[i]
        if order > 0:
            out[1, i] = v[i]
        for k in range(2, order + 1):
            out[k, i] = work[k - 2, SIZE + N + N + i] / (k * (k - 1))


@compiled
def series(t, y, p, order, work, out):
    """Write the coefficients of the state into `out` (order + 1, m), see `md.Series`."""
    y, p, work, out = unowned(y), unowned(p), unowned(work), unowned(out)
    if work.shape[0] < order or work.shape[1] != WIDTH:
        for k in range(out.shape[0]):  # `work` is too small; the caller returns a status
            for i in range(SIZE):
                out[k, i] = nan
        return
    for i in range(SIZE):
        work[0, i] = y[i]
    for i in range(N):
        work[0, SIZE + i] = p[i]
    for k in range(1, order):
        for i in range(N):
            work[k, SIZE + i] = 0.0
    fill(order, work)
    for k in range(order):
        for i in range(SIZE):
            out[k, i] = work[k, i]
    for i in range(SIZE):
        out[order, i] = work[order - 1, SIZE + N + i] / order

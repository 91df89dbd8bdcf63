"""Template for the Taylor series of a robot, computed with one pass per order.

A row of the workspace contains all coefficients of one order: the state (SIZE), the efforts (N),
the rates of the state (SIZE), and the intermediate results of the passes.
"""

from __future__ import annotations

from math import nan

from manip_dyn.core.arrays import unowned
from manip_dyn.core.compiled import compiled
from manip_dyn.core.linking import function_parameter, number_parameter


@number_parameter()
def joints():
    """Return the number of joints."""
    return 1


@number_parameter()
def size():
    """Return the length of the state."""
    return 1


@number_parameter()
def width():
    """Return the length of a row of the workspace."""
    return 3


@function_parameter()
def fill(order, work):
    """Fill rows 0 to `order` - 1 of `work` from the state in row 0 and the efforts in all rows."""


@compiled
def taylor(q, v, tau, work, out):
    """Write the coefficients of q(t) into `out` (order + 1, n).

    Row k of `tau` (m, n) is coefficient k of the efforts.
    """
    n, m, order = joints(), size(), out.shape[0] - 1
    for i in range(n):
        work[0, i] = q[i]
        work[0, n + i] = v[i]
        for k in range(order):
            work[k, m + i] = tau[k, i] if k < tau.shape[0] else 0.0
    fill(order - 1, work)
    for i in range(n):
        out[0, i] = q[i]
        if order > 0:
            out[1, i] = v[i]
        for k in range(2, order + 1):
            out[k, i] = work[k - 2, m + n + n + i] / (k * (k - 1))


@compiled
def series(t, y, p, order, work, out):
    """Write the coefficients of the state y (m,) into `out` (order + 1, m); see `md.Series`.

    The efforts p (n,) are constant. If `work` is too small, `out` is filled with NaN.
    """
    n, m = joints(), size()
    y, p, work, out = unowned(y), unowned(p), unowned(work), unowned(out)
    if work.shape[0] < order or work.shape[1] != width():
        for k in range(out.shape[0]):  # `work` is too small; the caller returns a status
            for i in range(m):
                out[k, i] = nan
        return
    for i in range(m):
        work[0, i] = y[i]
    for i in range(n):
        work[0, m + i] = p[i]
    for k in range(1, order):
        for i in range(n):
            work[k, m + i] = 0.0
    fill(order, work)
    for k in range(order):
        for i in range(m):
            out[k, i] = work[k, i]
    for i in range(m):
        out[order, i] = work[order - 1, m + n + i] / order

"""Linear programs with few rows and many bounded variables, by the simplex method.

minimize  cost . x + penalty |e|_1   subject to   columns^T x + e = right,   low <= x <= high

The rows are elastic: where they cannot be met, e takes the rest. The method keeps the inverse
of the basis, small here, and lets a variable go from bound to bound without a change of basis.
Nocedal, Wright (2006), Numerical Optimization, sections 13.3 to 13.5 (bounds) and 18.5 (elastic).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", nogil=True)
def solve_linear_program(columns, right, cost, low, high, at_high, basis, penalty, x, multipliers):
    """Write the solution; return the number of pivots, or -1 if there were too many.

    Args:
        columns: Columns of the matrix as rows (k, m).
        right: Right-hand side (m,).
        cost: Costs (k,).
        low: Lower bounds (k,), finite.
        high: Upper bounds (k,), finite.
        at_high: Which bound to start from (k,), bool; the bounds of the solution afterwards.
        basis: The variable each row starts with (m,), one at 0 with the column of a unit matrix,
            or -1; overwritten.
        penalty: Cost of a violated row.
        x: The solution (k,).
        multipliers: Sensitivities (m,) of the minimum by `right`.
    """
    count, rows = columns.shape
    inverse = np.zeros((rows, rows))
    values, ratio = right.copy(), np.empty(rows)
    is_basic = np.zeros(count, dtype=np.bool_)
    for j in range(count):
        x[j] = high[j] if at_high[j] else low[j]
        for i in range(rows):
            values[i] -= columns[j, i] * x[j]
    for i in range(rows):
        inverse[i, i] = 1.0 if values[i] >= 0.0 else -1.0
        if basis[i] >= 0 and values[i] >= 0.0:
            is_basic[basis[i]] = True
        else:
            basis[i] = -1
        values[i] = abs(values[i])
    for pivot in range(60 * rows + 4 * count):
        for i in range(rows):
            multipliers[i] = 0.0
            for k in range(rows):
                weight = penalty if basis[k] < 0 else cost[basis[k]]
                multipliers[i] += weight * inverse[k, i]
        entering, best = -1, 1e-11
        for j in range(count):
            if is_basic[j] or low[j] == high[j]:
                continue
            slope = cost[j]
            for i in range(rows):
                slope -= multipliers[i] * columns[j, i]
            gain = slope if at_high[j] else -slope
            if gain > best:
                entering, best = j, gain
        if entering < 0:
            for i in range(rows):
                if basis[i] >= 0:
                    x[basis[i]] = values[i]
            return pivot
        direction = -1.0 if at_high[entering] else 1.0
        length, leaving, to_high = high[entering] - low[entering], -1, False
        for k in range(rows):
            ratio[k] = 0.0
            for i in range(rows):
                ratio[k] += inverse[k, i] * columns[entering, i]
            fall = direction * ratio[k]
            floor = 0.0 if basis[k] < 0 else low[basis[k]]
            if fall > 1e-13 and (values[k] - floor) / fall < length:
                length, leaving, to_high = max((values[k] - floor) / fall, 0.0), k, False
            if fall < -1e-13 and basis[k] >= 0 and (high[basis[k]] - values[k]) / -fall < length:
                length, leaving, to_high = max((high[basis[k]] - values[k]) / -fall, 0.0), k, True
        for k in range(rows):
            values[k] -= length * direction * ratio[k]
        at_bound = high[entering] if at_high[entering] else low[entering]
        if leaving < 0:
            at_high[entering] = not at_high[entering]
            x[entering] = high[entering] if at_high[entering] else low[entering]
            continue
        out = basis[leaving]
        if out >= 0:
            is_basic[out], at_high[out] = False, to_high
            x[out] = high[out] if to_high else low[out]
        basis[leaving], is_basic[entering] = entering, True
        values[leaving] = at_bound + length * direction
        scale = 1.0 / ratio[leaving]
        for i in range(rows):
            inverse[leaving, i] *= scale
        for k in range(rows):
            if k != leaving:
                for i in range(rows):
                    inverse[k, i] -= ratio[k] * inverse[leaving, i]
    return -1

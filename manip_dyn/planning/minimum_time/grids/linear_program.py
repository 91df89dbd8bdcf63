"""Simplex method for linear programs with few rows and many bounded variables.

minimize  cost . x + penalty |e|_1   subject to   columns^T x + e = right,   low <= x <= high

The rows are elastic: e absorbs the violation of rows that cannot be satisfied. The method stores
the inverse of the basis, which is small, and moves variables between bounds without changing the
basis. Nocedal, Wright (2006), Numerical Optimization, sections 13.3 to 13.5 (bounds) and 18.5
(elastic mode).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled

GAIN, PIVOT = 1e-11, 1e-13
"""Smallest reduced cost, and smallest pivot element, that count as nonzero."""


class LinearProgram(NamedTuple):
    """A program with up to k variables and m rows, its solution, and work arrays.

    Attributes:
        columns: Columns of the matrix in sequence (k m,).
        right: Right-hand side (m,).
        cost: Costs (k,).
        low: Lower bounds (k,), finite.
        high: Upper bounds (k,), finite.
        at_high: Whether a variable is at its upper bound at the start (k,); overwritten with its
            state at the end.
        basis: Initial basic variable of each row (m,), or -1. Such a variable is 0, with the
            column of a unit matrix. Overwritten.
        x: The solution (k,).
        multipliers: Sensitivities (m,) of the minimum to `right`.
        inverse: Inverse of the basis, by rows (m^2,).
        values: Values of the basic variables (m,).
        ratio: Changes of the basic variables per change of the entering variable (m,).
        is_basic: Whether a variable is in the basis (k,).
    """

    columns: Vector
    right: Vector
    cost: Vector
    low: Vector
    high: Vector
    at_high: NDArray[np.bool_]
    basis: NDArray[np.int64]
    x: Vector
    multipliers: Vector
    inverse: Vector
    values: Vector
    ratio: Vector
    is_basic: NDArray[np.bool_]


def linear_program_of(k: int, m: int) -> LinearProgram:
    """Allocate a program with up to `k` variables and `m` rows; all lower bounds are 0."""
    return LinearProgram(
        columns=np.empty(k * m),
        right=np.empty(m),
        cost=np.zeros(k),
        low=np.zeros(k),
        high=np.empty(k),
        at_high=np.zeros(k, dtype=np.bool_),
        basis=np.full(m, -1),
        x=np.zeros(k),
        multipliers=np.zeros(m),
        inverse=np.empty(m * m),
        values=np.empty(m),
        ratio=np.empty(m),
        is_basic=np.zeros(k, dtype=np.bool_),
    )


@compiled(short=True, python=False, counted=False)
def solve_linear_program(program, count, rows, penalty):
    """Write the solution; return the number of pivots, or -1 if there are too many.

    Args:
        program: A `LinearProgram`.
        count: Number of variables.
        rows: Number of rows.
        penalty: Cost of row violations.
    """
    columns, cost, low, high = program.columns, program.cost, program.low, program.high
    at_high, basis, x, multipliers = program.at_high, program.basis, program.x, program.multipliers
    inverse, values, ratio, is_basic = (
        program.inverse,
        program.values,
        program.ratio,
        program.is_basic,
    )
    for i in range(rows):
        values[i] = program.right[i]
        for k in range(rows):
            inverse[i * rows + k] = 0.0
    for j in range(count):
        is_basic[j] = False
        x[j] = high[j] if at_high[j] else low[j]
        for i in range(rows):
            values[i] -= columns[j * rows + i] * x[j]
    for i in range(rows):
        inverse[i * rows + i] = 1.0 if values[i] >= 0.0 else -1.0
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
                multipliers[i] += weight * inverse[k * rows + i]
        entering, best = -1, GAIN
        for j in range(count):
            if is_basic[j] or low[j] == high[j]:
                continue
            slope = cost[j]
            for i in range(rows):
                slope -= multipliers[i] * columns[j * rows + i]
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
            change = 0.0
            for i in range(rows):
                change += inverse[k * rows + i] * columns[entering * rows + i]
            ratio[k] = change
            fall = direction * change
            floor = 0.0 if basis[k] < 0 else low[basis[k]]
            if fall > PIVOT and (values[k] - floor) / fall < length:
                length, leaving, to_high = max((values[k] - floor) / fall, 0.0), k, False
            if fall < -PIVOT and basis[k] >= 0 and (high[basis[k]] - values[k]) / -fall < length:
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
            is_basic[out] = False
            at_high[out] = to_high
            x[out] = high[out] if to_high else low[out]
        basis[leaving] = entering
        is_basic[entering] = True
        values[leaving] = at_bound + length * direction
        scale = 1.0 / ratio[leaving]
        for i in range(rows):
            inverse[leaving * rows + i] *= scale
        for k in range(rows):
            if k != leaving:
                for i in range(rows):
                    inverse[k * rows + i] -= ratio[k] * inverse[leaving * rows + i]
    return -1

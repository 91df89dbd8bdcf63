"""Search for forces between the stages of a step.

A step evaluates the derivative at a few times only. If all of them miss a short force, the error
estimate is almost zero, and the next steps become longer. `inspect` therefore evaluates the
derivative along such a step, on the cubic through its ends, at short intervals. A force is missed
if, for a component of the state,

- the integral of these derivatives differs from the step by more than `MISSED` tolerances, and
- the second differences of these derivatives are concentrated in less than `LOCAL` of the step.
  A smooth derivative bends along the whole step.

The step is then repeated with half its length. If the error estimates of a step and of the
previous one are ordinary, the step is not inspected.
"""

from __future__ import annotations

from math import ceil

from manip_dyn.core.arrays import row
from manip_dyn.core.compiled import inlined
from manip_dyn.integration.methods.step_control import unit
from manip_dyn.integration.methods.template_parameters import rate_row, rhs, size

CELLS = 2000
"""Default number of intervals per time span. Shorter forces may be missed."""
QUIET = 1e-3
"""Error estimate, relative to the tolerances, below which this step and the next are inspected."""
NARROW = 2.0
"""Length of the longest step that is not inspected, in intervals."""
MISSED = 0.1
"""Largest accumulated difference, relative to the tolerances."""
LEAST = 16
"""Minimum number of intervals per step."""
LOCAL = 0.5
"""Fraction of a step over which a smooth derivative bends."""
ROWS = 8
"""Number of additional rows of the work array: end derivative, state, two derivatives, last
difference, integral of the derivative, sum of the second differences, and sum of their squares."""


@inlined(counted=False)
def inspect(y, p, now, tolerances, work, cell):
    """Return whether a step must be repeated, because its stages missed a force.

    Args:
        y: State at the start of the step (m,).
        p: Parameters.
        now: State of the loop after the trial step.
        tolerances: Relative and absolute tolerances (2, m).
        work: Work array with the state at the end in the first row, and `ROWS` spare rows.
        cell: Length of an interval, s.
    """
    rows, h = work.shape[0], now.h
    u, rate, end = row(work, 0), row(work, rate_row()), row(work, rows - 8)
    state, derivative, before = row(work, rows - 7), row(work, rows - 6), row(work, rows - 5)
    slope = row(work, rows - 4)
    integral, change, square = row(work, rows - 3), row(work, rows - 2), row(work, rows - 1)
    rhs(now.last, u, p, end)
    count = max(LEAST, ceil(abs(h) / cell))
    for k in range(size()):
        integral[k] = 0.5 * (rate[k] + end[k])
        before[k] = rate[k]
        change[k] = square[k] = 0.0
    for i in range(1, count):
        s = i / count
        for k in range(size()):
            step = u[k] - y[k]
            bend, twist = h * rate[k] - step, h * end[k] - step
            state[k] = y[k] + s * step + s * (1.0 - s) * ((1.0 - s) * bend - s * twist)
        rhs(min(max(now.t + s * h, now.earliest), now.latest), state, p, derivative)
        for k in range(size()):
            integral[k] += derivative[k]
            difference = derivative[k] - before[k]
            if i > 1:
                add_bend(change, square, k, difference - slope[k])
            before[k], slope[k] = derivative[k], difference
    now.evaluations += count
    for k in range(size()):
        add_bend(change, square, k, end[k] - before[k] - slope[k])
        scale = unit(tolerances, k, max(abs(y[k]), abs(u[k])))
        gap = abs(h * integral[k] / count - (u[k] - y[k]))
        if gap > MISSED * scale and change[k] * change[k] < LOCAL * count * square[k]:
            now.failures += 1
            now.rejected = 1
            now.planned = 0.5 * h
            return True
    return False


@inlined(always=True, counted=False)
def add_bend(change, square, k, bend):
    """Add a second difference of the derivative of component k to both sums."""
    change[k] += abs(bend)
    square[k] += bend * bend

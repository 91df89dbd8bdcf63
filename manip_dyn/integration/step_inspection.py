"""Search for forces between the stages of a step.

A step evaluates the derivative at a few times only. If all of them miss a short force, the error
estimate is almost zero, and the next steps become longer. `inspect` therefore evaluates the
derivative along such a step, on the cubic through its ends, at short intervals. A force is missed
if, for a component of the state,

- the integral of these derivatives differs from the step by more than `MISSED` tolerances, and
- the third differences of these derivatives are concentrated in less than `LOCAL` of the step.
  Those of a smooth derivative are spread over the whole step.

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
LOCAL = 0.6
"""Fraction of a step over which the differences of a smooth derivative are spread. It is 1 for a
constant, 0.75 for a straight line through zero at mid-step, and 0.81 for a sine wave."""
ORDER = 3
"""Order of the differences. In higher orders, the differences of short peaks exceed those of
smooth derivatives by more. Those of a cubic vanish in order 4, which leaves rounding errors."""
ROWS = 6 + ORDER
"""Number of additional rows of the work array: derivative at the end, state, derivative, integral
of the derivative, sum of the differences and of their squares, and last differences of each order
below `ORDER`."""


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
    base, h = work.shape[0] - ROWS, now.h
    u, rate, end = row(work, 0), row(work, rate_row()), row(work, base)
    state, derivative = row(work, base + 1), row(work, base + 2)
    integral, change, square = row(work, base + 3), row(work, base + 4), row(work, base + 5)
    rhs(now.last, u, p, end)
    count = max(LEAST, ceil(abs(h) / cell))
    now.evaluations += count
    for k in range(size()):
        integral[k] = -0.5 * (rate[k] + end[k])
        change[k] = square[k] = 0.0
    for i in range(count + 1):
        if i == 0 or i == count:
            for k in range(size()):
                derivative[k] = rate[k] if i == 0 else end[k]
        else:
            s = i / count
            for k in range(size()):
                step = u[k] - y[k]
                bend, twist = h * rate[k] - step, h * end[k] - step
                state[k] = y[k] + s * step + s * (1.0 - s) * ((1.0 - s) * bend - s * twist)
            rhs(min(max(now.t + s * h, now.earliest), now.latest), state, p, derivative)
        for k in range(size()):
            integral[k] += derivative[k]
            difference = derivative[k]
            for j in range(base + 6, base + 6 + ORDER):
                difference, work[j, k] = difference - work[j, k], difference
            if i >= ORDER:
                change[k] += abs(difference)
                square[k] += difference * difference
    for k in range(size()):
        scale = unit(tolerances, k, max(abs(y[k]), abs(u[k])))
        gap = abs(h * integral[k] / count - (u[k] - y[k]))
        spread = LOCAL * (count + 1 - ORDER)
        if gap > MISSED * scale and change[k] * change[k] < spread * square[k]:
            now.failures += 1
            now.rejected = 1
            now.planned = 0.5 * h
            return True
    return False

"""One step of an Adams method of order 4, linked with each right-hand side; see `adams`."""

from __future__ import annotations

from manip_dyn.core.arrays import row
from manip_dyn.core.compiled import inlined
from manip_dyn.core.linking import number_parameter
from manip_dyn.integration.methods.dense_output import fill_hermite, finish_piece
from manip_dyn.integration.methods.linear_combinations import K, U, weighted_sum
from manip_dyn.integration.methods.step_control import NON_FINITE, PASSED, finite
from manip_dyn.integration.methods.template_parameters import rhs, size, stages

RATE = K
"""Row of the derivative at the start of the step."""
PAST, END = K + 4, K + 7
"""Rows of the derivatives at the starts of the previous three steps, newest first, and at the end
of this step; they follow the stages of the starter."""
ROWS = END + 1

BASHFORTH = (55 / 24, -59 / 24, 37 / 24, -9 / 24)
"""Weights of the derivatives at the starts of this step and the previous three, newest first."""
MOULTON = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
"""Weights of the derivatives at the end and start of this step, and at the previous two starts."""
LOWER_BASHFORTH = ((1.0,), (3 / 2, -1 / 2), (23 / 12, -16 / 12, 5 / 12))
LOWER_MOULTON = ((1 / 2, 1 / 2), (5 / 12, 8 / 12, -1 / 12))
"""Weights for orders 1, 2, 3 (Bashforth) and for orders 2, 3 (Moulton)."""

BEFORE = [RATE, *range(PAST, PAST + 3)]
bashforth = weighted_sum(BASHFORTH, BEFORE)
bashforth_1, bashforth_2, bashforth_3 = (
    weighted_sum(weights, BEFORE[: len(weights)]) for weights in LOWER_BASHFORTH
)
moulton = weighted_sum(MOULTON, [END, *BEFORE[:3]])
moulton_2, moulton_3 = (
    weighted_sum(weights, [END, *BEFORE[: len(weights) - 1]]) for weights in LOWER_MOULTON
)
"""Compiled sums of both formulas. A suffix is an order below 4."""


@number_parameter()
def corrected():
    """Return whether Moulton's formula corrects the result of Bashforth's."""
    return 0


@number_parameter()
def rising():
    """Return whether lower-order formulas start the method instead of Runge-Kutta steps."""
    return 0


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute the derivative at the start of the step, unless it is known."""
    if now.known == 0:
        rhs(now.first, y, p, row(work, RATE))
        now.evaluations += 1
        now.known = 1
    return PASSED


@inlined(always=True, counted=False)
def is_regular(now):
    """Return whether the step has full length and no event is being located."""
    step = now.sign * now.step
    return abs(now.h - step) <= 1e-9 * abs(step) and now.locating == 0


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Compute the step with the Adams formula, or with a starter, and the derivative at its end.

    The starter is used if derivatives are missing or the step is shortened.
    """
    u, end = row(work, U), row(work, END)
    if is_regular(now) and now.known == 4:
        bashforth(y, now.h, work, size(), u)
        if corrected():
            rhs(now.last, u, p, end)
            now.evaluations += 1
            moulton(y, now.h, work, size(), u)
    elif rising() and is_regular(now):
        rise(y, p, now, work)
    else:
        stages(now.t, now.h, now.first, now.last, y, p, work, size())
        now.evaluations += 3
    rhs(now.last, u, p, end)
    now.evaluations += 1
    return PASSED if finite(u, size()) else NON_FINITE


@inlined(always=True, counted=False)
def rise(y, p, now, work):
    """Compute the step with the formula of the highest order that the stored derivatives allow."""
    u, end = row(work, U), row(work, END)
    if now.known == 1:
        bashforth_1(y, now.h, work, size(), u)
    elif now.known == 2:
        bashforth_2(y, now.h, work, size(), u)
    else:
        bashforth_3(y, now.h, work, size(), u)
    if corrected():
        rhs(now.last, u, p, end)
        now.evaluations += 1
        if now.known == 1:
            moulton_2(y, now.h, work, size(), u)
        elif now.known == 2:
            moulton_3(y, now.h, work, size(), u)
        else:
            moulton(y, now.h, work, size(), u)


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Store the interpolation polynomial of the step."""
    fill_hermite(now, polynomials, y, row(work, U), row(work, RATE), row(work, END), size())
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Store the derivatives for the following steps."""
    now.known = min(now.known + 1, 4) if is_regular(now) else 1
    for i in range(size()):
        work[PAST + 2, i] = work[PAST + 1, i]
        work[PAST + 1, i] = work[PAST, i]
        work[PAST, i] = work[RATE, i]
        work[RATE, i] = work[END, i]


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Do nothing, because steps are fixed."""

"""One step of an Adams method of order 4, linked with each right-hand side; see `adams`."""

from __future__ import annotations

from typing import Any

from manip_dyn.core.arrays import row
from manip_dyn.core.compiled import inlined
from manip_dyn.integration.methods.dense_output import fill_hermite, finish_piece
from manip_dyn.integration.methods.linear_combinations import K, U
from manip_dyn.integration.methods.step_control import NON_FINITE, PASSED, finite
from manip_dyn.integration.methods.template_parameters import rhs

RATE = K
"""Row of the derivative at the start of the step."""
PAST, END = K + 4, K + 7
"""Rows of the derivatives at the starts of the last three steps, newest first, and at the end
of the step; they follow the stages of the starter."""
ROWS = END + 1

# Bound for each engine.
SIZE, CORRECTED, RISING = 1, False, False
"""Length of the state; whether Moulton's formula corrects Bashforth's; whether formulas of
lower orders start the method instead of Runge-Kutta steps."""
stages: Any = None
bashforth: Any = None
bashforth_1: Any = None
bashforth_2: Any = None
bashforth_3: Any = None
moulton: Any = None
moulton_2: Any = None
moulton_3: Any = None
"""Emitted stages of the starter, and formulas; a number denotes an order below four."""


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute the derivative at the start of the step."""
    if now.known == 0:
        rhs(now.first, y, p, row(work, RATE))
        now.evaluations += 1
        now.known = 1
    return PASSED


@inlined(always=True, counted=False)
def is_regular(now):
    """Return whether the step has full length."""
    step = now.sign * now.step
    return abs(now.h - step) <= 1e-9 * abs(step) and now.locating == 0


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Compute the step by the formula, or by the starter if earlier derivatives are missing."""
    u, end = row(work, U), row(work, END)
    if is_regular(now) and now.known == 4:
        bashforth(y, now.h, work, u)
        if CORRECTED:
            rhs(now.last, u, p, end)
            now.evaluations += 1
            moulton(y, now.h, work, u)
    elif RISING and is_regular(now):
        rise(y, p, now, work)
    else:
        stages(now.t, now.h, now.first, now.last, y, p, work)
        now.evaluations += 3
    rhs(now.last, u, p, end)
    now.evaluations += 1
    return PASSED if finite(u, SIZE) else NON_FINITE


@inlined(always=True, counted=False)
def rise(y, p, now, work):
    """Compute the step by the highest-order formula for which derivatives are stored."""
    u, end = row(work, U), row(work, END)
    if now.known == 1:
        bashforth_1(y, now.h, work, u)
    elif now.known == 2:
        bashforth_2(y, now.h, work, u)
    else:
        bashforth_3(y, now.h, work, u)
    if CORRECTED:
        rhs(now.last, u, p, end)
        now.evaluations += 1
        if now.known == 1:
            moulton_2(y, now.h, work, u)
        elif now.known == 2:
            moulton_3(y, now.h, work, u)
        else:
            moulton(y, now.h, work, u)


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Store the interpolation polynomial of the step."""
    fill_hermite(now, polynomials, y, row(work, U), row(work, RATE), row(work, END), SIZE)
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Store the derivatives for the following steps."""
    now.known = min(now.known + 1, 4) if is_regular(now) else 1
    for i in range(SIZE):
        work[PAST + 2, i] = work[PAST + 1, i]
        work[PAST + 1, i] = work[PAST, i]
        work[PAST, i] = work[RATE, i]
        work[RATE, i] = work[END, i]


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Do nothing: the steps are fixed."""

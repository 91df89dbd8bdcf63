"""One step of a Taylor series, linked with the function of each `Series`; see `taylor`."""

from __future__ import annotations

from math import exp, inf, log

from manip_dyn.core.arrays import row, rows
from manip_dyn.core.compiled import inlined
from manip_dyn.integration.methods.dense_output import finish_piece
from manip_dyn.integration.methods.step_control import (
    NON_FINITE,
    PASSED,
    STEP_UNDERFLOW,
    finite,
    unit,
)
from manip_dyn.integration.methods.template_parameters import adaptive, series, size, sum_up

U, TERMS = 0, 1
"""Rows of the work array: final state, and first term of the series."""
RATE = TERMS + 1
"""Row of the derivative at the start of the step."""


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute the series at the start of the step, and plan an adaptive step from it.

    A search for an event reuses this series.
    """
    if now.known != 0:
        return PASSED
    now.order = limits.order
    largest = 0.0
    if adaptive():
        for i in range(size()):
            largest = max(largest, abs(y[i]))
        now.order = order_of_step(tolerances, limits, largest)
    count = work.shape[0] - TERMS
    series(now.first, y, p, now.order, scratch, rows(work, TERMS, count))
    now.evaluations += 1
    now.known = 1
    if not finite(row(work, TERMS + now.order), size()):
        return NON_FINITE
    if adaptive():
        length = length_of_step(work, tolerances, now.order, largest)
        now.planned = now.sign * min(limits.max_step, length)
        if abs(now.planned) < limits.min_step:
            return STEP_UNDERFLOW
    return PASSED


@inlined(always=True, counted=False)
def order_of_step(tolerances, limits, largest):
    """Return the order for the dominant tolerance; `largest` is the largest |y_i|."""
    for i in range(size()):
        if tolerances[0, i] * largest > tolerances[1, i]:
            return limits.order
    return limits.absolute_order


@inlined(always=True, counted=False)
def length_of_step(work, tolerances, order, largest):
    """Return the step length, s, from the last two nonzero terms in the upper half of the series.

    Zero terms, which occur in symmetric motions, would allow steps of any length. If the whole
    upper half is zero, the motion is treated as a polynomial, for which any step is exact. As in
    Jorba, Zou (2005), the relative tolerance refers to the largest component.
    """
    level = inf  # logarithm of the step length
    k = order
    terms = 0
    while k > order // 2 - 1 and k > 0 and terms < 2:
        term = 0.0
        for i in range(size()):
            term = max(term, abs(work[TERMS + k, i]) / unit(tolerances, i, largest))
        if term > 0.0:
            level = min(level, -log(term) / k)
            terms += 1
        k -= 1
    return exp(level - 0.7 / (order - 1))


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Evaluate the series at the end of the step."""
    u = row(work, U)
    sum_up(now.h, now.order, rows(work, TERMS, work.shape[0] - TERMS), u)
    return PASSED if finite(u, size()) else NON_FINITE


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Store the series as the polynomial of the step."""
    power = 1.0
    for k in range(polynomials.shape[1]):
        for i in range(size()):
            inside = k <= now.order
            polynomials[now.pieces, k, i] = power * work[TERMS + k, i] if inside else 0.0
        power *= now.h
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Discard the series, because each step computes a new one."""
    now.known = 0


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Do nothing, because each step is planned from its own series."""

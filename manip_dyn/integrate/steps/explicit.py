"""One step of an explicit Runge-Kutta method; linked with each right-hand side."""

from __future__ import annotations

from typing import Any

from manip_dyn.core.compiled import inlined
from manip_dyn.core.views import row
from manip_dyn.integrate.steps.control import error_norm, finite, judge, plan_next
from manip_dyn.integrate.steps.dense import add_bump, fill_hermite, finish_piece
from manip_dyn.integrate.steps.first_step import plan_first
from manip_dyn.integrate.steps.stages import K, U
from manip_dyn.integrate.steps.stand_ins import rhs
from manip_dyn.integrate.steps.status import NON_FINITE, PASSED

RATE = K
"""Row of the derivative at the start of the step."""

# Bound for each engine, see `runge_kutta`.
SIZE, STAGES, EVALUATIONS = 1, 1, 0
"""Length of the state; stages of the method; evaluations of a step besides the first stage."""
ADAPTIVE = RMS = PAPER = FSAL = DENSE = BUMP = False
POWER = PAPER_POWER = 1.0
"""Powers of the step that the error goes with, see `control`."""
stages: Any = None
estimate: Any = None
bump: Any = None
"""Emitted: the stages, and sums of them for the error and for the dense output."""


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Bring the derivative at the start of the step up to date, and plan the first step."""
    k = row(work, K)
    if now.known == 0:
        rhs(now.first, y, p, k)
        now.evaluations += 1
        now.known = 1
    if ADAPTIVE and now.planned == 0.0:
        if not finite(k, SIZE):
            return NON_FINITE
        plan_first(y, p, now, limits, tolerances, row(work, U), k, row(work, K + 1), SIZE, POWER)
    return PASSED


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Try the step: write the state at its end into row `U`, and judge it."""
    stages(now.t, now.h, now.first, now.last, y, p, work)
    now.evaluations += EVALUATIONS
    u = row(work, U)
    if not ADAPTIVE:
        return PASSED if finite(u, SIZE) else NON_FINITE
    wrong = row(work, K + STAGES)
    for i in range(SIZE):
        wrong[i] = 0.0
    estimate(wrong, now.h, work, wrong)
    now.error = error_norm(y, u, wrong, tolerances, SIZE, RMS)
    return judge(now, limits, POWER)


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Keep the polynomial of the step."""
    u, end = row(work, U), row(work, K + STAGES - 1)
    if not FSAL:
        end = row(work, K + STAGES + 1)
        rhs(now.last, u, p, end)
        now.evaluations += 1
    fill_hermite(now, polynomials, y, u, row(work, K), end, SIZE)
    if BUMP:
        quartic = row(work, K + STAGES)
        for i in range(SIZE):
            quartic[i] = 0.0
        bump(quartic, now.h, work, quartic)
        add_bump(now, polynomials, quartic, SIZE)
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Keep the derivative at the end of the step, if there is one, for the next."""
    if not (FSAL or DENSE):
        now.known = 0
        return
    first = row(work, K)
    end = row(work, K + STAGES - 1 if FSAL else K + STAGES + 1)
    for i in range(SIZE):
        first[i] = end[i]


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Plan the next step."""
    if ADAPTIVE:
        plan_next(now, limits, POWER, PAPER, PAPER_POWER)

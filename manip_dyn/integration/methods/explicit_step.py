"""One step of an explicit Runge-Kutta method, linked with each right-hand side."""

from __future__ import annotations

from manip_dyn.core.arrays import row
from manip_dyn.core.compiled import inlined
from manip_dyn.integration.methods.dense_output import add_bump, fill_hermite, finish_piece
from manip_dyn.integration.methods.linear_combinations import K, U
from manip_dyn.integration.methods.step_control import (
    NON_FINITE,
    PASSED,
    error_norm,
    finite,
    judge,
    plan_first,
    plan_next,
)
from manip_dyn.integration.methods.template_parameters import (
    bump,
    bumped,
    dense,
    estimate,
    evaluations,
    fsal,
    paper,
    paper_power,
    power,
    rhs,
    rms,
    size,
    stage_count,
    stages,
)

RATE = K
"""Row of the derivative at the start of the step."""


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute the derivative at the start of the step, unless it is known."""
    if now.known == 0:
        rhs(now.first, y, p, row(work, K))
        now.evaluations += 1
        now.known = 1
    return PASSED


@inlined(always=True, counted=False)
def prepare_adaptive(y, p, now, limits, tolerances, work, scratch):
    """Compute the derivative at the start of the step, and plan the first step."""
    prepare(y, p, now, limits, tolerances, work, scratch)
    k = row(work, K)
    if now.planned == 0.0:
        if not finite(k, size()):
            return NON_FINITE
        plan_first(
            y, p, now, limits, tolerances, row(work, U), k, row(work, K + 1), size(), power()
        )
    return PASSED


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Compute a step and write its final state to row `U`."""
    stages(now.t, now.h, now.first, now.last, y, p, work, size())
    now.evaluations += evaluations()
    return PASSED if finite(row(work, U), size()) else NON_FINITE


@inlined(always=True, counted=False)
def attempt_adaptive(y, p, now, limits, tolerances, work, scratch):
    """Compute a trial step, write its final state to row `U`, and accept or reject it."""
    stages(now.t, now.h, now.first, now.last, y, p, work, size())
    now.evaluations += evaluations()
    u = row(work, U)
    wrong = row(work, K + stage_count())
    for i in range(size()):
        wrong[i] = 0.0
    estimate(wrong, now.h, work, size(), wrong)
    now.error = error_norm(y, u, wrong, tolerances, size(), rms())
    return judge(now, limits, power())


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Store the interpolation polynomial of the step."""
    u, end = row(work, U), row(work, K + stage_count() - 1)
    if not fsal():
        end = row(work, K + stage_count() + 1)
        rhs(now.last, u, p, end)
        now.evaluations += 1
    fill_hermite(now, polynomials, y, u, row(work, K), end, size())
    if bumped():
        quartic = row(work, K + stage_count())
        for i in range(size()):
            quartic[i] = 0.0
        bump(quartic, now.h, work, size(), quartic)
        add_bump(now, polynomials, quartic, size())
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Store the derivative at the end of the step, if available, for the next step."""
    if not (fsal() or dense()):
        now.known = 0
        return
    first = row(work, K)
    end = row(work, K + stage_count() - 1 if fsal() else K + stage_count() + 1)
    for i in range(size()):
        first[i] = end[i]


@inlined(always=True, counted=False)
def adapt_adaptive(now, limits):
    """Plan the next step."""
    plan_next(now, limits, power(), paper(), paper_power())


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Do nothing, because steps are fixed."""


ADAPTIVE = {"prepare": prepare_adaptive, "attempt": attempt_adaptive, "adapt": adapt_adaptive}
"""Functions of adaptive steps. Fixed steps have their own, because these compile faster."""

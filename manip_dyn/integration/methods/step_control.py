"""Status codes, step size control and the first step.

Let e be the norm of the error estimate divided by the tolerances, k the order of the error in h,
and p and q the orders of the solution and of the embedded solution. The controllers are:

    paper   h_new = fac h (1 / e)^(1 / (max(p, q) + 1))            Galhano (1994), eq. 14
    pi      h_new = fac h e^(-0.7 / k) e_before^(0.4 / k)          Gustafsson (1991)

For Rosenbrock methods, "paper" uses k instead of max(p, q) + 1, as in eq. 15 of Sandu et al.
(2001). A step with e > 1 is rejected and repeated with a shorter length. By eq. 13 of Galhano
(1994), the error is proportional to h^k with k = min(p, q) + 1, which is not the exponent of eq.
14. The controller "paper" uses eq. 14 as printed. Galhano and Gustafsson do not limit the ratio of
consecutive steps. Here it is limited to [facmin, facmax], as in eq. 16 of Sandu et al. (2001).
Defaults: fac 0.9, facmin 0.1, facmax 5.

Gustafsson, Control theoretic techniques for stepsize selection in explicit Runge-Kutta methods,
ACM Trans. Math. Software 17 (1991). First step: Hairer, Norsett, Wanner, Solving ODEs I, section
II.4, "Starting step size".
"""

from __future__ import annotations

from enum import IntEnum
from math import exp, isfinite, log, sqrt

from manip_dyn.core.compiled import inlined
from manip_dyn.integration.methods.template_parameters import rhs


class Status(IntEnum):
    """Status of an integration."""

    SUCCESS = 0
    """The end of the time span was reached."""
    EVENT = 1
    """A terminal event was located."""
    NON_FINITE = 2
    """The right-hand side or the state became infinite or NaN."""
    STEP_UNDERFLOW = 3
    """The tolerances require a step below the minimum."""
    TOO_MANY_STEPS = 4
    """The number of accepted and rejected steps reached its limit."""
    PAUSED = 5
    """A record is full; `integrate` enlarges it and continues."""
    OFF_PATH = 6
    """The tool left its path (only in `track`)."""

    @property
    def meaning(self) -> str:
        """Description of the status."""
        return MEANINGS[self]


MEANINGS = {
    Status.SUCCESS: "the end was reached",
    Status.EVENT: "a terminal event was located",
    Status.NON_FINITE: "numbers became infinite or NaN",
    Status.STEP_UNDERFLOW: "the tolerances require too small a step",
    Status.TOO_MANY_STEPS: "too many steps",
    Status.PAUSED: "a record is full",
    Status.OFF_PATH: "the path was lost",
}


STATUSES = tuple(Status)
"""Statuses by number."""
SUCCESS, EVENT, NON_FINITE, STEP_UNDERFLOW, TOO_MANY_STEPS, PAUSED, _ = (int(s) for s in Status)
PASSED, FAILED = -1, -2
"""Results of the functions of a step: success, or a step to be repeated with a shorter length."""


CONTROLLERS = ("pi", "paper")
NORMS = ("max", "rms")
ESTIMATES = ("plain", "scaled")
ROUNDING = 3.6e-15
"""Relative tolerance for rounding errors, about 16 units in the last place."""


@inlined(always=True, counted=False)
def finite(x, size):
    """Return whether all entries of x (size,) are finite."""
    total = 0.0
    for i in range(size):
        total += 0.0 * x[i]  # NaN if x[i] is infinite or NaN
    return total == 0.0


@inlined(always=True, counted=False)
def unit(tolerances, i, magnitude):
    """Return the error scale of component i for a magnitude; it is never zero."""
    return tolerances[1, i] + tolerances[0, i] * magnitude + 1e-300


@inlined(always=True, counted=False)
def error_norm(y, u, wrong, tolerances, size, rms):
    """Return the norm of `wrong` (size,) divided by the error scales; NaN if u is not finite."""
    error = 0.0
    for i in range(size):
        scale = unit(tolerances, i, max(abs(y[i]), abs(u[i])))
        ratio = abs(wrong[i]) / scale + 0.0 * u[i]
        if rms:
            error += ratio * ratio
        elif ratio > error or ratio != ratio:  # a NaN persists
            error = ratio
    if rms:
        error = sqrt(error / size)
    return error


@inlined(always=True, counted=False)
def judge(now, limits, power):
    """Return PASSED, or FAILED after planning a shorter step, or the status of a failure.

    During an event search, any error but NaN passes.
    """
    error = now.error
    if error <= 1.0 or (now.locating != 0 and error == error):
        return PASSED
    now.failures += 1
    now.rejected = 1
    now.locating = 0
    factor = limits.facmin
    if isfinite(error):
        factor = max(limits.facmin, limits.fac * exp(-log(error) / power))
    now.planned = factor * now.h
    if abs(now.planned) < max(limits.min_step, ROUNDING * abs(now.t) + 1e-30):
        return STEP_UNDERFLOW if isfinite(error) else NON_FINITE
    return FAILED


@inlined(always=True, counted=False)
def plan_next(now, limits, power, paper, paper_power):
    """Plan the step after an accepted one, except after an event search.

    Args:
        now: State of the loop.
        limits: Step limits.
        power: Order k of the error in the step length.
        paper: Whether the controller is "paper"; otherwise "pi".
        paper_power: Inverse exponent of the controller "paper", max(p, q) + 1.
    """
    if now.locating != 0:
        return
    level = log(max(now.error, 1e-12))
    exponent = -level / paper_power if paper else (0.4 * now.memory - 0.7 * level) / power
    factor = min(limits.facmax, max(limits.facmin, limits.fac * exp(exponent)))
    if now.rejected != 0:
        factor = min(factor, 1.0)
    length = factor * abs(now.h)
    if abs(now.h) < abs(now.planned):  # shortened by a stop, not by the error
        length = max(length, abs(now.planned))
    now.planned = now.sign * min(limits.max_step, max(limits.min_step, length))
    now.memory = level
    now.rejected = 0


@inlined(short=True, counted=False)
def plan_first(y, p, now, limits, tolerances, u, rate, later, size, power):
    """Plan the first step from the derivatives at the start and after a small Euler step.

    Args:
        y: State at the start (size,).
        p: Parameters.
        now: State of the loop.
        limits: Step limits.
        tolerances: Relative and absolute tolerances (2, size).
        u: Scratch (size,).
        rate: The derivative at the start (size,).
        later: Scratch (size,).
        size: Length of the state.
        power: Order of the error in the step length.
    """
    longest = min(limits.max_step, abs(now.end - now.t))
    place = slope = bend = 0.0
    for i in range(size):
        scale = unit(tolerances, i, abs(y[i]))
        place = max(place, abs(y[i]) / scale)
        slope = max(slope, abs(rate[i]) / scale)
    guess = 1e-6 if place < 1e-5 or slope < 1e-5 else 0.01 * place / slope
    guess = min(guess, longest)
    for i in range(size):
        u[i] = y[i] + now.sign * guess * rate[i]
    rhs(min(max(now.t + now.sign * guess, now.earliest), now.latest), u, p, later)
    now.evaluations += 1
    for i in range(size):
        scale = unit(tolerances, i, abs(y[i]))
        bend = max(bend, abs(later[i] - rate[i]) / (guess * scale))
    steepest = max(slope, bend)
    length = max(1e-6, 1e-3 * guess)
    if steepest > 1e-15:
        length = (0.01 / steepest) ** (1.0 / power)
    length = min(length, 100.0 * guess, longest)
    if not length > 0.0:
        length = guess
    now.planned = now.sign * max(length, limits.min_step)

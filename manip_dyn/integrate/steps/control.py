"""Step size control: which steps pass, and how long the next one should be.

With e the norm of the error estimate over the tolerances, and k the power of h that e goes with:

    paper   h_new = fac h (1 / e)^(1 / (max(p, q) + 1))            Galhano (1994), eq. 14
    pi      h_new = fac h e^(-0.7 / k) e_before^(0.4 / k)          Gustafsson (1991)

Rosenbrock methods put k for max(p, q) + 1 in "paper", as eq. 15 of Sandu et al. (2001) does.
A step with e > 1 fails and is tried again with a shorter one. By eq. 13 of Galhano (1994) the
error goes with the power k = min(p, q) + 1, not with the one that eq. 14 prints; it is used as
printed. Neither source limits the change of the step; here a factor stays in [facmin, facmax], as
in eq. 16 of Sandu et al. (2001). By default fac is 0.9, facmin 0.1 and facmax 5.

Gustafsson, Control theoretic techniques for stepsize selection in explicit Runge-Kutta methods,
ACM Trans. Math. Software 17 (1991).
"""

from __future__ import annotations

from math import exp, isfinite, log, sqrt

from manip_dyn.core.compiled import inlined
from manip_dyn.integrate.steps.status import FAILED, NON_FINITE, PASSED, STEP_UNDERFLOW

CONTROLLERS = ("pi", "paper")
NORMS = ("max", "rms")
ESTIMATES = ("plain", "scaled")
ROUNDING = 3.6e-15
"""16 units in the last place of 1."""


@inlined(always=True, counted=False)
def finite(x, size):
    """Return whether all of x (size,) is finite."""
    total = 0.0
    for i in range(size):
        total += 0.0 * x[i]  # NaN for an infinite number too
    return total == 0.0


@inlined(always=True, counted=False)
def unit(tolerances, i, magnitude):
    """Return what an error in component i of this magnitude is measured by; never zero."""
    return tolerances[1, i] + tolerances[0, i] * magnitude + 1e-300


@inlined(always=True, counted=False)
def error_norm(y, u, wrong, tolerances, size, rms):
    """Return the norm of the estimate `wrong` (size,) of a step from y to u; NaN as u."""
    error = 0.0
    for i in range(size):
        scale = unit(tolerances, i, max(abs(y[i]), abs(u[i])))
        ratio = abs(wrong[i]) / scale + 0.0 * u[i]
        if rms:
            error += ratio * ratio
        elif ratio > error or ratio != ratio:  # a NaN stays, whatever follows
            error = ratio
    if rms:
        error = sqrt(error / size)
    return error


@inlined(always=True, counted=False)
def judge(now, limits, power):
    """Let a step pass, or plan a shorter one; during a search for an event any error passes."""
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
    """Plan the step after one that passed; not after a search for an event.

    Args:
        now: State of the loop.
        limits: Its limits.
        power: The power k of the step that the error goes with.
        paper: Whether the control is "paper", otherwise "pi".
        paper_power: The power of the step in "paper".
    """
    if now.locating != 0:
        return
    level = log(max(now.error, 1e-12))
    exponent = -level / paper_power if paper else (0.4 * now.memory - 0.7 * level) / power
    factor = min(limits.facmax, max(limits.facmin, limits.fac * exp(exponent)))
    if now.rejected != 0:
        factor = min(factor, 1.0)
    wanted = factor * abs(now.h)
    if abs(now.h) < abs(now.planned):  # cut short by a stop, not by the error
        wanted = max(wanted, abs(now.planned))
    now.planned = now.sign * min(limits.max_step, max(limits.min_step, wanted))
    now.memory = level
    now.rejected = 0

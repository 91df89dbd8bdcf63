"""The first step of a controlled integration; linked with each right-hand side.

Hairer, Norsett, Wanner, Solving ODEs I, section II.4, "Starting step size".
"""

from __future__ import annotations

from manip_dyn.core.compiled import inlined
from manip_dyn.integrate.steps.control import unit
from manip_dyn.integrate.steps.stand_ins import rhs


@inlined(short=True, counted=False)
def plan_first(y, p, now, limits, tolerances, u, rate, later, size, power):
    """Plan the first step from the derivative at the start and one a little later.

    Args:
        y: State at the start (size,).
        p: Parameters.
        now: State of the loop.
        limits: Its limits.
        tolerances: Relative and absolute (2, size).
        u: Scratch (size,).
        rate: The derivative at the start (size,).
        later: Scratch (size,).
        size: Length of the state.
        power: The power of the step that its error goes with.
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

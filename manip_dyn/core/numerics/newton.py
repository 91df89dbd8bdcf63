"""Newton's method with steps that are shortened until they help.

For residuals that Python evaluates; compiled searches have theirs in compiled code. Nocedal,
Wright (2006), Numerical optimization, section 11.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Reached = TypeVar("Reached")


class Damping(NamedTuple):
    """How far Newton's method goes.

    Attributes:
        most: Steps before giving up.
        converged: Size of the residual below which it has arrived.
        shrink: By how much a step is shortened at a time.
        least: Share of the first step that is not tried any more.
    """

    most: int
    converged: float
    shrink: float
    least: float


def damped_newton(
    x: Vector,
    at_x: Reached,
    reach: Callable[[Vector], Reached | None],
    size: Callable[[Reached], float],
    step: Callable[[Vector, Reached], tuple[Vector, float] | None],
    damping: Damping,
) -> tuple[Vector, Reached, bool]:
    """Return where Newton's method ends, what is reached there, and whether it has arrived.

    Args:
        x: Where to begin (k,).
        at_x: What is reached there.
        reach: What is reached from other unknowns; None where the numbers end.
        size: Of the residual of what is reached.
        step: Newton's step (k,), and which share of it to try first; None where there is none.
        damping: Steps and tolerances.
    """
    for _ in range(damping.most):
        before = size(at_x)
        if before < damping.converged:
            return x, at_x, True
        found = step(x, at_x)
        if found is None:
            break
        change, share = found[0] * found[1], found[1]
        while share > damping.least:
            trial = reach(x + change)
            if trial is not None and size(trial) < before:
                x, at_x = x + change, trial
                break
            change, share = damping.shrink * change, damping.shrink * share
        else:
            break
    return x, at_x, False

"""Search for zero crossings of event functions.

If an event function changes sign in a step, the step is repeated from the same start with
different lengths until the crossing is located within the tolerance. The last trial is accepted
as the step.

In the loop state, the step lengths `low` and `high` (s) bracket the crossing. `high_lands` is 1 if
a step of length `high` ends at the stop. `probe` is the next length, `rounds` counts the trials,
and `settled` is 1 if the current trial is the last one.
"""

from __future__ import annotations

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.integration.methods.step_control import ROUNDING

BEFORE, AFTER, LEFT, RIGHT, KINDS, ACTED = 0, 1, 2, 3, 4, 6
"""Rows of the signals: values at the start and end of the step, and at both ends of the bracket;
directions (`KINDS`) and terminal flags (`KINDS` + 1); and `ACTED`, which is 1 for a function with
a direction that triggered an action at the start of the step."""
SIGNAL_ROWS = 7


@inlined(counted=False)
def crosses(before, after, direction):
    """Return whether a value crosses zero in a direction: 1 upwards, -1 downwards, 0 either."""
    if direction >= 0 and before < 0.0 <= after:
        return True
    return direction <= 0 and before > 0.0 >= after


@inlined(counted=False)
def any_crosses(signals):
    """Return whether any event function crosses zero in its direction during the step."""
    crossed = False
    for j in range(signals.shape[1]):
        crossed = crossed or crosses(signals[BEFORE, j], signals[AFTER, j], signals[KINDS, j])
    return crossed


@inlined(counted=False)
def copy_row(signals, source, target):
    """Copy a row of the signals to another row."""
    for j in range(signals.shape[1]):
        signals[target, j] = signals[source, j]


@inlined(counted=False)
def next_trial(now, signals, width):
    """Return the next trial length, s, inside the bracket; negative if time runs backwards.

    The method is regula falsi on the earliest crossing, with bisection in every third trial. The
    trial is at least half of `width` (s) away from both ends, so that both ends can move.
    """
    low, high = now.low, now.high
    bisect = now.rounds % 3 == 0
    trial = 0.5 * (low + high) if bisect else high
    if not bisect:
        for j in range(signals.shape[1]):
            left, right = signals[LEFT, j], signals[RIGHT, j]
            if crosses(left, right, signals[KINDS, j]):
                zero = low + (high - low) * left / (left - right)
                if abs(zero) < abs(trial):
                    trial = zero
    sign = 1.0 if high > 0.0 else -1.0
    return sign * min(max(abs(trial), abs(low) + 0.5 * width), abs(high) - 0.5 * width)


@compiled(short=True, python=False)
def another_trial(now, signals, tolerance):
    """Update the bracket; return whether the step must be repeated with the new length ``now.h``.

    Args:
        now: State of the loop after a trial step.
        signals: Signals (7, k) of the event functions, with rows indexed by `BEFORE` etc.
        tolerance: Tolerance of the crossing time, s.
    """
    crossed = any_crosses(signals)
    if now.settled != 0 or not (now.locating != 0 or crossed):
        return False
    if now.locating == 0:
        now.locating = 1
        now.rounds = 0
        now.low = now.ahead
        now.high_lands = now.landing
        copy_row(signals, BEFORE, LEFT)
    elif crossed:
        now.high_lands = 0
    if crossed:
        now.high = now.h
        copy_row(signals, AFTER, RIGHT)
    else:
        now.low = now.h
        copy_row(signals, AFTER, LEFT)
    width = max(tolerance, ROUNDING * abs(now.t))
    now.rounds += 1
    now.settled = abs(now.high - now.low) <= width
    now.probe = now.high
    if now.settled == 0:
        now.probe = next_trial(now, signals, width)
    now.h = now.probe
    now.landing = 1 if now.settled != 0 and now.high_lands != 0 else 0
    return True

"""The search for zero crossings, compiled once for all engines.

Arrays `before` and `after` (k,) are the values of k event functions at two ends; `kinds` (2, k)
holds their directions and whether they are terminal.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, error_model="numpy")
def crosses(before, after, direction):
    """Return whether a function crosses zero upwards, downwards or, for direction 0, at all."""
    if direction >= 0 and before < 0.0 <= after:
        return True
    return direction <= 0 and before > 0.0 >= after


@njit(cache=True, error_model="numpy")
def any_crosses(before, after, kinds):
    """Return whether one of k functions crosses zero."""
    found = False
    for j in range(before.size):
        found = found or crosses(before[j], after[j], kinds[0, j])
    return found


@njit(cache=True, error_model="numpy")
def next_trial(low, high, left, right, kinds, width, bisect):
    """Return the next step to try in the bracket from `low` to `high`.

    Regula falsi on the earliest of the crossings, or the middle if `bisect`; never closer to an
    end than half of `width`, so that the bracket closes from both sides.

    Args:
        low: Step, s, before all crossings.
        high: Step, s, after at least one; larger in size.
        left: Values (k,) after `low`.
        right: Values (k,) after `high`.
        kinds: Directions and terminal flags (2, k).
        width: Length of the bracket that is wanted, s.
        bisect: Whether to halve the bracket.
    """
    trial = 0.5 * (low + high) if bisect else high
    if not bisect:
        for j in range(left.size):
            if crosses(left[j], right[j], kinds[0, j]):
                zero = low + (high - low) * left[j] / (left[j] - right[j])
                if abs(zero) < abs(trial):
                    trial = zero
    sign = 1.0 if high > 0.0 else -1.0
    return sign * min(max(abs(trial), abs(low) + 0.5 * width), abs(high) - 0.5 * width)


@njit(cache=True, error_model="numpy")
def copy(source, target):
    """Copy values (k,); quicker to compile than an assignment of slices."""
    for j in range(source.size):
        target[j] = source[j]

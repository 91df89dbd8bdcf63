"""Numbers in messages: with the digits that it takes to tell what is beyond a limit from it."""

from __future__ import annotations

import math

LONGEST = 17
"""Digits that tell any two numbers apart."""


def apart(value: float, *others: float, digits: int = 6) -> list[str]:
    """Return numbers as texts, with `digits` digits, or more where `value` were like another.

    Sizes are told apart: -3.1416 is beyond a limit of 3.1416 by digits that are not there.
    """
    shown: list[str] = []
    for count in range(digits, LONGEST + 1):
        shown = [f"{each:.{count}g}" for each in (value, *others)]
        sizes = [each.lstrip("-") for each in shown]
        alike = [abs(each) == abs(value) for each in others]
        if alike == [each == sizes[0] for each in sizes[1:]]:
            break
    return shown


def rounded_down(value: float, digits: int = 6) -> float:
    """Return what a number above 0 is with `digits` digits, not more than it."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.floor(value * scale) / scale:.{digits}g}")


def rounded_up(value: float, digits: int = 6) -> float:
    """Return what a number above 0 is with `digits` digits, not less than it."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.ceil(value * scale) / scale:.{digits}g}")

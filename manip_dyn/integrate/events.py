"""Events: zero crossings of functions of the motion, found by repeating the step.

A step over which a function changes its sign is tried again with shorter lengths, each time from
the same start, until the crossing is known to within the tolerance; the last trial then becomes
the step. So an event is as exact as the method, whatever its dense output, and the step ends on
the far side of the crossing, where the next one begins with fresh derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from manip_dyn.errors import ManipDynError
from manip_dyn.integrate.method import Options
from manip_dyn.validate import not_negative


@dataclass(frozen=True)
class Events:
    """Zero crossings to look for.

    Attributes:
        function: ``function(t, y, p, out)``, numba-compiled; writes k values into `out` (k,).
        count: The number k of values.
        terminal: Whether a crossing ends the integration; one for all or k of them.
        direction: 1 for crossings from below, -1 from above, 0 for both; one for all or k.
        tolerance: How well the time of a crossing is found, s; never finer than rounding.
        action: ``action(index, t, y, p)``, numba-compiled; may change `y` (m,) and `p` in place
            when a crossing is found: an impact, or the mode of a right-hand side that switches.

    A right-hand side that jumps where the state crosses a surface keeps the order of the method
    only if it does not jump within a step: let it read its mode from `p` and let `action` change
    the mode. Two crossings of one function within a step are not seen: bound the step by
    `max_step` where that can be.
    """

    function: Callable[..., Any]
    count: int = 1
    terminal: bool | Sequence[bool] = True
    direction: int | Sequence[int] = 0
    tolerance: float = 1e-12
    action: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if not callable(self.function):
            raise ManipDynError(f"events.function is {self.function!r}; expected a function")
        if self.action is not None and not callable(self.action):
            raise ManipDynError(f"events.action is {self.action!r}; expected a function or None")
        if not isinstance(self.count, int) or self.count < 1:
            raise ManipDynError(f"events.count is {self.count!r}; expected a number above 0")
        not_negative("events.tolerance", self.tolerance)
        self._spread("terminal", (False, True))
        self._spread("direction", (-1, 0, 1))

    @property
    def terminals(self) -> tuple[bool, ...]:
        """`terminal` of each of k events."""
        return self._spread("terminal", (False, True))

    @property
    def directions(self) -> tuple[int, ...]:
        """`direction` of each of k events."""
        return self._spread("direction", (-1, 0, 1))

    def _spread(self, name: str, allowed: tuple) -> tuple:
        value = getattr(self, name)
        values = tuple(value) if isinstance(value, Sequence) else (value,) * self.count
        if len(values) != self.count or any(one not in allowed for one in values):
            raise ManipDynError(
                f"events.{name} is {value!r}; expected {self.count} of {list(allowed)}"
            )
        return values


# The rows of `signals` (4, k): values at the start and end of the step, and at the ends of the
# bracket in which a crossing is searched.
_VIEWS = ["before, after, left, right = signals[0], signals[1], signals[2], signals[3]"]

_ARM = """
if armed == 0:
    signal(first, y, p, before)
    armed = 1
""".strip().splitlines()

_PROBE = """
if locating:
    h = probe
    landing = settled and high_lands
""".strip().splitlines()

_CROSSED = """
{name} = False
for j in range(EVENTS):
    rises = {start}[j] < 0.0 <= {end}[j] and DIRECTIONS[j] >= 0
    falls = {start}[j] > 0.0 >= {end}[j] and DIRECTIONS[j] <= 0
    {name} = {name} or rises or falls
""".strip()

# Regula falsi on the earliest of the crossings, every third time a bisection; never closer to
# an end than half the tolerance, so that the bracket closes from both sides.
_LOCATE = f"""
signal(last, u, p, after)
{_CROSSED.format(name="crossed", start="before", end="after")}
if (locating or crossed) and not settled:
    if not locating:
        locating = True
        rounds = 0
        low = 0.0
        high_lands = landing
        for j in range(EVENTS):
            left[j] = before[j]
    elif crossed:
        high_lands = False
    if crossed:
        high = h
        for j in range(EVENTS):
            right[j] = after[j]
    else:
        low = h
        for j in range(EVENTS):
            left[j] = after[j]
    width = max(event_tolerance, ROUNDING * abs(t))
    probe = high
    settled = abs(high - low) <= width
    if not settled:
        rounds += 1
        for j in range(EVENTS):
            if left[j] * right[j] <= 0.0 and left[j] != right[j]:
                zero = low + (high - low) * left[j] / (left[j] - right[j])
                if abs(zero) < abs(probe):
                    probe = zero
        if rounds % 3 == 0:
            probe = 0.5 * (low + high)
        near, far = abs(low) + 0.5 * width, abs(high) - 0.5 * width
        probe = sign * min(max(abs(probe), near), far)
    continue
""".strip().splitlines()

_ACT = """
for j in range(EVENTS):
    rises = before[j] < 0.0 <= after[j] and DIRECTIONS[j] >= 0
    falls = before[j] > 0.0 >= after[j] and DIRECTIONS[j] <= 0
    if rises or falls:
        if found < event_times.shape[0]:
            event_times[found] = t
            event_indices[found] = j
            for i in range(SIZE):
                event_states[found, i] = y[i]
            found += 1
        known = 0
        memory = 0.0
        if TERMINAL[j]:
            status = EVENT
        # [action]
locating = False
settled = False
for j in range(EVENTS):
    before[j] = after[j]
if status == EVENT:
    break
""".strip().splitlines()


def event_lines(options: Options) -> dict[str, list[str]]:
    """Return the blocks of the loop that deal with events: empty without events."""
    blocks = {
        "signals": _VIEWS,
        "arm": _ARM,
        "probe": _PROBE,
        "locate": _LOCATE,
        "act": _act_lines(options),
    }
    return blocks if options.directions else {name: [] for name in blocks}


def _act_lines(options: Options) -> list[str]:
    """Return the lines that record crossings, act on them and end at a terminal one."""
    action = ["if status != EVENT:", "    act(j, t, y, p)", "    armed = 0"]
    lines = []
    for line in _ACT:
        if line.strip() != "# [action]":
            lines.append(line)
        elif options.acts:
            lines += [" " * 8 + row for row in action]
    return lines

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

AHEAD = 8
"""How many times the width of a located crossing one looks ahead after an action."""


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
    the mode. An impact that turns the motion back is an event with a `direction`; the next one is
    seen however soon it comes, if later than 8 times the tolerance. Two crossings of one function
    within a step without an action between them are not seen: bound the step by `max_step` where
    that can be.
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

    @property
    def settings(self) -> dict[str, Any]:
        """Their part of the arguments of `Engine.space`."""
        return {
            "kinds": (self.directions, self.terminals),
            "event_tolerance": self.tolerance,
        }

    def _spread(self, name: str, allowed: tuple) -> tuple:
        value = getattr(self, name)
        values = tuple(value) if isinstance(value, Sequence) else (value,) * self.count
        if len(values) != self.count or any(one not in allowed for one in values):
            raise ManipDynError(
                f"events.{name} is {value!r}; expected {self.count} of {list(allowed)}"
            )
        return values


_IMPORT = ["from manip_dyn.integrate.crossing import any_crosses, copy, crosses, next_trial"]

SIGNAL_ROWS = 7
"""Values (k,) at the start and end of the step, and at the ends of the bracket in which a crossing
is searched; directions and terminal flags; whether the action at the start was this function's.
"""
_VIEWS = [
    "before, after, left, right = signals[0], signals[1], signals[2], signals[3]",
    "kinds, acted = signals[4:6], signals[6]",
]

# The action of an impact leaves the state on the far side, or on zero, and turns the motion back.
# Which side such a function is on is seen a little later.
_ARM = """
if armed == 0:
    signal(first, y, p, before)
    armed = 1
""".strip().splitlines()

_ARM_AHEAD = """
    if ahead != 0.0:
        for i in range(SIZE):
            u[i] = y[i] + ahead * {slope}
        signal(first + ahead, u, p, after)
        for j in range(before.size):
            if acted[j] != 0.0:
                before[j] = after[j]
""".strip("\n").splitlines()

_PROBE = """
if locating:
    h = probe
    landing = settled and high_lands
""".strip().splitlines()

_LOCATE = """
signal(last, u, p, after)
crossed = any_crosses(before, after, kinds)
if (locating or crossed) and not settled:
    if not locating:
        locating = True
        rounds = 0
        low = ahead
        high_lands = landing
        copy(before, left)
    elif crossed:
        high_lands = False
    if crossed:
        high = h
        copy(after, right)
    else:
        low = h
        copy(after, left)
    width = max(event_tolerance, ROUNDING * abs(t))
    rounds += 1
    settled = abs(high - low) <= width
    probe = high
    if not settled:
        probe = next_trial(low, high, left, right, kinds, width, rounds % 3 == 0)
    continue
""".strip().splitlines()

_ACT = """
for j in range(before.size):
    if crosses(before[j], after[j], kinds[0, j]):
        if found < event_times.shape[0]:
            event_times[found] = t
            event_indices[found] = j
            copy(y, event_states[found])
            found += 1
        known = 0
        memory = 0.0
        if kinds[1, j] != 0.0:
            status = EVENT
        # [action]
locating = False
settled = False
copy(after, before)
if status == EVENT:
    break
""".strip().splitlines()


def event_lines(options: Options, slope: str) -> dict[str, list[str]]:
    """Return the blocks of the loop that deal with events: empty without events.

    Args:
        options: What the loop is for.
        slope: Text of the rate of component i at the start of the step.
    """
    ahead = [line.format(slope=slope) for line in _ARM_AHEAD] if options.acts else []
    blocks = {
        "crossing": _IMPORT,
        "signals": _VIEWS,
        "arm": _ARM + ahead,
        "probe": _PROBE,
        "locate": _LOCATE,
        "act": _act_lines(options),
    }
    return blocks if options.events else {name: [] for name in blocks}


def _act_lines(options: Options) -> list[str]:
    """Return the lines that record crossings, act on them and end at a terminal one."""
    action = [
        "if status != EVENT:",
        "    act(j, t, y, p)",
        "    armed = 0",
        "    if kinds[0, j] != 0.0:",
        "        acted[j] = 1.0",
        "        ahead = sign * AHEAD * max(event_tolerance, ROUNDING * abs(t))",
    ]
    lines = ["ahead = 0.0", *(["acted[:] = 0.0"] if options.acts else [])]
    for line in _ACT:
        if line.strip() != "# [action]":
            lines.append(line)
        elif options.acts:
            lines += [" " * 8 + row for row in action]
    return lines

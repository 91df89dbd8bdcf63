"""Events: zero crossings of functions of the motion, found by repeating the step, see `search`.

So an event is as exact as the method, whatever its dense output, and the step ends on the far side
of the crossing, where the next one begins with fresh derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from manip_dyn.core.checks import not_negative
from manip_dyn.core.errors import ManipDynError


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

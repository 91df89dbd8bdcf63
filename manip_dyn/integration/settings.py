"""Arguments of `integrate`: step control, sampling, events and Jacobians.

Events are zero crossings of functions of the state. The loop finds them by repeating the step, see
`event_search`. An event is therefore as exact as the method, independent of its dense output, and
the step ends on the far side of the crossing, where the next one starts with a new derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, distinct_digits, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration.methods.step_control import CONTROLLERS, ESTIMATES, NORMS


@dataclass(frozen=True)
class StepControl:
    """How the steps of an integration with tolerances are chosen, and how many there may be.

    Attributes:
        controller: ``"pi"`` (Gustafsson 1991) or ``"paper"`` (Galhano, Machado 1994), see
            `control`.
        norm: ``"max"`` or ``"rms"``: norm of the error over the tolerances.
        estimate: ``"plain"``, or ``"scaled"``: the error estimate of a Rosenbrock method after
            one more solution with its matrix, which takes out what stiff parts exaggerate.
        first_step: First step, s. Default: found.
        min_step: Smallest step, s; what needs a smaller one ends with STEP_UNDERFLOW.
        max_step: Largest step, s.
        max_steps: Steps, failed ones included, before TOO_MANY_STEPS; with fixed steps, too.
        fac: Safety factor: a step is so much shorter than the error estimate allows; sigma in
            Galhano, Machado (1994).
        facmin: Least factor from a step to the next.
        facmax: Largest factor from a step to the next.
    """

    controller: str = "pi"
    norm: str = "max"
    estimate: str = "plain"
    first_step: float | None = None
    min_step: float = 0.0
    max_step: float = math.inf
    max_steps: int = 10_000_000
    fac: float = 0.9
    facmin: float = 0.1
    facmax: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what no step can follow."""
        for name, allowed in (
            ("controller", CONTROLLERS),
            ("norm", NORMS),
            ("estimate", ESTIMATES),
        ):
            _one_of(name, getattr(self, name), allowed)
        if self.first_step is not None:
            positive("first_step", self.first_step, "s")
        not_negative("min_step", self.min_step, "s")
        if self.max_step != math.inf:
            positive("max_step", self.max_step, "s")
        positive("max_steps", self.max_steps)
        for name in ("fac", "facmin", "facmax"):
            positive(name, getattr(self, name))
        if not (self.fac <= 1.0 and self.facmin < 1.0 < self.facmax):
            raise ManipDynError(
                f"fac, facmin and facmax are {self.fac:g}, {self.facmin:g} and {self.facmax:g}; "
                "expected fac up to 1, facmin below 1 and facmax above"
            )
        if self.max_step < self.min_step:
            most, least = distinct_digits(self.max_step, self.min_step)
            raise ManipDynError(f"max_step is {most} s; expected min_step ({least} s) or more")


@dataclass(frozen=True, eq=False)
class Sampling:
    """What is kept of a motion.

    Attributes:
        times: Times of the samples (k,), s, from the start towards the end. Default: every step.
        land: Whether steps end at the times, which keeps the full accuracy; otherwise the
            samples come from the dense output.
        dense: Whether the solution can be called with any time in the span.
    """

    times: ArrayLike | None = None
    land: bool = True
    dense: bool = False


def chosen_control(control: Any) -> StepControl:
    """Return a step control, the usual one for None."""
    if control is not None and not isinstance(control, StepControl):
        raise ManipDynError(f"control is {control!r}; expected an md.StepControl")
    return control or StepControl()


def chosen_sampling(sampling: Any) -> Sampling:
    """Return a sampling; times alone are one, and None is every step."""
    return sampling if isinstance(sampling, Sampling) else Sampling(sampling)


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = closest(str(value), allowed)
        raise ManipDynError(f"{name} is {value!r}; expected {' or '.join(allowed)}{hint}")


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


_SAME = 1e-9
"""How far rates of positions may be from velocities, relative beyond 1."""


@dataclass(frozen=True)
class Jacobian:
    """Derivatives of a right-hand side, and its structure, for the Rosenbrock methods.

    With `positions` n > 0 the state of m numbers is y = (q, v, w): q' = v (n each) is second
    order, and w of m - 2 n numbers are quadratures, whose rates depend on q, v and time alone.
    Linear systems then have n unknowns instead of m.

    Attributes:
        function: ``function(t, y, p, out, by_time)``, numba-compiled. Writes the derivatives of
            the rates of v and w by y into `out` (m - n, m), those by time into `by_time`
            (m - n,). None: central differences of the right-hand side, in the compiled loop.
        positions: n; 0 for a system of first order.
        mass: Whether the rows of v in both arrays come multiplied by a mass matrix M (n, n), as
            M dv'/dy, and M itself stands in n columns of `out` after the first m. This saves
            the solutions with M (Sandu et al. (2001), eq. 43 to 45).
    """

    function: Callable[..., Any] | None = None
    positions: int = 0
    mass: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if self.function is not None and not callable(self.function):
            raise ManipDynError(f"jacobian.function is {self.function!r}; expected a function")
        if not isinstance(self.positions, int) or self.positions < 0:
            raise ManipDynError(f"jacobian.positions is {self.positions!r}; expected 0 or more")
        if self.mass and (self.function is None or not self.positions):
            raise ManipDynError("jacobian.mass is True; expected a function and positions beside")

    def check_rates(self, derivative: Vector | None, y: Vector) -> None:
        """Refuse a first derivative (m,) at y (m,) whose rates of q are not v."""
        n = self.positions
        if not n or derivative is None:
            return
        rates, wanted = derivative[:n], y[n : 2 * n]
        wrong = np.flatnonzero(np.abs(rates - wanted) > _SAME * (1.0 + np.abs(wanted)))
        if wrong.size:
            k = int(wrong[0])
            raise ManipDynError(
                f"jacobian.positions is {n}, but the derivative of y[{k}] is {rates[k]:.9g} at "
                f"the start; expected y[{n + k}], {wanted[k]:.9g}"
            )

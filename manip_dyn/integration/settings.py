"""Arguments of `integrate`: step control, sampling, events and Jacobians.

Events are zero crossings of functions of time and state. The loop locates them by repeating the
step with different lengths, see `event_search`. Event times are therefore as accurate as the
method, and independent of its dense output. The step ends just after the crossing, and the next
step evaluates the derivative again.
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
from manip_dyn.integration.step_inspection import QUIET

_SAME = 1e-9
"""Absolute and relative tolerance between the rates of positions and the velocities."""


INSPECTIONS = {"quiet": QUIET, "all": math.inf, "none": 0.0}
"""Error estimate below which steps are inspected, by value of `StepControl.inspection`."""


@dataclass(frozen=True)
class StepControl:
    """Step size control of adaptive integrations, and the maximum number of steps.

    Attributes:
        controller: ``"pi"`` (Gustafsson 1991) or ``"paper"`` (Galhano, Machado 1994).
        norm: ``"max"`` or ``"rms"`` norm of the error divided by the tolerances.
        estimate: ``"plain"`` or ``"scaled"``. The scaled error estimate of a Rosenbrock method is
            multiplied by (I - h gamma df/dy)^-1, which damps stiff components. Other methods
            ignore this setting.
        first_step: First step, s, not with fixed steps or Taylor series. Default: estimated from
            the derivative.
        min_step: Smallest step that the control plans, s, not with fixed steps. If the tolerances
            require a smaller step, the integration ends with STEP_UNDERFLOW.
        max_step: Largest step that the control plans, s, not with fixed steps. A step that ends at
            a stop may exceed it by 1 %.
        inspection: Steps in which the derivative is evaluated at short intervals, to find forces
            that all stages missed. ``"quiet"``: all steps for effort laws of `simulate`, for
            mechanisms with user forces of time or position, and for functions that read the time
            or compare numbers; for other functions, steps with error estimates of almost zero, and
            the next. Smooth functions, without conditions and peaks, and other mechanisms are not
            inspected. ``"all"``: all steps. ``"none"``: no steps, and no search for
            conditions on time. Taylor series are not inspected.
        inspection_interval: Length of these intervals, s. Shorter forces may be missed. Default: a
            2,000th of the time span; 5 ms for effort laws of arms and for mechanisms.
        max_steps: Maximum number of accepted and rejected steps of an integration, or of each
            motion of a simulation; also applies to fixed steps. If more are needed, it ends with
            TOO_MANY_STEPS.
        fac: Safety factor of the step length; sigma in Galhano, Machado (1994).
        facmin: Smallest ratio of consecutive steps.
        facmax: Largest ratio of consecutive steps.
    """

    controller: str = "pi"
    norm: str = "max"
    estimate: str = "plain"
    first_step: float | None = None
    min_step: float = 0.0
    max_step: float = math.inf
    inspection: str = "quiet"
    inspection_interval: float | None = None
    max_steps: int = 10_000_000
    fac: float = 0.9
    facmin: float = 0.1
    facmax: float = 5.0

    @property
    def quiet(self) -> float:
        """Error estimate, relative to the tolerances, below which steps are inspected."""
        return INSPECTIONS[self.inspection]

    def __post_init__(self) -> None:
        """Check the values."""
        for name, allowed in (
            ("controller", CONTROLLERS),
            ("norm", NORMS),
            ("estimate", ESTIMATES),
            ("inspection", tuple(INSPECTIONS)),
        ):
            _check_choice(name, getattr(self, name), allowed)
        if self.first_step is not None:
            positive("first_step", self.first_step, "s")
        if self.inspection_interval is not None:
            positive("inspection_interval", self.inspection_interval, "s")
        not_negative("min_step", self.min_step, "s")
        if self.max_step != math.inf:
            positive("max_step", self.max_step, "s")
        positive("max_steps", self.max_steps)
        for name in ("fac", "facmin", "facmax"):
            positive(name, getattr(self, name))
        if not (self.fac <= 1.0 and self.facmin < 1.0 < self.facmax):
            raise ManipDynError(
                "fac must be 1 or less, facmin less than 1 and facmax greater than 1, got "
                f"{self.fac:g}, {self.facmin:g} and {self.facmax:g}."
            )
        if self.max_step < self.min_step:
            longest, shortest = distinct_digits(self.max_step, self.min_step)
            raise ManipDynError(
                f"max_step must be min_step ({shortest} s) or more, got {longest} s."
            )


def check_step_limits(control: StepControl, method: str, adaptive: bool, series: bool) -> None:
    """Raise `ManipDynError` if a control has a limit that an integration does not use.

    Args:
        control: The step control.
        method: Name of the method.
        adaptive: Whether tolerances determine the steps.
        series: Whether the method is a Taylor series, which uses no first step.
    """
    for name, default in (("first_step", None), ("min_step", 0.0), ("max_step", math.inf)):
        value = getattr(control, name)
        if value != default and (not adaptive or (series and name == "first_step")):
            steps = f"for method '{method}'" if adaptive else "with fixed steps"
            raise ManipDynError(f"control.{name} must be {default} {steps}, got {value:g} s.")


@dataclass(frozen=True, eq=False)
class Sampling:
    """Sample times and dense output of a solution.

    Attributes:
        times: Sample times (k,), s, ordered from start to end. Default: every step.
        land: Whether steps end at the sample times, so that samples have full accuracy. Otherwise
            samples are interpolated with the dense output.
        dense: Whether the solution can be evaluated at any time in the integrated span.
    """

    times: ArrayLike | None = None
    land: bool = True
    dense: bool = False


@dataclass(frozen=True)
class Events:
    """Zero crossings of event functions that are located during an integration.

    If a right-hand side is discontinuous on a surface, the method has its full order only if steps
    end at the surface. Read the mode of the right-hand side from `p`, and let `action` change the
    mode. An impact that reverses the motion requires a `direction`. The next impact is located if
    it occurs at least 8 times the tolerance later. Two crossings of the same function within a
    step, without another event between them, are not detected. Limit `StepControl.max_step` if
    that can happen.

    Attributes:
        function: ``function(t, y, p, out)``, compiled by numba; writes k values into `out` (k,).
        count: The number k of values.
        terminal: Whether a crossing ends the integration; one value for all, or k values.
        direction: 1 for crossings from below, -1 from above, 0 for both; one value for all, or k
            values.
        tolerance: Tolerance of crossing times, s; limited by rounding.
        action: ``action(index, t, y, p)``, compiled by numba; may change `y` (m,) and `p` in place
            at a crossing, for example for an impact or a change of mode. It is not called if the
            crossing ends the integration.
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
            raise ManipDynError(f"events.function must be a function, got {self.function!r}.")
        if self.action is not None and not callable(self.action):
            raise ManipDynError(f"events.action must be a function or None, got {self.action!r}.")
        if not isinstance(self.count, int) or self.count < 1:
            raise ManipDynError(
                f"events.count must be a whole number above 0, got {self.count!r}."
            )
        not_negative("events.tolerance", self.tolerance)
        self._for_all("terminal", (False, True))
        self._for_all("direction", (-1, 0, 1))

    @property
    def terminals(self) -> tuple[bool, ...]:
        """Value of `terminal` for each of the k functions."""
        return self._for_all("terminal", (False, True))

    @property
    def directions(self) -> tuple[int, ...]:
        """Value of `direction` for each of the k functions."""
        return self._for_all("direction", (-1, 0, 1))

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments `kinds` and `event_tolerance` of `Engine.space`."""
        return {
            "kinds": (self.directions, self.terminals),
            "event_tolerance": self.tolerance,
        }

    def _for_all(self, name: str, allowed: tuple) -> tuple:
        value = getattr(self, name)
        values = tuple(value) if isinstance(value, Sequence) else (value,) * self.count
        if len(values) != self.count or any(one not in allowed for one in values):
            raise ManipDynError(
                f"events.{name} must be one or {self.count} of {list(allowed)}, got {value!r}."
            )
        return values


@dataclass(frozen=True)
class Jacobian:
    """Derivatives and structure of a right-hand side, for Rosenbrock methods.

    With `positions` n > 0, the state of m numbers is y = (q, v, w). The n positions q have the
    rates q' = v. The m - 2 n numbers w are quadratures, whose rates depend only on q, v and time.
    Linear systems then have n unknowns instead of m.

    Attributes:
        function: ``function(t, y, p, out, by_time)``, compiled by numba. Writes the derivatives of
            the rates of v and w with respect to y into `out` (m - n, m), and with respect to time
            into `by_time` (m - n,). For n = 0 these are the derivatives of all rates. Default:
            central differences of the right-hand side.
        positions: Number n of positions; 0 for a first-order system.
        mass: Whether the rows of v in both arrays are multiplied by a mass matrix M (n, n), as in
            M dv'/dy. The n columns of `out` after the first m then contain M in the rows of v.
            This avoids solving with M (Sandu et al. (2001), eq. 43 to 45).
    """

    function: Callable[..., Any] | None = None
    positions: int = 0
    mass: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if self.function is not None and not callable(self.function):
            raise ManipDynError(f"jacobian.function must be a function, got {self.function!r}.")
        if not isinstance(self.positions, int) or self.positions < 0:
            raise ManipDynError(
                f"jacobian.positions must be a whole number, 0 or more, got {self.positions!r}."
            )
        if self.mass and (self.function is None or not self.positions):
            raise ManipDynError(
                "jacobian.mass must be False without jacobian.function and jacobian.positions, "
                "got True."
            )

    def check_rates(self, derivative: Vector | None, y: Vector) -> None:
        """Raise `ManipDynError` if the rates of q in a derivative (m,) at y (m,) differ from v."""
        n = self.positions
        if not n or derivative is None:
            return
        rates, velocities = derivative[:n], y[n : 2 * n]
        wrong = np.flatnonzero(np.abs(rates - velocities) > _SAME * (1.0 + np.abs(velocities)))
        if wrong.size:
            k = int(wrong[0])
            raise ManipDynError(
                f"With jacobian.positions = {n}, the derivative of y[{k}] must be y[{n + k}] = "
                f"{velocities[k]:.9g}, got {rates[k]:.9g} at the start."
            )


def checked_control(control: Any) -> StepControl:
    """Return `control`, or `StepControl()` if it is None.

    Raises:
        ManipDynError: If it is neither None nor a `StepControl`.
    """
    if control is None:
        return _CONTROL
    if not isinstance(control, StepControl):
        raise ManipDynError(f"control must be an md.StepControl, got {control!r}.")
    return control


def checked_sampling(sampling: Any) -> Sampling:
    """Return `sampling` as a `Sampling`; other values are sample times, or None for every step."""
    if sampling is None:
        return _EVERY_STEP
    return sampling if isinstance(sampling, Sampling) else Sampling(sampling)


def _check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = closest(str(value), allowed)
        raise ManipDynError(f"{name} must be {' or '.join(allowed)}, got {value!r}{hint}")


_CONTROL, _EVERY_STEP = StepControl(), Sampling()

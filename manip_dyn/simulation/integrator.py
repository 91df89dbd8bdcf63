"""Integrators of simulations: a method with a fixed step or with tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manip_dyn.core.checks import nanoseconds, not_negative, truth
from manip_dyn.core.deprecation import renamed_attribute, warn_deprecated
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration import METHODS, Method, StepControl
from manip_dyn.integration.methods.method import HIGHEST_ORDER, LOWEST_ORDER, order_for
from manip_dyn.integration.settings import checked_control

SMALLEST_TOLERANCE = 1e-20
"""Smallest tolerance above 0. Rounding errors are about 1e-16."""


@dataclass(frozen=True)
class Integrator:
    """A method of `md.METHODS` and its step size.

    Attributes:
        method: Name in `md.METHODS`, or a `Method`.
        step: Fixed step, s; unused with tolerances.
        rtol: Relative tolerance. Fixed steps if `rtol` and `atol` are both 0.
        atol: Absolute tolerance, rad or m (and per s, and J for the work). 0 stands for `rtol`.
        order: Order of a Taylor series. Default, None or 0: determined by the tolerances.
        stop_at_limits: Whether a joint that reaches a position limit ends the simulation.
        control: Step control. Default: `StepControl()` without a limit on the number of steps.
    """

    method: str | Method = "rk4"
    step: float = 1e-3
    rtol: float = 0.0
    atol: float = 0.0
    order: int | None = None
    stop_at_limits: bool = False
    control: StepControl | None = None

    def __post_init__(self) -> None:
        """Check the values and their combination."""
        method: Any = self.method
        valid = isinstance(method, Method) or (isinstance(method, str) and method in METHODS)
        if not valid:
            hint = closest(str(method), METHODS)
            raise ManipDynError(f"method must be one of md.METHODS, got {method!r}{hint}")
        nanoseconds("step", self.step)
        truth("stop_at_limits", self.stop_at_limits)
        for name, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if 0.0 < not_negative(name, tolerance) < SMALLEST_TOLERANCE:
                raise ManipDynError(
                    f"{name} must be 0, or {SMALLEST_TOLERANCE:g} or more, got {tolerance:g}."
                )
        self._check_order()
        if self.adaptive and not self.solver.adaptive:
            raise ManipDynError(
                f"rtol and atol must be 0 for method '{self.solver.name}', which has no error "
                f"estimate, got {self.rtol:g} and {self.atol:g}. Use a method such as rkdp87."
            )
        if self.control is not None:
            checked_control(self.control)
            if self.control.first_step is not None and (not self.adaptive or self.series):
                raise ManipDynError(
                    f"control.first_step must be None for method '{self.solver.name}' without an "
                    f"error estimate in use, got {self.control.first_step:g}."
                )

    def _check_order(self) -> None:
        order: Any = self.order
        if order in (None, 0) and not isinstance(order, bool):
            if self.series and not self.adaptive:
                raise ManipDynError(
                    f"order must be a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER} for "
                    f"method 'taylor' without tolerances, got {order}. Set order or rtol."
                )
            return
        whole = isinstance(order, int) and not isinstance(order, bool)
        if not whole or not LOWEST_ORDER <= order <= HIGHEST_ORDER:
            raise ManipDynError(
                f"order must be None or a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER}, "
                f"got {order!r}."
            )
        if not self.series:
            raise ManipDynError(
                f"order must be None for method '{self.solver.name}', got {order}. Only method "
                "'taylor' has a variable order."
            )

    @property
    def solver(self) -> Method:
        """The `Method` object."""
        return self.method if isinstance(self.method, Method) else METHODS[self.method]

    found = renamed_attribute("Integrator.found", "solver")

    @property
    def adaptive(self) -> bool:
        """Whether tolerances determine the step."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def implicit(self) -> bool:
        """Whether the method uses the derivatives of the rates of the state."""
        return self.solver.implicit

    @property
    def series(self) -> bool:
        """Whether the method uses the Taylor series of the motion."""
        return self.solver.series

    @property
    def tolerances(self) -> tuple[float, float]:
        """Relative and absolute tolerance. Joints at rest at zero require an absolute one."""
        return self.rtol, self.atol or self.rtol

    @property
    def orders(self) -> tuple[int, int]:
        """Orders of a Taylor series for relative and absolute tolerance; 0 for other methods.

        Both are `order` if it is set.
        """
        if not self.series:
            return 0, 0
        rtol, atol = self.tolerances
        return self.order or order_for(rtol or atol), self.order or order_for(atol)


def checked_order(order: int | None, taylor_order: int | None) -> int | None:
    """Return `order`, or the value of its deprecated name `taylor_order` with a warning."""
    if taylor_order is None:
        return order
    warn_deprecated("taylor_order", "order", stacklevel=4)
    return taylor_order

"""How a simulation is integrated: a method with a fixed step or with tolerances."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.core.checks import nanoseconds, not_negative, truth
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration import METHODS, Method
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.taylor import HIGHEST_ORDER, order_for

LEAST_TOLERANCE = 1e-20
"""Of a step; numbers are rounded at 1e-16."""


@dataclass(frozen=True)
class Integrator:
    """A method of `md.METHODS` and what rules its step.

    Attributes:
        method: Name in the registry.
        step: Fixed step, s; ignored with tolerances.
        rtol: Relative tolerance; 0 with `atol` 0: fixed steps.
        atol: Absolute tolerance, rad or m (and per s, and J for the work); 0 beside an `rtol`:
            the same number.
        order: Order of a Taylor series; 0: what the tolerances ask for.
        stop_at_limits: Whether a joint that reaches a position limit ends the simulation.
    """

    method: str = "rk4"
    step: float = 1e-3
    rtol: float = 0.0
    atol: float = 0.0
    order: int = 0
    stop_at_limits: bool = False

    def __post_init__(self) -> None:
        """Check the values and that they fit together."""
        if self.method not in tuple(METHODS):
            hint = closest(self.method, METHODS)
            raise ManipDynError(f"method is '{self.method}', which is no method{hint}")
        nanoseconds("step", self.step)
        truth("stop_at_limits", self.stop_at_limits)
        for name, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if 0.0 < not_negative(name, tolerance) < LEAST_TOLERANCE:
                raise ManipDynError(
                    f"{name} is {tolerance:g}, which no step keeps; expected 0, or "
                    f"{LEAST_TOLERANCE:g} or more"
                )
        if (
            isinstance(self.order, bool)
            or not isinstance(self.order, int)
            or not (0 <= self.order <= HIGHEST_ORDER)
        ):
            raise ManipDynError(
                f"taylor_order is {self.order!r}; expected a whole number from 0 to "
                f"{HIGHEST_ORDER}"
            )
        if self.adaptive and not self.found.adaptive:
            raise ManipDynError(
                f"method '{self.method}' has no error estimate for rtol {self.rtol:g} and "
                f"atol {self.atol:g}; expected both 0, or a method such as rkdp87"
            )
        if self.method != "taylor" and self.order:
            raise ManipDynError(
                f"taylor_order is {self.order} with method '{self.method}'; expected 0"
            )
        if self.method == "taylor" and not self.adaptive and self.order < 2:
            raise ManipDynError(
                f"method 'taylor' has taylor_order {self.order} and no tolerance; expected an "
                "order from 2 or an rtol"
            )

    @property
    def found(self) -> Method:
        """The method."""
        return METHODS[self.method]

    @property
    def adaptive(self) -> bool:
        """Whether tolerances rule the step."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def implicit(self) -> bool:
        """Whether the method takes derivatives of the motion."""
        return isinstance(self.found, Rosenbrock)

    @property
    def tolerances(self) -> tuple[float, float]:
        """Relative and absolute tolerance: joints at rest at zero need an absolute one."""
        return self.rtol, self.atol or self.rtol

    @property
    def orders(self) -> tuple[int, int]:
        """Orders of a Taylor series while the relative and while the absolute tolerance rules."""
        if self.method != "taylor":
            return 0, 0
        rtol, atol = self.tolerances
        return self.order or order_for(rtol or atol), self.order or order_for(atol)

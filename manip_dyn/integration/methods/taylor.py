"""Taylor series of variable order: each step sums the power series of the solution.

With tolerances, the step follows Jorba and Zou, A software package for the numerical integration
of ODEs by means of high-order Taylor methods, Experimental Mathematics 14 (2005). The last two
terms of the series must be within the tolerances, and exp(-0.7 / (p - 1)) is the safety factor.
This implementation also allows mixed tolerances and any order p from 2 to 60. Let eps be the
dominant one of the relative and the absolute tolerance. The order with the lowest cost is
-ln(eps) / 2 if the cost of a series is proportional to p^2, and -ln(eps) if it is proportional to
p. The cost of sums in SIMD lanes is in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration.methods import series_step, template_parameters
from manip_dyn.integration.methods.linear_combinations import power_sum
from manip_dyn.integration.methods.method import Method, Options, Step, step_arguments


@dataclass(frozen=True)
class Series:
    """The power series of a solution, which replaces the right-hand side in the method ``taylor``.

    Attributes:
        function: ``function(t, y, p, order, work, out)``, compiled by numba. Writes the
            coefficients of y about t into `out` (order + 1, m). Row k contains the
            coefficients of (s - t)^k in the solution y(s), and row 0 is y.
        quantities: Number of columns of the scratch array `work` (order + 1, quantities), one per
            intermediate quantity. The array is zero in the first call.
    """

    function: Callable[..., Any]
    quantities: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        if not callable(self.function):
            raise ManipDynError(f"series.function must be a function, got {self.function!r}.")
        if not isinstance(self.quantities, int) or self.quantities < 0:
            raise ManipDynError(
                f"series.quantities must be a whole number, 0 or more, got {self.quantities!r}."
            )


@dataclass(frozen=True)
class Taylor(Method):
    """The Taylor series method; its order is an argument or follows from the tolerances."""

    @property
    def family(self) -> str:
        """Name of the family: Taylor series."""
        return "Taylor series"

    @property
    def source(self) -> str:
        """Authors of the step control: Jorba and Zou (2005)."""
        return "Jorba, Zou (2005)"

    @property
    def order(self) -> None:
        """None, because the order is variable."""
        return

    @property
    def series(self) -> bool:
        """True, because the right-hand side is a `Series`."""
        return True

    @property
    def stages(self) -> int:
        """Number of series per step, 1."""
        return 1

    @property
    def adaptive(self) -> bool:
        """True, because tolerances and the last terms of the series can determine the step."""
        return True

    @property
    def dense_order(self) -> None:
        """None, because the order of the dense output is that of the series."""
        return

    @property
    def stability_interval(self) -> None:
        """None, because the stability interval depends on the order."""
        return

    @property
    def stand_in(self) -> Any:
        """Template parameter for the function of a `Series`."""
        return template_parameters.series

    def step(self, options: Options, rhs: Any) -> Step:
        """Return the compiled functions of a step; `rhs` is the function of a `Series`."""
        arguments = step_arguments(series_step, sum_up=power_sum(options.size))
        return Step(arguments, rows=1, degree=0)

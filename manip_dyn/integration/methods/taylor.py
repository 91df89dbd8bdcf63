"""Taylor series of any order: each step sums the power series of the solution.

With tolerances, the step follows Jorba and Zou, A software package for the numerical integration
of ODEs by means of high-order Taylor methods, Experimental Mathematics 14 (2005): the last two
terms of the series are within the tolerances, and the step is multiplied by exp(-0.7 / (p - 1)).
This implementation also allows mixed tolerances and any order p. eps is the larger of the relative
and the absolute tolerance. The order of least cost is -ln(eps) / 2 if the cost of a series is
proportional to p^2, and -ln(eps) if it is proportional to p; with sums in SIMD lanes it is in
between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.specialized import specialized
from manip_dyn.integration.methods import series_step, template_parameters
from manip_dyn.integration.methods.linear_combinations import power_sum
from manip_dyn.integration.methods.method import Method, Options, Step


@dataclass(frozen=True)
class Series:
    """The power series of a solution, which is the right-hand side of the method ``taylor``.

    Attributes:
        function: ``function(t, y, p, order, work, out)``, numba-compiled. Writes the coefficients
            of y about t into `out` (order + 1, m): row k is the coefficient of (s - t)^k, row 0
            is y.
        quantities: Number of columns of the scratch array `work` (order + 1, quantities), zero at
            the start: one for the coefficients of each intermediate quantity.
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
    """The Taylor series method, whose order is an argument or follows from the tolerance."""

    @property
    def family(self) -> str:
        """Taylor series."""
        return "Taylor series"

    @property
    def source(self) -> str:
        """Jorba and Zou (2005)."""
        return "Jorba, Zou (2005)"

    @property
    def order(self) -> None:
        """None: variable."""
        return

    @property
    def series(self) -> bool:
        """True."""
        return True

    @property
    def stages(self) -> int:
        """One series per step."""
        return 1

    @property
    def adaptive(self) -> bool:
        """True: the last terms of the series determine the step."""
        return True

    @property
    def dense_order(self) -> None:
        """None: the order of the series."""
        return

    @property
    def stability_interval(self) -> None:
        """None: it depends on the order."""
        return

    @property
    def stand_in(self) -> Any:
        """What stands in for the function of a `Series`."""
        return template_parameters.series

    def step(self, options: Options, rhs: Any, jacobian: Any) -> Step:
        """Return the compiled functions of a step; `rhs` is that of a `Series`."""
        module = specialized(
            series_step,
            series=rhs,
            sum_up=power_sum(options.size),
            SIZE=options.size,
            ADAPTIVE=options.adaptive,
        )
        return Step(module, rows=1, degree=0)

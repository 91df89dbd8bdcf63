"""Taylor series of any order: the motion's own power series, summed over each step.

With tolerances, the step follows Jorba and Zou, A software package for the numerical integration
of ODEs by means of high-order Taylor methods, Experimental Mathematics 14 (2005): the last two
terms of the series are within the tolerances, and it is shortened by exp(-0.7 / (p - 1));
here mixed tolerances and any order p are possible too. eps is the relative tolerance, or the
absolute one while that is the larger. The cheapest order is -ln(eps) / 2 where the cost of a
series grows with p^2, theirs, and -ln(eps) where it grows with p; with its sums in SIMD lanes,
ours lies between.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.specialized import specialized
from manip_dyn.integration.methods import series_step, template_parameters
from manip_dyn.integration.methods.linear_combinations import power_sum
from manip_dyn.integration.methods.method import Method, Options, Step

LOWEST_ORDER, HIGHEST_ORDER = 2, 60
WORTHWHILE = 0.65
"""Order per -ln(eps): measured on arms of 2 and 7 joints, where 0.55 to 0.75 cost the same."""


@dataclass(frozen=True)
class Series:
    """A motion's power series, the right-hand side of the method ``taylor``.

    Attributes:
        function: ``function(t, y, p, order, work, out)``, numba-compiled. Writes the coefficients
            of y about t into `out` (order + 1, m): row k belongs to (s - t)^k, row 0 is y.
        quantities: Columns of its scratch array `work` (order + 1, quantities), zero at first: one
            for the coefficients of each intermediate quantity.
    """

    function: Callable[..., Any]
    quantities: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        if not callable(self.function):
            raise ManipDynError(f"series.function is {self.function!r}; expected a function")
        if not isinstance(self.quantities, int) or self.quantities < 0:
            raise ManipDynError(f"series.quantities is {self.quantities!r}; expected 0 or more")


def order_for(tolerance: float) -> int:
    """Return the order that reaches a tolerance with the least work."""
    order = math.ceil(1.0 - WORTHWHILE * math.log(max(tolerance, 1e-18)))
    return min(max(order, LOWEST_ORDER), HIGHEST_ORDER)


@dataclass(frozen=True)
class Taylor(Method):
    """The Taylor series method; the user, or the tolerance, chooses the order."""

    @property
    def family(self) -> str:
        """Taylor series."""
        return "Taylor series"

    @property
    def source(self) -> str:
        """Jorba and Zou."""
        return "Jorba, Zou (2005)"

    @property
    def order(self) -> None:
        """None: any."""
        return

    @property
    def stages(self) -> int:
        """One series per step."""
        return 1

    @property
    def adaptive(self) -> bool:
        """The series' last terms say how long a step may be."""
        return True

    @property
    def dense_order(self) -> None:
        """The order of the series."""
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

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

from manip_dyn.errors import ManipDynError
from manip_dyn.integrate.control import SCALE, finite_lines
from manip_dyn.integrate.dense import span_lines
from manip_dyn.integrate.method import Method, Options, Pieces, over

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

    def pieces(self, options: Options) -> Pieces:
        """Return the text of a step."""
        size = options.size
        compute = [
            *(_order_lines(size) if options.adaptive else []),
            "rhs(first, y, p, order, scratch, terms)",
            "evaluations += 1",
            "known = 1",
            *finite_lines("terms[order]", size),
            *(_step_lines(size) if options.adaptive else []),
        ]
        # A search for an event sums the same series again.
        prepare = ["if known == 0:", *("    " + line for line in compute)]
        return Pieces(
            rows=1,
            views=["u, terms = work[0], work[1:]", "order = limits.order"],
            prepare=prepare,
            attempt=[
                *over(size, "u[i] = terms[order, i]"),
                "for k in range(order - 1, -1, -1):",
                *("    " + line for line in over(size, "u[i] = u[i] * h + terms[k, i]")),
            ],
            judge=finite_lines("u", size),
            polynomial=[
                "power = 1.0",
                "for k in range(order + 1):",
                *(
                    "    " + line
                    for line in over(size, "polynomials[pieces, k, i] = power * terms[k, i]")
                ),
                "    power *= h",
                "for k in range(order + 1, polynomials.shape[1]):",
                *("    " + line for line in over(size, "polynomials[pieces, k, i] = 0.0")),
                *span_lines(),
            ],
            closing=["known = 0"],
            adapt=[],
            degree=0,
            slope="terms[1, i]",
        )


def _order_lines(size: int) -> list[str]:
    """Return the lines that choose the order of a step by the tolerance that rules.

    `limits` hold the orders for the relative and for the absolute tolerance.
    """
    return [
        "scale = 0.0",
        *over(size, "scale = max(scale, abs(y[i]))"),
        "order = limits.absolute_order",
        *over(
            size,
            "if tolerances[0, i] * scale > tolerances[1, i]:",
            "    order = limits.order",
        ),
    ]


def _step_lines(size: int) -> list[str]:
    """Return the lines that plan a step from the last two terms of a series that are not zero.

    Symmetric motions have series in which terms vanish; looked at alone, the last two would
    then allow any step. Only where the whole upper half vanishes is the motion a polynomial, and
    any step is right. As in the source, the relative tolerance is one of the largest component.
    """
    return [
        "length = largest",
        "row = order",
        "looked = 0",
        "while row > order // 2 - 1 and row > 0 and looked < 2:",
        "    term = 0.0",
        *(
            "    " + line
            for line in over(
                size,
                f"weight = {SCALE.format(magnitude='scale')}",
                "term = max(term, abs(terms[row, i]) / weight)",
            )
        ),
        "    if term > 0.0:",
        "        length = min(length, term ** (-1.0 / row))",
        "        looked += 1",
        "    row -= 1",
        "planned = sign * min(largest, length * exp(-0.7 / (order - 1)))",
        "if abs(planned) < smallest:",
        "    status = STEP_UNDERFLOW",
        "    break",
    ]

"""What an implicit method linearizes: the user's derivatives, or differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError

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

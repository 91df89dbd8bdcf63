"""Butcher tableaus: exact coefficients, their checks, and real stability intervals.

One step of an explicit Runge-Kutta method with s stages (Hairer, Norsett, Wanner, Solving
ODEs I, eq. II.1.8; Galhano (1994), eq. 8 and 10):

    k_i = f(t + c_i h, y + h sum_{j<i} A_ij k_j),   y_new = y + h sum_i b_i k_i

For y' = -r y, a step multiplies y by R(-r h). The stability interval is the range of r h with |R|
<= 1 (Hairer, Wanner, Solving ODEs II, section IV.2).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from manip_dyn.core.errors import ManipDynError

Row = tuple[Fraction, ...]
_ROUNDING = Fraction(1, 10**16)
"""Tolerance for printed coefficients, smaller than the rounding error of floats."""


@dataclass(frozen=True, eq=False)
class Tableau:
    """Coefficients of an explicit Runge-Kutta method with s stages, as exact fractions.

    Tableaus are compared by identity: hashing all fractions would be slow.

    Attributes:
        key: Short name.
        c: Abscissas (s,).
        a: Strictly lower triangular matrix (s, s), by rows.
        b: Weights (s,) of the solution.
        b_hat: Weights (s,) of the embedded solution, or None.
        order: Order of `b`.
        embedded_order: Order of `b_hat`, or None.
        source: Author and year.
        bump: Weights (s,) of the quartic term of the dense output, see `add_bump`, or None.
    """

    key: str
    c: Row
    a: tuple[Row, ...]
    b: Row
    b_hat: Row | None
    order: int
    embedded_order: int | None
    source: str
    bump: Row | None = None

    def __post_init__(self) -> None:
        """Check that the coefficients form an explicit, consistent method."""
        s = len(self.c)
        rows = [*self.a, self.b, *([] if self.b_hat is None else [self.b_hat])]
        faults = {
            "is not square": len(self.a) != s or any(len(row) != s for row in rows),
            "is not explicit": any(any(row[i:]) for i, row in enumerate(self.a)),
            "has rows that do not sum to c": any(
                abs(_sum(row) - c) > _ROUNDING for row, c in zip(self.a, self.c, strict=False)
            ),
            "has weights that do not sum to 1": any(
                abs(_sum(row) - 1) > _ROUNDING for row in rows[len(self.a) :]
            ),
            "has a stage outside of its step": any(not 0 <= c <= 1 for c in self.c),
            "has only one of b_hat and its order": (self.b_hat is None)
            != (self.embedded_order is None),
        }
        for fault, present in faults.items():
            if present:
                raise ManipDynError(f"the tableau '{self.key}' {fault}.")

    @property
    def stages(self) -> int:
        """Number s of stages."""
        return len(self.c)

    @cached_property
    def fsal(self) -> bool:
        """Whether the last stage is the first stage of the next step."""
        return self.stages > 1 and self.c[-1] == 1 and self.a[-1] == self.b

    @cached_property
    def error_weights(self) -> Row | None:
        """Weights b - b_hat (s,) of the local error estimate; None without b_hat."""
        if self.b_hat is None:
            return None
        return tuple(b - b_hat for b, b_hat in zip(self.b, self.b_hat, strict=True))

    def needed(self, *weights: Row | None) -> list[int]:
        """Return the sorted indices of the first stage and of all that weights (s,) require."""
        stages = {i for row in weights if row for i, weight in enumerate(row) if weight}
        for i in reversed(range(self.stages)):
            if i in stages:
                stages |= {j for j, weight in enumerate(self.a[i]) if weight}
        return sorted(stages | {0})


@cache
def tableaus() -> MappingProxyType[str, Tableau]:
    """Return all tableaus of ``tableaus.json`` by key.

    Each entry of the file has the keys ``key``, ``order``, ``embedded_order``, ``c`` (s,), ``A``
    (s, s), ``b`` (s,), ``b_hat`` (s,) and ``source``, see `Tableau`. ``bump`` (s,) is optional.
    ``embedded_order`` and ``b_hat`` are null for a method without an error estimate.

    Coefficients are strings: fractions, or decimals of at least 60 digits if a coefficient is
    irrational. Both are read exactly and converted to floats when a step is compiled.

    Raises:
        ManipDynError: If an entry has missing or unknown keys, or an inconsistent tableau.
    """
    path = Path(__file__).parent / "tableaus.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType({entry["key"]: _tableau(entry) for entry in entries})


_REQUIRED = frozenset(("key", "order", "embedded_order", "c", "A", "b", "b_hat", "source"))
_OPTIONAL = frozenset(("bump",))


def _tableau(entry: dict[str, Any]) -> Tableau:
    missing, unknown = _REQUIRED - entry.keys(), entry.keys() - _REQUIRED - _OPTIONAL
    if missing or unknown:
        raise ManipDynError(
            f"the tableau '{entry.get('key')}' must have the keys {', '.join(sorted(_REQUIRED))} "
            f"and optionally {', '.join(_OPTIONAL)}, got {', '.join(sorted(entry))}."
        )
    embedded = entry["b_hat"]
    return Tableau(
        key=entry["key"],
        c=_row(entry["c"]),
        a=tuple(_row(row) for row in entry["A"]),
        b=_row(entry["b"]),
        b_hat=None if embedded is None else _row(embedded),
        order=entry["order"],
        embedded_order=entry["embedded_order"],
        source=entry["source"],
        bump=_row(entry["bump"]) if "bump" in entry else None,
    )


def _row(numbers: list[str]) -> Row:
    return tuple(map(_number, numbers))


_number = cache(Fraction)
"""Cached conversion, because most of the numbers are zeros or repeated."""


def _sum(row: Row) -> Fraction:
    return sum(filter(None, row), Fraction(0))


def euler_trapezoidal(corrections: int = 1) -> Tableau:
    """Return the Euler predictor with n = `corrections` passes of the trapezoidal corrector.

    P(EC)^n: y_1 = y + h f(t, y), then n times y_{i+1} = y + h/2 (f(t, y) + f(t + h, y_i)). Each
    pass adds a stage, so this is a Runge-Kutta method of order 2. One pass, as in Sariyildiz
    (2011), is Heun's method.
    """
    half, one, zero = Fraction(1, 2), Fraction(1), Fraction(0)
    size = corrections + 1
    rows = [(zero,) * size, (one, *(zero,) * (size - 1))]
    for i in range(2, size):
        rows.append(tuple(half if j in (0, i - 1) else zero for j in range(size)))
    return Tableau(
        key="euler_trapezoidal",
        c=(zero, *(one,) * corrections),
        a=tuple(rows),
        b=tuple(half if j in (0, corrections) else zero for j in range(size)),
        b_hat=None,
        order=2,
        embedded_order=None,
        source=f"Euler predictor, {corrections} trapezoidal correction, as Sariyildiz (2011)",
    )


_SLACK = 1e-9
"""Tolerance of |R(-s)| for rounding, because it is 1 at s = 0."""


def growth_polynomial(table: Tableau) -> list[float]:
    """Return the coefficients of R(z) = 1 + sum_k z^k b^T A^(k-1) e, lowest first.

    The vector e contains ones.
    """
    coefficients, powers = [1.0], [Fraction(1)] * table.stages
    for _ in range(table.stages):
        coefficients.append(float(sum(b * x for b, x in zip(table.b, powers, strict=True))))
        powers = [
            sum((a * x for a, x in zip(row, powers, strict=True)), Fraction(0)) for row in table.a
        ]
    return coefficients


def stability_interval(coefficients: Sequence[float]) -> float:
    """Return the largest x <= 100 such that |R(-s)| <= 1 for 0 <= s <= x.

    Args:
        coefficients: Coefficients of the polynomial R, lowest first.
    """
    growth = Polynomial(coefficients)
    return first_growth(lambda s: abs(growth(-s)))


def first_growth(growth: Callable[[float], float], longest: float = 100.0) -> float:
    """Return the first s > 0 at which growth(s) exceeds 1, or `longest`; scan in steps of 0.01."""
    before = 0.0
    for s in np.arange(0.01, longest, 0.01):
        if growth(s) > 1.0 + _SLACK:
            from scipy.optimize import brentq  # slow to import

            return float(brentq(lambda x: growth(x) - 1.0 - _SLACK, before, s))
        before = float(s)
    return longest

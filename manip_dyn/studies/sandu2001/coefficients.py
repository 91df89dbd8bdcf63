"""Claims about order, stability and digits of the printed coefficients, in exact arithmetic.

The exact coefficients solve eq. 36 to 42 for the printed gamma; see `order_four`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from manip_dyn.integration import METHODS
from manip_dyn.integration.methods.rosenbrock_tableaus import RosenbrockTableau, order_four
from manip_dyn.studies.report.claims import Claim, Evidence
from manip_dyn.studies.sandu2001.findings import PUBLISHED

RESIDUAL, DIGITS, DOUBLE = 1e-21, 1e-24, 1e-16
"""Largest residual of a condition; relative errors of 25 digits and of double precision."""
ROUNDING, FOURTEEN = 1e-12, 1e-12
"""Rounding error of |R|, where R is the stability function; largest residual of a condition with
14 printed decimals."""
HALF_DIGIT = Fraction(5, 10**9)
"""Half a unit of gamma's last printed digit."""
FREQUENCIES = np.logspace(-2, 6, 81)
"""Values of y at which |R(i y)| is computed for the stability function R."""


class Printed(NamedTuple):
    """Coefficients of the first-order form: alpha (4, 4), gamma (4, 4), b (4,) and b_hat (4,)."""

    alpha: list[list[Fraction]]
    gamma: list[list[Fraction]]
    b: list[Fraction]
    b_hat: list[Fraction]


def claims() -> list[Claim]:
    """Return the claims about the printed coefficients."""
    exact, corrected = order_four(), printed(negative=True)
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "order",
            "residuals of eqs. 36a to 36h, and of 36a to 36d for the embedded formula, with "
            f"the printed coefficients; at most {RESIDUAL:g}",
            _small(_both_orders(printed())),
        ),
        (
            "order",
            "residuals of the same conditions with the sign of gamma_21 corrected; at most "
            f"{RESIDUAL:g}",
            _small(_both_orders(corrected)),
        ),
        (
            "order 5",
            "residuals of the conditions behind eqs. 40 and 41, gamma_21 corrected; at most "
            f"{RESIDUAL:g}",
            _small(fifth_order(corrected)),
        ),
        (
            "l-stable",
            "|R(z)| of the stability function at infinity / its change for half a unit of the "
            "last digit of gamma; at most 1",
            [_at_infinity()],
        ),
        ("l-stable", "largest |R(z)| on the imaginary axis; at most 1", [_on_the_axis(exact)]),
        (
            "digits",
            f"relative difference from the exact coefficient; at most {DIGITS:g}, 25 digits",
            _differences(exact, DIGITS),
        ),
        (
            "digits",
            f"relative difference from the exact coefficient; at most {DOUBLE:g}, double "
            "precision",
            _differences(exact, DOUBLE),
        ),
        (
            "three evaluations",
            "evaluations of the formula; 3",
            [Evidence("rosenbrock_nystrom", _stages(), _stages() == 3)],
        ),
        (
            "w-method",
            "residuals of the conditions of order 2 with any matrix as the Jacobian, with the "
            f"printed coefficients; at most {FOURTEEN:g}",
            _small(of_w_method(), FOURTEEN),
        ),
    ]
    return [Claim(key, measure, tuple(cases)) for key, measure, cases in measures]


def printed(negative: bool = False) -> Printed:
    """Return the printed coefficients. With `negative`, the sign of gamma_21 is reversed."""
    printed = {name: Fraction(text) for name, text in PUBLISHED["coefficients"].items()}
    if negative:
        printed["gamma_21"] = -printed["gamma_21"]
    four = range(1, 5)
    zero = Fraction(0)
    alpha, gamma = (
        [[printed[f"{name}_{i}{j}"] if j < i else zero for j in four] for i in four]
        for name in ("alpha", "gamma")
    )
    for i in range(4):
        gamma[i][i] = printed["gamma"]
    b, b_hat = ([printed[f"{name}_{i}"] for i in four] for name in ("b", "b_hat"))
    return Printed(alpha, gamma, b, b_hat)


def conditions(c: Printed, b: list[Fraction]) -> dict[str, Fraction]:
    """Return the residuals of eq. 36a to 36h for the weights `b` (4,)."""
    beta, inner, nodes = _sums(c)
    g, s = c.gamma[0][0], range(4)
    below = [(i, j) for i in s for j in range(i)]
    return {
        "36a": sum(b) - Fraction(1),
        "36b": _dot(b, inner) - (Fraction(1, 2) - g),
        "36c": _dot(b, [a**2 for a in nodes]) - Fraction(1, 3),
        "36d": sum(b[i] * beta[i][j] * inner[j] for i, j in below) - (Fraction(1, 6) - g + g**2),
        "36e": _dot(b, [a**3 for a in nodes]) - Fraction(1, 4),
        "36f": sum(b[i] * nodes[i] * c.alpha[i][j] * inner[j] for i, j in below)
        - (Fraction(1, 8) - g / 3),
        "36g": sum(b[i] * beta[i][j] * nodes[j] ** 2 for i, j in below)
        - (Fraction(1, 12) - g / 3),
        "36h": b[3] * beta[3][2] * beta[2][1] * inner[1]
        - (Fraction(1, 24) - g / 2 + Fraction(3, 2) * g**2 - g**3),
    }


def fifth_order(c: Printed) -> dict[str, Fraction]:
    """Return the residuals of the two order-5 conditions behind eqs. 40 and 41."""
    beta, _, nodes = _sums(c)
    chained = sum(c.b[i] * beta[i][j] * nodes[j] ** 3 for i in range(4) for j in range(i))
    return {
        "40": _dot(c.b, [a**4 for a in nodes]) - Fraction(1, 5),
        "41": chained - (Fraction(1, 20) - c.gamma[0][0] / 4),
    }


def of_w_method() -> dict[str, Fraction]:
    """Return the residuals of the conditions of order 2 that hold for any matrix.

    They are conditions on the sums of b_i, b_i alpha_i and b_i gamma_i (Hairer, Wanner, Solving
    ODEs II, section IV.7). The printed a, c and m belong to the transformed stages, for which
    gamma^-1 has the entries -c below its diagonal.
    """
    printed = {name: Fraction(text) for name, text in PUBLISHED["w_coefficients"].items()}
    g = printed["gamma"]
    below = g * g * printed["c_21"]
    b = (printed["m_1"] * g + printed["m_2"] * below, printed["m_2"] * g)
    return {
        "b": sum(b) - Fraction(1),
        "b alpha": b[1] * printed["a_21"] * g - Fraction(1, 2),
        "b gamma": sum(b) * g + b[1] * below,
    }


def at_infinity(table: RosenbrockTableau) -> Fraction:
    """Return the stability function at infinity, computed by forward substitution.

    It is 1 - b . (alpha + gamma)^-1 (1, 1, 1, 1).
    """
    beta = _sums(_listed(table))[0]
    x: list[Fraction] = []
    for i, row in enumerate(beta):
        x.append((1 - sum((row[j] * x[j] for j in range(i)), Fraction(0))) / row[i])
    return 1 - _dot(list(table.b), x)


def _at_infinity() -> Evidence:
    gamma = Fraction(PUBLISHED["coefficients"]["gamma"])
    limit, beside = (at_infinity(order_four(g)) for g in (gamma, gamma + HALF_DIGIT))
    ratio = float(abs(limit) / abs(beside - limit))
    return Evidence(f"R = {float(limit):.2g}", ratio, ratio <= 1.0)


def _on_the_axis(table: RosenbrockTableau) -> Evidence:
    """Return the largest |R(i y)| = |1 + i y b (I - i y (alpha + gamma))^-1 1|."""
    beta = np.array([[float(x) for x in row] for row in _sums(_listed(table))[0]])
    b, one = np.array([float(x) for x in table.b]), np.ones(4)
    growth = [
        abs(1.0 + 1j * y * b @ np.linalg.solve(np.eye(4) - 1j * y * beta, one))
        for y in FREQUENCIES
    ]
    most = float(max(growth))
    return Evidence("main formula", most, most <= 1.0 + ROUNDING)


def _differences(exact: RosenbrockTableau, most: float) -> Iterable[Evidence]:
    """Yield the relative errors of the printed coefficients, except gamma and exact zeros."""
    for name, text in PUBLISHED["coefficients"].items():
        if name != "gamma" and (value := _exact(exact, name)) != 0:
            off = float(abs(Fraction(text) / value - 1))
            yield Evidence(name, off, off <= most)


def _exact(t: RosenbrockTableau, name: str) -> Fraction:
    """Return a coefficient by its printed name, such as alpha_21 or mu_hat_3."""
    symbol, _, index = name.rpartition("_")
    if len(index) == 2:
        matrix = getattr(t, symbol)
        return matrix[int(index[0]) - 1][int(index[1]) - 1]
    rows = {
        "gamma": t.gamma_sums,
        "a": t.alpha_sums,
        "b": t.b,
        "b_hat": t.b_hat,
        "m": t.weights(t.b),
        "m_hat": t.weights(t.b_hat),
        "mu": t.position_weights(t.b),
        "mu_hat": t.position_weights(t.b_hat),
    }
    return rows[symbol][int(index) - 1]


def _both_orders(c: Printed) -> dict[str, Fraction]:
    embedded = list(conditions(c, c.b_hat).items())[:4]
    return conditions(c, c.b) | {f"{name}, embedded": left for name, left in embedded}


def _small(residuals: dict[str, Fraction], most: float = RESIDUAL) -> Iterable[Evidence]:
    for name, left in residuals.items():
        size = float(abs(left))
        yield Evidence(name, size, size <= most)


def _sums(c: Printed) -> tuple[list[list[Fraction]], list[Fraction], list[Fraction]]:
    """Return beta = alpha + gamma, its row sums below the diagonal, and the row sums of alpha."""
    beta = [[a + g for a, g in zip(*rows, strict=True)] for rows in zip(c[0], c[1], strict=True)]
    inner = [sum(row[:i], Fraction(0)) for i, row in enumerate(beta)]
    return beta, inner, [sum(row, Fraction(0)) for row in c.alpha]


def _listed(t: RosenbrockTableau) -> Printed:
    return Printed(
        [list(row) for row in t.alpha], [list(row) for row in t.gamma], list(t.b), list(t.b_hat)
    )


def _dot(b: list[Fraction], x: list[Fraction]) -> Fraction:
    return sum((u * v for u, v in zip(b, x, strict=True)), Fraction(0))


def _stages() -> int:
    return METHODS["rosenbrock_nystrom"].stages

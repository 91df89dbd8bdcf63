"""Dense output: a polynomial over every step, and the motion between the steps from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manip_dyn.integrate.method import combination, over
from manip_dyn.validate import Vector


@dataclass(frozen=True)
class DenseOutput:
    """Piecewise polynomials y(t_k + theta h_k) = sum_j c_kj theta^j, 0 <= theta <= 1.

    Attributes:
        spans: Start t_k and length h_k of each of n steps (n, 2), s.
        coefficients: c (n, degree + 1, m).
    """

    spans: Vector
    coefficients: Vector

    def __call__(self, t: Vector) -> Vector:
        """Return the states (..., m) at times t (...); beyond the ends the end pieces go on."""
        starts = self.spans[:, 0]
        sign = -1.0 if self.spans[0, 1] < 0.0 else 1.0
        piece = np.searchsorted(sign * starts, sign * t, side="right") - 1
        piece = np.clip(piece, 0, len(starts) - 1)
        theta = ((t - starts[piece]) / self.spans[piece, 1])[..., np.newaxis]
        value = self.coefficients[piece, -1]
        for j in reversed(range(self.coefficients.shape[1] - 1)):
            value = value * theta + self.coefficients[piece, j]
        return value


def hermite_lines(size: int, end: str, bump: Sequence[float], stages: Sequence[str]) -> list[str]:
    """Return the lines that fill the polynomial of a step from states and derivatives.

    The cubic Hermite polynomial of y, u and their derivatives k0 and `end` is of order 3 in
    its degree, so exact to O(h^4). With weights `bump` (s,) of the stages a term
    h theta^2 (1 - theta)^2 sum_i bump_i k_i makes it the quartic of Dormand and Prince's pair
    (Hairer, Norsett, Wanner, Solving ODEs I, section II.6, after Shampine).
    """
    rise = [
        "polynomials[pieces, 0, i] = y[i]",
        "polynomials[pieces, 1, i] = h * k0[i]",
        f"polynomials[pieces, 2, i] = 3.0 * (u[i] - y[i]) - h * (2.0 * k0[i] + {end}[i])",
        f"polynomials[pieces, 3, i] = h * (k0[i] + {end}[i]) - 2.0 * (u[i] - y[i])",
    ]
    if any(bump):
        rise += [
            f"quartic = h * ({combination(bump, stages)})",
            "polynomials[pieces, 2, i] += quartic",
            "polynomials[pieces, 3, i] -= 2.0 * quartic",
            "polynomials[pieces, 4, i] = quartic",
        ]
    return [*over(size, *rise), *span_lines()]


def span_lines() -> list[str]:
    """Return the lines that finish the record of a step's polynomial."""
    return ["spans[pieces, 0] = t", "spans[pieces, 1] = h", "pieces += 1"]

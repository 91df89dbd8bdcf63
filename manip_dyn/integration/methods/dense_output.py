"""Dense output: one interpolating polynomial per step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.core.checks import Array, Matrix, Tensor, Vector
from manip_dyn.core.compiled import inlined


@dataclass(frozen=True)
class DenseOutput:
    """Piecewise polynomials y(t_k + theta h_k) = sum_j c_kj theta^j for 0 <= theta <= 1.

    Attributes:
        spans: Start t_k and length h_k of each step (n, 2), s.
        coefficients: Coefficients c (n, degree + 1, m).
    """

    spans: Matrix
    coefficients: Tensor

    def __call__(self, t: Vector) -> Array:
        """Return the states (..., m) at times `t` (...), s; extrapolate outside the steps."""
        starts = self.spans[:, 0]
        sign = -1.0 if self.spans[0, 1] < 0.0 else 1.0
        piece = np.searchsorted(sign * starts, sign * t, side="right") - 1
        piece = np.clip(piece, 0, len(starts) - 1)
        theta = ((t - starts[piece]) / self.spans[piece, 1])[..., np.newaxis]
        value = self.coefficients[piece, -1]
        for j in reversed(range(self.coefficients.shape[1] - 1)):
            value = value * theta + self.coefficients[piece, j]
        return value


@inlined(always=True, counted=False)
def fill_hermite(now, polynomials, y, u, start, end, size):
    """Write the cubic Hermite polynomial of a step from y to u; its error is O(h^4)."""
    h, k = now.h, now.pieces
    for i in range(size):
        polynomials[k, 0, i] = y[i]
        polynomials[k, 1, i] = h * start[i]
        polynomials[k, 2, i] = 3.0 * (u[i] - y[i]) - h * (2.0 * start[i] + end[i])
        polynomials[k, 3, i] = h * (start[i] + end[i]) - 2.0 * (u[i] - y[i])


@inlined(always=True, counted=False)
def add_bump(now, polynomials, bump, size):
    """Add theta^2 (1 - theta)^2 times `bump` (size,) to a cubic polynomial.

    `bump` is h times a weighted sum of stages. For the pair of Dormand and Prince, the result is
    Shampine's quartic (Hairer, Norsett, Wanner, Solving ODEs I, section II.6).
    """
    k = now.pieces
    for i in range(size):
        polynomials[k, 2, i] += bump[i]
        polynomials[k, 3, i] -= 2.0 * bump[i]
        polynomials[k, 4, i] = bump[i]


@inlined(always=True, counted=False)
def finish_piece(now, spans):
    """Store the start and length of the step, and increment the polynomial count."""
    spans[now.pieces, 0] = now.t
    spans[now.pieces, 1] = now.h
    now.pieces += 1

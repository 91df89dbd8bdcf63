"""Banded Cholesky factorization in double and double-double precision.

A double-double number is the unevaluated sum of a high and a low double (Dekker 1971, A
floating-point technique for extending the available precision). On fine grids a linear system for
positions has a condition number above 1e16. It contains squares of second differences, so a smooth
change has no more effect than the rounding error of a single node.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numba.extending import intrinsic

from manip_dyn.core.compiled import PLAIN, compiled, inlined


@compiled(short=True, python=False, counted=False)
def cholesky(band):
    """Factorize a matrix in place from its lower band; return whether it is positive definite."""
    size, wide = band.shape
    for r in range(size):
        for c in range(max(0, r - wide + 1), r + 1):
            total = band[r, r - c]
            for e in range(max(0, r - wide + 1, c - wide + 1), c):
                total -= band[r, r - e] * band[c, c - e]
            if r == c:
                if not total > 0.0:
                    return False
                band[r, 0] = total**0.5
            else:
                band[r, r - c] = total / band[c, 0]
    return True


@compiled(short=True, python=False, counted=False)
def cholesky_solve(band, x, y):
    """Solve for two right-hand sides (k,) in place; their divisions run in parallel."""
    size, wide = band.shape
    for r in range(size):
        x_r, y_r = x[r], y[r]
        for c in range(max(0, r - wide + 1), r):
            element = band[r, r - c]
            x_r -= element * x[c]
            y_r -= element * y[c]
        x[r], y[r] = x_r / band[r, 0], y_r / band[r, 0]
    for r in range(size - 1, -1, -1):
        x_r, y_r = x[r], y[r]
        for c in range(r + 1, min(size, r + wide)):
            element = band[c, c - r]
            x_r -= element * x[c]
            y_r -= element * y[c]
        x[r], y[r] = x_r / band[r, 0], y_r / band[r, 0]


@intrinsic
def _fused(_context, a, b, c):
    def generate(_context, builder, _signature, values):
        return builder.fma(*values)

    return c(a, b, c), generate


def _fused_in_python(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


fused_multiply_add: Any = _fused_in_python if PLAIN else _fused
"""``fused_multiply_add(a, b, c)``: return a b + c with one rounding."""


@inlined(always=True)
def add_double(high, low, more, rest):
    """Return the sum of two double-double numbers."""
    total = high + more
    gained = total - high
    error = (high - (total - gained)) + (more - gained) + (low + rest)
    whole = total + error
    return whole, error - (whole - total)


@inlined(always=True)
def subtract_product(high, low, a, a_low, b, b_low):
    """Return a double-double number minus the product of two others."""
    product = a * b
    error = fused_multiply_add(a, b, -product) + (a * b_low + a_low * b)
    return add_double(high, low, -product, -error)


@inlined(always=True)
def divide_double(high, low, a, a_low):
    """Return the quotient of two double-double numbers."""
    first = high / a
    rest, rest_low = subtract_product(high, low, first, 0.0, a, a_low)
    return add_double(first, 0.0, (rest + rest_low) / a, 0.0)


@compiled(short=True)
def double_cholesky(band, low):
    """Factorize a matrix in place from its lower band; return whether it is positive definite."""
    size, wide = band.shape
    for r in range(size):
        for c in range(max(0, r - wide + 1), r + 1):
            total, rest = band[r, r - c], low[r, r - c]
            for e in range(max(0, r - wide + 1, c - wide + 1), c):
                total, rest = subtract_product(
                    total, rest, band[r, r - e], low[r, r - e], band[c, c - e], low[c, c - e]
                )
            if r == c:
                if not total > 0.0:
                    return False
                root = total**0.5
                left, _ = subtract_product(total, rest, root, 0.0, root, 0.0)
                band[r, 0], low[r, 0] = add_double(root, 0.0, 0.5 * left / root, 0.0)
            else:
                band[r, r - c], low[r, r - c] = divide_double(total, rest, band[c, 0], low[c, 0])
    return True


@compiled(short=True)
def double_cholesky_solve(band, low, x, x_low):
    """Solve for a right-hand side (k,) in place, with its low words."""
    size, wide = band.shape
    for r in range(size):
        total, rest = x[r], 0.0
        for c in range(max(0, r - wide + 1), r):
            total, rest = subtract_product(
                total, rest, band[r, r - c], low[r, r - c], x[c], x_low[c]
            )
        x[r], x_low[r] = divide_double(total, rest, band[r, 0], low[r, 0])
    for r in range(size - 1, -1, -1):
        total, rest = x[r], x_low[r]
        for c in range(r + 1, min(size, r + wide)):
            total, rest = subtract_product(
                total, rest, band[c, c - r], low[c, c - r], x[c], x_low[c]
            )
        x[r], x_low[r] = divide_double(total, rest, band[r, 0], low[r, 0])

"""Banded Cholesky factorization in numbers of twice the precision.

Each is the unevaluated sum of two, a high and a low one (Dekker 1971, A floating-point technique
for extending the available precision). On fine grids a system of positions has a condition of more
than 1e16: second differences are squared in it, so that a smooth change counts for as little
as the rounding of what a single node counts for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numba.extending import intrinsic

from manip_dyn.core.compiled import PLAIN, compiled, inlined


@intrinsic
def _fused(_context, a, b, c):
    def generate(_context, builder, _signature, values):
        return builder.fma(*values)

    return c(a, b, c), generate


def _fused_in_python(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


fused: Any = _fused_in_python if PLAIN else _fused
"""a b + c, rounded once."""


@inlined(always=True)
def added(high, low, more, rest):
    """Return the sum of two, each as a high and a low part."""
    total = high + more
    gained = total - high
    error = (high - (total - gained)) + (more - gained) + (low + rest)
    whole = total + error
    return whole, error - (whole - total)


@inlined(always=True)
def less_product(high, low, a, a_low, b, b_low):
    """Return one less the product of two others."""
    product = a * b
    error = fused(a, b, -product) + (a * b_low + a_low * b)
    return added(high, low, -product, -error)


@inlined(always=True)
def quotient(high, low, a, a_low):
    """Return one over another."""
    first = high / a
    rest, rest_low = less_product(high, low, first, 0.0, a, a_low)
    return added(first, 0.0, (rest + rest_low) / a, 0.0)


@compiled(short=True)
def factorized_doubled(band, low):
    """Write the Cholesky factor of a matrix over its lower band; return whether there is one."""
    size, wide = band.shape
    for r in range(size):
        for c in range(max(0, r - wide + 1), r + 1):
            total, rest = band[r, r - c], low[r, r - c]
            for e in range(max(0, r - wide + 1, c - wide + 1), c):
                total, rest = less_product(
                    total, rest, band[r, r - e], low[r, r - e], band[c, c - e], low[c, c - e]
                )
            if r == c:
                if not total > 0.0:
                    return False
                root = total**0.5
                left, _ = less_product(total, rest, root, 0.0, root, 0.0)
                band[r, 0], low[r, 0] = added(root, 0.0, 0.5 * left / root, 0.0)
            else:
                band[r, r - c], low[r, r - c] = quotient(total, rest, band[c, 0], low[c, 0])
    return True


@compiled(short=True)
def back_substituted_doubled(band, low, x, x_low):
    """Write the solution over the right-hand side (k,), and its low parts."""
    size, wide = band.shape
    for r in range(size):
        total, rest = x[r], 0.0
        for c in range(max(0, r - wide + 1), r):
            total, rest = less_product(total, rest, band[r, r - c], low[r, r - c], x[c], x_low[c])
        x[r], x_low[r] = quotient(total, rest, band[r, 0], low[r, 0])
    for r in range(size - 1, -1, -1):
        total, rest = x[r], x_low[r]
        for c in range(r + 1, min(size, r + wide)):
            total, rest = less_product(total, rest, band[c, c - r], low[c, c - r], x[c], x_low[c])
        x[r], x_low[r] = quotient(total, rest, band[r, 0], low[r, 0])

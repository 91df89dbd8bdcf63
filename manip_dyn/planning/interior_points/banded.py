"""Linear systems with a symmetric positive definite matrix in a narrow band (Cholesky)."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled


@compiled(short=True, python=False, counted=False)
def factorized(band):
    """Write the Cholesky factor of a matrix over its lower band; return whether there is one."""
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
def back_substituted(band, x, y):
    """Write the solutions over two right-hand sides (k,): their divisions overlap."""
    size, wide = band.shape
    for r in range(size):
        one, other = x[r], y[r]
        for c in range(max(0, r - wide + 1), r):
            element = band[r, r - c]
            one -= element * x[c]
            other -= element * y[c]
        x[r], y[r] = one / band[r, 0], other / band[r, 0]
    for r in range(size - 1, -1, -1):
        one, other = x[r], y[r]
        for c in range(r + 1, min(size, r + wide)):
            element = band[c, c - r]
            one -= element * x[c]
            other -= element * y[c]
        x[r], y[r] = one / band[r, 0], other / band[r, 0]

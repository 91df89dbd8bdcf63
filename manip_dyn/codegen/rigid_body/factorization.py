"""M = L^T D L for the mass matrix of a tree, and what it solves; over any scalar.

L is unit lower triangular with entries only where k's column meets an ancestor of k.
Featherstone (2005), Efficient factorization of the joint-space inertia matrix for branched
kinematic trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Matrix = list[list[Any]]


class Factors(NamedTuple):
    """L below its diagonal, (n, n); 1/D, (n,); the ancestors of each joint, nearest first."""

    lower: Matrix
    inverse: list[Any]
    ancestors: list[list[int]]


def factorized(mass: Sequence[Sequence[Any]], parents: Sequence[int]) -> Factors:
    """Return the factors of a mass matrix (n, n)."""
    n = len(parents)
    rest = [list(row) for row in mass]
    lower: Matrix = [[0.0] * n for _ in range(n)]
    inverse: list[Any] = [None] * n
    ancestors = [_ancestors(parents, k) for k in range(n)]
    for k in reversed(range(n)):
        inverse[k] = 1.0 / rest[k][k]
        for place, i in enumerate(ancestors[k]):
            lower[k][i] = rest[k][i] * inverse[k]
            for j in ancestors[k][place:]:
                rest[i][j] = rest[i][j] - lower[k][i] * rest[k][j]
    return Factors(lower, inverse, ancestors)


def solved(factors: Factors, right: Sequence[Any]) -> list[Any]:
    """Return M^-1 right, (n,)."""
    lower, inverse, ancestors = factors
    x = list(right)
    for k in reversed(range(len(x))):
        for i in ancestors[k]:
            x[i] = x[i] - lower[k][i] * x[k]
    x = [a * b for a, b in zip(x, inverse, strict=True)]
    for k in range(len(x)):
        for i in ancestors[k]:
            x[k] = x[k] - lower[k][i] * x[i]
    return x


def inverted(factors: Factors) -> Matrix:
    """Return M^-1 = L^-1 D^-1 L^-T, (n, n)."""
    lower, inverse, ancestors = factors
    n = len(inverse)
    left: Matrix = [[0.0] * n for _ in range(n)]
    for k in range(n):
        left[k][k] = 1.0
        for i in ancestors[k]:
            for j in [i, *ancestors[i]]:
                left[k][j] = left[k][j] - lower[k][i] * left[i][j]
    result: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            common = [k for k in [j, *ancestors[j]] if k in [i, *ancestors[i]]]
            for k in common:
                share = left[j][k] * inverse[k]
                result[i][j] = result[i][j] + left[i][k] * share
            result[j][i] = result[i][j]
    return result


def _ancestors(parents: Sequence[int], k: int) -> list[int]:
    above = []
    while parents[k] >= 0:
        k = parents[k]
        above.append(k)
    return above

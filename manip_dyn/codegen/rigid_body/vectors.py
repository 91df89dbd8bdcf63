"""Three-dimensional vector algebra over any scalar (floats or expressions), with lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector3 = list[Any]
Matrix3 = list[list[Any]]


def add(*vectors: Sequence[Any]) -> Vector3:
    """Return the sum of vectors."""
    total = list(vectors[0])
    for vector in vectors[1:]:
        total = [a + b for a, b in zip(total, vector, strict=True)]
    return total


def subtract(a: Sequence[Any], b: Sequence[Any]) -> Vector3:
    """Return a - b."""
    return [x - y for x, y in zip(a, b, strict=True)]


def scale(factor: Any, a: Sequence[Any]) -> Vector3:
    """Return factor * a."""
    return [factor * x for x in a]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the inner product."""
    return sum((x * y for x, y in zip(a[1:], b[1:], strict=True)), a[0] * b[0])


def cross(a: Sequence[Any], b: Sequence[Any]) -> Vector3:
    """Return the vector product."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def skew(a: Sequence[Any]) -> Matrix3:
    """Return the matrix of the vector product with `a`."""
    zero = 0.0 * a[0]
    return [[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]]


def times(matrix: Sequence[Sequence[Any]], a: Sequence[Any]) -> Vector3:
    """Return matrix * a."""
    return [dot(row, a) for row in matrix]


def transposed(matrix: Sequence[Sequence[Any]]) -> Matrix3:
    """Return the transpose."""
    return [list(column) for column in zip(*matrix, strict=True)]


def product(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]]) -> Matrix3:
    """Return the matrix product."""
    columns = transposed(b)
    return [[dot(row, column) for column in columns] for row in a]


def add_matrices(*matrices: Sequence[Sequence[Any]]) -> Matrix3:
    """Return the sum of matrices."""
    return [add(*rows) for rows in zip(*matrices, strict=True)]


def mirrored(matrix: Sequence[Sequence[Any]]) -> Matrix3:
    """Return the symmetric matrix with the upper triangle of `matrix`."""
    return [[matrix[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]


def about_z(c: Any, s: Any, a: Sequence[Any]) -> Vector3:
    """Return `a` rotated about z by the angle with cosine c and sine s."""
    return [c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]]


def matrix_about_z(c: Any, s: Any, m: Sequence[Sequence[Any]]) -> Matrix3:
    """Return R m R^T for the rotation R about z by the angle with cosine c and sine s.

    The trace and the antisymmetric part of the block (x, y) are invariant; the rest of the block
    rotates by twice the angle. A symmetric `m` takes 19 operations, any other 26.
    """
    along, across = m[0][0] - m[1][1], m[0][1] + m[1][0]
    first, second = s * along + c * across, c * along - s * across
    lost, gained = s * first, s * second
    right = about_z(c, s, [m[0][2], m[1][2], m[2][2]])
    below = about_z(c, s, [m[2][0], m[2][1], m[2][2]])
    return [
        [m[0][0] - lost, m[0][1] + gained, right[0]],
        [m[1][0] + gained, m[1][1] + lost, right[1]],
        [below[0], below[1], m[2][2]],
    ]

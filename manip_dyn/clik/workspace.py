"""The scratch memory of the CLIK law: one flat array, its parts by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.clik.pose import INLINE
from manip_dyn.validate import Vector

_untyped: Any = intrinsic  # whose calls have one argument less than its definition


class Task(NamedTuple):
    """What the law works with; n joints, six rows of the task.

    Attributes:
        jacobian: J times `freedom`, without the rows that are not controlled (6, n).
        rows: The same, decomposed in place (6, n).
        square: J J^T (6, 6).
        factor: Its Cholesky factor (6, 6).
        basis: Left singular vectors as columns (6, 6).
        values: Singular values (6,), falling; of the last decomposition.
        error: Error of the pose (6,).
        twist: Wanted twist: twist_d + K e (6,).
        rest: What of it the joints have to add to the null-space motion, and solution (6,).
        wish: Null-space velocity that is wanted (n,).
        null: The same with what leads out of a singularity (n,).
        freedom: 1 / sqrt(weight) of the joints, 0 where one is held at its limit (n,).
        held: 1 for joints held at their limits, 0 for others (n,).
        report: See the indices below (4,).
        lost: The direction that a singularity takes away (6,).
        speeds: Eigenvalues of the escape (n,).
    """

    jacobian: Any
    rows: Any
    square: Any
    factor: Any
    basis: Any
    values: Any
    error: Any
    twist: Any
    rest: Any
    wish: Any
    null: Any
    freedom: Any
    held: Any
    report: Any
    lost: Any
    speeds: Any


SCALE, DAMPED, ESCAPING = range(3)
"""Indices of `report`: speed scale, largest damping used, joint speed of the escape."""
FIXED = 142
"""How many numbers do not depend on n."""


def workspace(n: int) -> Vector:
    """Return the scratch memory for n joints."""
    return np.zeros(FIXED + 17 * n + 3 * n * n)


@_untyped
def matrix_of(_context, work, first, rows, columns):
    """Return (rows, columns) numbers of `work` from `first` on, which `work` has to outlive.

    Unlike a slice it does not own the memory: numba would count references to every part of the
    workspace, atomically, which takes longer than the whole law.
    """
    return types.float64[:, ::1](work, first, rows, columns), _part


@_untyped
def vector_of(_context, work, first, size):
    """Return `size` numbers of `work` from `first` on, as `matrix_of` does."""
    return types.float64[::1](work, first, size), _part


def _part(context, builder, signature, values):
    """Emit the array of the signature's type that begins at a place of another one."""
    source, *numbers = values
    start, *shape = (
        context.cast(builder, number, kind, types.intp)
        for number, kind in zip(numbers, signature.args[1:], strict=True)
    )
    whole = arrayobj.make_array(signature.args[0])(context, builder, source)
    part = arrayobj.make_array(signature.return_type)(context, builder)
    eight = context.get_constant(types.intp, 8)
    strides = [eight]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(extent, strides[0]))
    arrayobj.populate_array(
        part,
        data=builder.gep(whole.data, [start]),
        shape=shape,
        strides=strides,
        itemsize=eight,
        meminfo=None,
    )
    return part._getvalue()


@numba.njit(**INLINE)
def task_of(work, n):
    """Return the parts of `work` as a `Task`; `work` has to outlive it."""
    vectors = FIXED + 12 * n
    return Task(
        matrix_of(work, FIXED, 6, n),
        matrix_of(work, FIXED + 6 * n, 6, n),
        matrix_of(work, 0, 6, 6),
        matrix_of(work, 36, 6, 6),
        matrix_of(work, 72, 6, 6),
        vector_of(work, 108, 6),
        vector_of(work, 114, 6),
        vector_of(work, 120, 6),
        vector_of(work, 126, 6),
        vector_of(work, vectors, n),
        vector_of(work, vectors + n, n),
        vector_of(work, vectors + 2 * n, n),
        vector_of(work, vectors + 3 * n, n),
        vector_of(work, 132, 4),
        vector_of(work, 136, 6),
        vector_of(work, vectors + 4 * n, n),
    )


@numba.njit(**INLINE)
def squares_of(work, n):
    """Return three more matrices (n, n) of `work`."""
    first, size = FIXED + 17 * n, n * n
    return (
        matrix_of(work, first, n, n),
        matrix_of(work, first + size, n, n),
        matrix_of(work, first + 2 * size, n, n),
    )

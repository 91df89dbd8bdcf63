"""Kernels for many states: checked arrays with one column per state, on one or more threads.

A compiled function checks the numbers and calls the kernel by address. It does not depend on the
robot. Arrays that are already C-contiguous float64 are not copied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from inspect import Parameter
from typing import Any

import numpy as np
from numba import types

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.codegen.interfaces import InPlace, described_arguments, set_signature
from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    BY_NAME,
    Declaration,
    argument_size,
)
from manip_dyn.core.arrays import MATRIX, address_for, call_writing, part, row
from manip_dyn.core.checks import Vector, finite_array
from manip_dyn.core.compiled import STOCK, compiled, inlined
from manip_dyn.core.errors import ManipDynError

FLOAT = np.dtype(np.float64)


def _describe(function: Any, name: str, in_place: InPlace, owner: str) -> None:
    """Set the name, signature and docstring of a kernel for a batch of states."""
    options = {"out": None, "threads": 1}
    keywords = [Parameter(key, Parameter.KEYWORD_ONLY, default=options[key]) for key in options]
    set_signature(function, name, owner, keywords)
    function.__doc__ = (
        f"{in_place.purpose(name)}\n\n"
        "All arrays have an additional last axis with a column per state.\n\n"
        f"{described_arguments(name, in_place.n)}\n"
        "    out: array for the result, C-contiguous float64. Default: a new array.\n"
        "    threads: number of threads that share the columns.\n"
    )


class Batch:
    """All kernels as attributes, for checked arrays with one column per state.

    ``batch.forward_dynamics(q, v, tau)`` accepts arrays (n, m) of m states and returns (n, m);
    matrices are returned as (rows, columns, m). ``threads=2`` divides the columns between two
    threads. ``out=array`` writes the result into an existing array, which is returned.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Initialize with the jitted kernels of a robot with n joints."""
        self._in_place = in_place
        self._n = n

    def __repr__(self) -> str:
        """Return the name of the robot and its number of joints."""
        return repr(self._in_place).replace("InPlace", "Batch")

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return the batched form of a kernel."""
        declaration = BY_NAME.get(name)
        if declaration is None:
            raise AttributeError(f"There is no kernel '{name}'.")

        def call(
            *arguments: Any, out: Vector | None = None, threads: int = 1, **named: Any
        ) -> Vector:
            if not named:
                return run(arguments, out, threads)
            unknown = set(named) - set(declaration.arguments[len(arguments) :])
            if unknown:
                raise ManipDynError(
                    f"Arguments of {name} must be {', '.join(declaration.arguments)}, "
                    f"got {', '.join(sorted(unknown))}."
                )
            rest = [named[argument] for argument in declaration.arguments if argument in named]
            return run((*arguments, *rest), out, threads)

        run = self._runner(declaration)
        _describe(call, name, self._in_place, "Batch")
        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        """Return the names of the kernels."""
        return list(BY_NAME)

    def _runner(self, declaration: Declaration) -> Callable[..., Vector]:
        """Return a function of arrays, result array and number of threads."""
        name, shape = declaration.name, declaration.shape(self._n)
        names = declaration.arguments
        sizes = [argument_size(argument, self._n) for argument in names]
        compute: Any = None

        def run(arguments: Sequence[Any], out: Any, threads: int) -> Vector:
            nonlocal compute
            if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
                raise ManipDynError(f"threads must be a positive integer, got {threads!r}.")
            if not _are_plain(arguments, sizes):
                arguments = self._checked(declaration, arguments)
            states = arguments[0].shape[1]
            if out is None:
                out = np.empty((*shape, states))
            else:
                _check_result(out, (*shape, states))
            if compute is None:
                compute = _computing(getattr(self._in_place, name + BATCH), len(names), out.ndim)
            arrays = tuple(arguments)
            if threads == 1:
                valid = compute(arrays, out, 0, states)
            else:
                valid = _compute_in_threads(compute, arrays, out, threads)
            if not valid:
                self._checked(declaration, arguments)
            return out

        return run

    def _checked(self, declaration: Declaration, arguments: Sequence[Any]) -> list[Vector]:
        names = declaration.arguments
        if len(arguments) != len(names):
            raise ManipDynError(
                f"Arguments of {declaration.name} must be {', '.join(names)}, "
                f"got {len(arguments)} array(s)."
            )
        first, size = arguments[0], argument_size(names[0], self._n)
        if np.ndim(first) != 2 or len(first) != size:
            value = f"shape {np.shape(first)}" if np.ndim(first) else f"{first!r}"
            raise ManipDynError(
                f"{names[0]} must have shape ({size}, m) for m states, got {value}."
            )
        states = np.shape(first)[1]
        return [
            finite_array(name, value, (argument_size(name, self._n), states))
            for name, value in zip(names, arguments, strict=True)
        ]


def _are_plain(arguments: Sequence[Any], sizes: Sequence[int]) -> bool:
    """Return whether arguments are writable C-contiguous float64 arrays (size, m)."""
    if len(arguments) != len(sizes):
        return False
    states = -1
    for array, size in zip(arguments, sizes, strict=True):
        if type(array) is not np.ndarray or array.dtype is not FLOAT or array.ndim != 2:
            return False
        rows, columns = array.shape
        if rows != size or (columns != states and states >= 0) or not array.flags.carray:
            return False
        states = columns
    return True


def _check_result(out: Any, shape: tuple[int, ...]) -> None:
    """Raise `ManipDynError` if `out` is not a writable C-contiguous float64 array of `shape`."""
    valid = type(out) is np.ndarray and out.dtype is FLOAT and out.flags.carray
    if not valid or out.shape != shape:
        value = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else repr(out)
        raise ManipDynError(
            f"out must be a writable C-contiguous float64 array of shape {shape}, got {value}."
        )


def _computing(kernel: Any, count: int, axes: int) -> Callable[..., bool]:
    """Return ``compute(arrays, out, first, last)`` for a kernel with `count` arguments.

    It checks and computes columns, and returns whether all numbers are finite. `axes` is the
    number of axes of `out`.
    """
    if STOCK:
        return partial(_compute_in_python, kernel)
    out = types.Array(types.float64, axes, "C")
    address = address_for(kernel, (MATRIX,) * count + (out, types.int64, types.int64))
    return partial(compute_columns, address)


def _compute_in_python(kernel: Any, arrays: Sequence[Vector], out: Vector, *ends: int) -> bool:
    """Check and compute columns like `compute_columns`."""
    finite = all(np.isfinite(array[:, slice(*ends)]).all() for array in arrays)
    if finite:
        kernel(*arrays, out, *ends)
    return finite


def _compute_in_threads(
    compute: Callable[..., bool], arrays: Sequence[Vector], out: Vector, threads: int
) -> bool:
    """Divide the columns between threads; return whether all numbers are finite."""
    states = out.shape[-1]
    # All tasks but the last compute whole blocks of lanes. Kernels release the GIL.
    count = max(-(-states // (threads * LANES)) * LANES, 1)
    compute(arrays, out, 0, 0)  # compiles in this thread, which receives Ctrl-C
    first, *others = range(0, states, count) or (0,)
    tasks = [
        _pool(threads).submit(compute, arrays, out, k, min(k + count, states)) for k in others
    ]
    results = [compute(arrays, out, first, min(count, states))]
    return all(results + [task.result() for task in tasks])


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads that help the calling thread. Forked processes start their own."""
    return ThreadPoolExecutor(threads, "manip_dyn_batch")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


# ------------------------------------------------------------------ compiled functions
_ONE, _EIGHT = np.uint64(1), np.uint64(8)
"""Unsigned integers: LLVM vectorizes loops with unsigned indices, which cannot be negative."""


@inlined(counted=False)
def is_finite(array, first, last):
    """Return whether the columns from `first` to `last` - 1 contain neither infinity nor NaN."""
    total = a = b = c = d = e = f = g = h = 0.0  # become NaN for an infinite number or NaN
    count: Any = np.uint64(last - first)
    for i in range(array.shape[0]):
        x = part(row(array, i), first, last - first)
        for j in range(count // _EIGHT):
            k: Any = _EIGHT * j
            a, k = a + 0.0 * x[k], k + _ONE
            b, k = b + 0.0 * x[k], k + _ONE
            c, k = c + 0.0 * x[k], k + _ONE
            d, k = d + 0.0 * x[k], k + _ONE
            e, k = e + 0.0 * x[k], k + _ONE
            f, k = f + 0.0 * x[k], k + _ONE
            g, k = g + 0.0 * x[k], k + _ONE
            h = h + 0.0 * x[k]
        for m in range(count - count % _EIGHT, count):
            total += 0.0 * x[m]
    return total + a + b + c + d + e + f + g + h == 0.0


@compiled(counted=False)
def compute_columns(address, arrays, out, first, last):
    """Compute columns if they contain only finite numbers; return whether they do.

    Args:
        address: Address of the batched kernel.
        arrays: Arguments of the kernel, each (size, m).
        out: The result.
        first: The first column.
        last: The column after the last.
    """
    for array in arrays:
        if not is_finite(array, first, last):
            return False
    call_writing(address, arrays + (out, first, last))  # noqa: RUF005, numba
    return True

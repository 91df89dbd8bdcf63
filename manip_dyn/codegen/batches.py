"""Kernels for many states: checked arrays with one column per state, on one or more threads.

The kernels check the numbers that they read. Arrays that are already C-contiguous and of the
requested type are not copied.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from inspect import Parameter
from typing import Any

import numpy as np

from manip_dyn.codegen.array_arguments import MISMATCH, STATES, array_function
from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.codegen.interfaces import InPlace, described_arguments, set_signature
from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    BY_NAME,
    Declaration,
    argument_size,
)
from manip_dyn.core.checks import Vector, checked_threads, finite_array
from manip_dyn.core.errors import ManipDynError

FLOAT, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
BLOCK = 2 * LANES
"""Number of float32 states in a vector."""
LARGE = 10_000
"""Number of entries from which a result is aligned with cache lines."""


def _describe(function: Any, name: str, in_place: InPlace, owner: str) -> None:
    """Set the name, signature and docstring of a kernel for a batch of states."""
    options = {"out": None, "threads": 1, "dtype": np.float64}
    keywords = [Parameter(key, Parameter.KEYWORD_ONLY, default=options[key]) for key in options]
    set_signature(function, name, owner, keywords)
    function.__doc__ = (
        f"{in_place.purpose(name)}\n\n"
        "All arrays have an additional last axis with a column per state.\n\n"
        f"{described_arguments(name, in_place.n)}\n"
        "    out: array for the result, C-contiguous `dtype`. It must be one of the arguments or\n"
        "        share no memory with them. Default: a new array.\n"
        "    threads: number of threads that share the columns; None for one per available core.\n"
        "    dtype: np.float64, or np.float32 for 16 states per vector instead of 8.\n"
    )


class Batch:
    """All kernels as attributes, for checked arrays with one column per state.

    ``batch.forward_dynamics(q, v, tau)`` accepts arrays (n, m) of m states and returns (n, m);
    matrices are returned as (rows, columns, m). ``threads=2`` divides the columns between two
    threads. ``out=array`` writes the result into an existing array, which is returned. It may be
    one of the arguments, but must not overlap them otherwise. It is also overwritten if numbers
    are not finite, which raises an error. ``dtype=np.float32`` computes in single precision with a
    relative error of about 1e-6; kernels of long robots that use loops compute in double precision
    and round the result.
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
            *arguments: Any,
            out: Vector | None = None,
            threads: int | None = 1,
            dtype: Any = np.float64,
            **named: Any,
        ) -> Vector:
            if not named:
                return run(arguments, out, threads, dtype)
            unknown = set(named) - set(declaration.arguments[len(arguments) :])
            if unknown:
                raise ManipDynError(
                    f"Arguments of {name} must be {', '.join(declaration.arguments)}, "
                    f"got {', '.join(sorted(unknown))}."
                )
            rest = [named[argument] for argument in declaration.arguments if argument in named]
            return run((*arguments, *rest), out, threads, dtype)

        run = self._runner(declaration)
        _describe(call, name, self._in_place, "Batch")
        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        """Return the names of the kernels."""
        return list(BY_NAME)

    def _runner(self, declaration: Declaration) -> Callable[..., Vector]:
        """Return a function of arrays, result array, number of threads and type of the numbers."""
        name, shape, names = declaration.name, declaration.shape(self._n), declaration.arguments
        shapes = [(argument_size(argument, self._n), STATES) for argument in names]
        matches = {
            dtype: (
                array_function(shapes, dtype=dtype),
                array_function([*shapes, (*shape, STATES)], dtype=dtype),
            )
            for dtype in (np.float64, np.float32)
        }
        kernel: Any = None

        def run(arguments: Sequence[Any], out: Any, threads: int | None, dtype: Any) -> Vector:
            nonlocal kernel
            if threads != 1 or threads is True:
                threads = checked_threads(threads)
            if dtype is not np.float64 and dtype is not np.float32:
                dtype = checked_dtype(dtype).type
            match, match_all = matches[dtype]
            states = match(*arguments) if out is None else match_all(*arguments, out)
            if states == MISMATCH:
                arguments = self._checked(declaration, arguments, np.dtype(dtype))
                states = arguments[0].shape[1]
                if out is not None:
                    _check_result(out, (*shape, states), np.dtype(dtype))
            if out is None:
                out = _empty((*shape, states), np.dtype(dtype))
            else:
                for value in arguments:
                    if value.base is not None or out.base is not None:  # else they are disjoint
                        _check_overlap(out, names, arguments)
                        break
            if kernel is None:
                kernel = getattr(self._in_place, name + BATCH)
            if threads == 1:
                valid = kernel(*arguments, out, 0, states)
            else:
                valid = _compute_in_threads(kernel, arguments, out, threads)
            if not valid:
                self._checked(declaration, arguments, FLOAT)
                raise ManipDynError(f"{', '.join(names)} must be finite.")  # `out` was one of them
            return out

        return run

    def _checked(
        self, declaration: Declaration, arguments: Sequence[Any], dtype: np.dtype
    ) -> Sequence[Any]:
        """Return arguments with the number type of a kernel, after checking shapes and values."""
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
        shapes = [(argument_size(name, self._n), states) for name in names]
        converted = list[Vector]()
        for name, value, shape in zip(names, arguments, shapes, strict=True):
            array = finite_array(name, value, shape)
            with np.errstate(over="ignore"):
                converted.append(array.astype(dtype, copy=False))
            if dtype is SINGLE and not np.isfinite(converted[-1]).all():
                largest = np.abs(array).max()
                raise ManipDynError(
                    f"{name} must be finite numbers in the range of float32, got {largest:g}."
                )
        return converted


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> Vector:
    """Return a new array; large ones begin at a cache line.

    If the number of states is a multiple of the number of lanes, no vector then straddles two
    lines, which halves the time of large results, such as derivatives for a humanoid.
    """
    size = math.prod(shape)
    if size < LARGE:
        return np.empty(shape, dtype)
    memory = np.empty(size + BLOCK, dtype)
    first = -(memory.ctypes.data // memory.itemsize) % BLOCK
    return memory[first : first + size].reshape(shape)


def checked_dtype(dtype: Any) -> np.dtype:
    """Return `dtype`, such as ``"float32"``, as the dtype np.float64 or np.float32."""
    for precision in (FLOAT, SINGLE):
        if dtype is not None and precision == dtype:
            return precision
    raise ManipDynError(f"dtype must be np.float64 or np.float32, got {dtype!r}.")


def _check_result(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise `ManipDynError` if `out` is not a writable C-contiguous array of `shape`."""
    valid = type(out) is np.ndarray and out.dtype is dtype and out.flags.carray
    if not valid or out.shape != shape:
        value = repr(out)
        if isinstance(out, np.ndarray):
            layout = "" if out.flags.carray else f" ({_layout(out)})"
            value = f"{type(out).__name__} of {out.dtype} with shape {out.shape}{layout}"
        raise ManipDynError(
            f"out must be a writable C-contiguous {dtype} ndarray of shape {shape}, got {value}."
        )


def _layout(out: np.ndarray) -> str:
    """Return why `out` is unsuitable although its shape and dtype may be correct."""
    if not out.flags.writeable:
        return "read-only"
    return "not aligned" if out.flags.c_contiguous else "not C-contiguous"


def _check_overlap(out: Vector, names: Sequence[str], arguments: Sequence[Any]) -> None:
    """Raise `ManipDynError` if `out` overlaps an argument, unless it has the same entries."""
    for name, value in zip(names, arguments, strict=True):
        if value is out or not np.may_share_memory(value, out):
            continue
        if value.shape != out.shape or value.ctypes.data != out.ctypes.data:
            raise ManipDynError(
                f"out must be {name} or share no memory with it, got an array that overlaps it."
            )


def _compute_in_threads(
    kernel: Callable[..., bool], arrays: Sequence[Vector], out: Vector, threads: int
) -> bool:
    """Divide the columns between threads; return whether all numbers are finite."""
    states = out.shape[-1]
    # All tasks but the last compute whole blocks of lanes. Kernels release the GIL.
    count = max(-(-states // (threads * BLOCK)) * BLOCK, 1)
    kernel(*arrays, out, 0, 0)  # compiles in this thread, which receives Ctrl-C
    first, *others = range(0, states, count) or (0,)
    tasks = [
        _pool(threads).submit(kernel, *arrays, out, k, min(k + count, states)) for k in others
    ]
    results = [kernel(*arrays, out, first, min(count, states))]
    return all(results + [task.result() for task in tasks])


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads that help the calling thread. Forked processes start their own."""
    return ThreadPoolExecutor(threads, "manip_dyn_batch")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)

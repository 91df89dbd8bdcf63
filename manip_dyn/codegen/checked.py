"""Checked calls of a robot's kernels: one compiled check of sizes and numbers, then the kernel.

What checks knows no robot and calls a kernel by its address, so that it is compiled once per
machine for each number of arguments. What it does not take (lists, strided arrays, other types
of numbers) and what it refuses goes to the checks in Python, which convert it or say what is
wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numba import types

from manip_dyn.codegen.in_place import InPlace
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, Declaration, argument_size
from manip_dyn.core.arrays.addresses import address_for, call_writing
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.plain import PLAIN

FLOAT = np.dtype(np.float64)
BYTES = FLOAT.itemsize
_compiling = Lock()
PAYLOAD, WRENCH = argument_size("payload", 0), argument_size("wrench", 0)


class Checked:
    """Every kernel under its name, with checked arguments and results in new arrays.

    Arguments go by their places: ``checked.forward_dynamics(q, v, tau)``.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Take the jitted kernels of a robot with n joints."""
        self._in_place = in_place
        self._n = n

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return the checked form of a kernel, compiled now if it is new."""
        declaration = BY_NAME.get(name)
        if declaration is None:
            raise AttributeError(f"there is no kernel '{name}'")
        call = checked_call(declaration, getattr(self._in_place, name), self._n)
        setattr(self, name, call)
        return call


def checked_call(declaration: Declaration, kernel: Any, n: int) -> Callable[..., Vector]:
    """Return a kernel of a robot with n joints as a function of checked arguments."""
    arguments, shape = declaration.arguments, declaration.shape(n)

    def check_one_by_one(values: tuple[Any, ...]) -> Vector:
        checked = [
            finite_vector(name, value, argument_size(name, n))
            for name, value in zip(arguments, values, strict=True)
        ]
        out = np.empty(shape)
        kernel(*checked, out)
        return out

    if PLAIN:
        return lambda *values: check_one_by_one(values)
    vectors = [types.Array(types.float64, 1, "C")] * len(arguments)
    address = address_for(kernel, (*vectors, _output(len(shape))))
    loads = tuple(name for name in arguments if name in ("payload", "wrench"))
    entry = LOADED[loads] if loads else UNLOADED[len(arguments)]
    with _compiling:
        run = _compiled(entry, len(arguments), len(shape))
    # Names of the enclosing function are found faster than those of modules and packages.
    empty, array, number = np.empty, np.ndarray, FLOAT

    def call(*values: Any) -> Vector:
        for value in values:
            if type(value) is not array or value.dtype is not number:
                return check_one_by_one(values)
        out = empty(shape)
        try:
            good = run(address, n, *values, out)
        except TypeError:  # more than one axis, or numbers that lie across words of memory
            good = False
        return out if good else check_one_by_one(values)

    call.__name__ = declaration.name
    return call


@lru_cache
def _compiled(run: Callable[..., bool], count: int, axes: int) -> Callable[..., bool]:
    """Return `run` compiled for `count` vectors and an output of so many axes, and for no others.

    Each of its own, and compiled before anyone has it: so any thread may ask for one any time.
    """
    # Any vector of numbers, also a strided or a read-only one, converts to this type.
    vector = types.Array(types.float64, 1, "A", readonly=True)
    kinds = (types.int64, types.int64, *[vector] * count, _output(axes))
    made: Any = compiled(run)
    made.compile(types.boolean(*kinds))
    made.disable_compile()
    return made


def _output(axes: int) -> types.Array:
    return types.Array(types.float64, axes, "C")


@inlined
def _is_good(x, size):
    """Return whether x is a dense array of `size` finite numbers."""
    if x.shape[0] != size or x.strides[0] != BYTES:
        return False
    nothing = 0.0  # which times infinity, or NaN, is NaN
    for i in range(size):
        nothing += 0.0 * x[i]
    return nothing == 0.0


def _run_1(address, n, a, out):
    good = _is_good(a, n)
    if good:
        call_writing(address, (a, out))
    return good


def _run_2(address, n, a, b, out):
    good = _is_good(a, n) and _is_good(b, n)
    if good:
        call_writing(address, (a, b, out))
    return good


def _run_3(address, n, a, b, c, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n)
    if good:
        call_writing(address, (a, b, c, out))
    return good


def _run_4(address, n, a, b, c, d, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n) and _is_good(d, n)
    if good:
        call_writing(address, (a, b, c, d, out))
    return good


def _run_with_payload(address, n, q, payload, out):
    good = _is_good(q, n) and _is_good(payload, PAYLOAD)
    if good:
        call_writing(address, (q, payload, out))
    return good


def _run_loaded(address, n, a, b, c, payload, wrench, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n)
    good = good and _is_good(payload, PAYLOAD) and _is_good(wrench, WRENCH)
    if good:
        call_writing(address, (a, b, c, payload, wrench, out))
    return good


UNLOADED: dict[int, Callable[..., bool]] = {1: _run_1, 2: _run_2, 3: _run_3, 4: _run_4}
"""By the number of arguments, each of n numbers."""
LOADED: dict[tuple[str, ...], Callable[..., bool]] = {
    ("payload",): _run_with_payload,
    ("payload", "wrench"): _run_loaded,
}
"""By the arguments that are not of n numbers."""

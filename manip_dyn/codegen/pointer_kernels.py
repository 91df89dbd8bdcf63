"""Kernels that receive pointers instead of arrays; `kernel_addresses` instantiates them."""

from __future__ import annotations

from typing import Any

from numba import carray

from manip_dyn.core.compiled import compiled

KERNEL: Any = None
SHAPES: tuple[tuple[int, ...], ...] = ((1,),) * 6
"""Shapes of its arguments and, last, of its output."""


@compiled(python=False)
def of_2(a, out):
    """Call a kernel with one argument."""
    KERNEL(carray(a, SHAPES[0]), carray(out, SHAPES[1]))


@compiled(python=False)
def of_3(a, b, out):
    """Call a kernel with two arguments."""
    KERNEL(carray(a, SHAPES[0]), carray(b, SHAPES[1]), carray(out, SHAPES[2]))


@compiled(python=False)
def of_4(a, b, c, out):
    """Call a kernel with three arguments."""
    arguments = carray(a, SHAPES[0]), carray(b, SHAPES[1]), carray(c, SHAPES[2])
    KERNEL(*arguments, carray(out, SHAPES[3]))


@compiled(python=False)
def of_5(a, b, c, d, out):
    """Call a kernel with four arguments."""
    first, second = carray(a, SHAPES[0]), carray(b, SHAPES[1])
    third, fourth = carray(c, SHAPES[2]), carray(d, SHAPES[3])
    KERNEL(first, second, third, fourth, carray(out, SHAPES[4]))

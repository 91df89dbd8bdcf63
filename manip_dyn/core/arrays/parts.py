"""One flat array whose parts have names: what compiled code passes on as a single argument.

A class of `Parts` says in `SHAPES` which arrays lie behind one another; its object gives each of
them as an attribute, without owning or copying anything. Compiled code gets the same object from
a function of `reader`: there it is an address and a number, and a part costs nothing before it is
used. (A tuple of arrays has seven machine words for each of them, at every call.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)
from numba.np import arrayobj

from manip_dyn.core.arrays.views import MATRIX, VECTOR, borrowed
from manip_dyn.core.checks import Vector
from manip_dyn.core.plain import PLAIN

Extent = int | tuple[int, int]
N: Extent = (0, 1)
"""The extent n; a pair (a, b) stands for a + b n."""


class Parts:
    """The parts of an array of numbers, the first of which is n.

    Attributes:
        SHAPES: Extents of each part, in the order in which they lie in the array.
    """

    SHAPES: ClassVar[dict[str, tuple[Extent, ...]]]

    def __init__(self, memory: Vector):
        """Take the array (size(n),)."""
        n = int(memory[0])
        first = 1
        for name, extents in self.SHAPES.items():
            shape = [_extent(each, n) for each in extents]
            setattr(self, name, memory[first : first + prod(shape)].reshape(shape))
            first += prod(shape)

    @classmethod
    def allocate(cls, n: int) -> Vector:
        """Return a new array for n, zero but for n."""
        sizes = (prod(_extent(each, n) for each in shape) for shape in cls.SHAPES.values())
        memory = np.zeros(1 + sum(sizes))
        memory[0] = n
        return memory


def _extent(extent: Extent, n: int) -> int:
    return extent if isinstance(extent, int) else extent[0] + extent[1] * n


class PartsType(types.Type):
    """A `Parts` in compiled code."""

    def __init__(self, parts: type[Parts]):
        """Take the class."""
        self.parts = parts
        super().__init__(name=f"{parts.__module__}.{parts.__qualname__} {parts.SHAPES}")

    def array(self, name: str) -> types.Array:
        """Return the type of a part."""
        return MATRIX if len(self.parts.SHAPES[name]) == 2 else VECTOR

    def first(self, name: str) -> tuple[int, int, int]:
        """Return where a part begins: the coefficients of 1, n and n^2."""
        names = list(self.parts.SHAPES)
        sizes = [_size(self.parts.SHAPES[each]) for each in names[: names.index(name)]]
        begins = accumulate(sizes, lambda a, b: tuple(map(operator.add, a, b)), initial=(1, 0, 0))
        return list(begins)[-1]


def _size(shape: tuple[Extent, ...]) -> tuple[int, int, int]:
    """Return the product of one or two extents as coefficients of 1, n and n^2."""
    pairs = [each if isinstance(each, tuple) else (each, 0) for each in shape]
    (a, b), (c, d) = (*pairs, (1, 0))[:2]
    return a * c, a * d + b * c, b * d


@register_model(PartsType)
class _Model(models.StructModel):
    """An address, and n."""

    def __init__(self, manager, kind):
        members = [("data", types.CPointer(types.float64)), ("n", types.intp)]
        super().__init__(manager, kind, members)


@infer_getattr
class _Attributes(AttributeTemplate):
    """The types of the parts."""

    key = PartsType

    def generic_resolve(self, value, attr):  # type: ignore[override]
        """Return the type of a part."""
        return value.array(attr) if attr in value.parts.SHAPES else None


@lower_getattr_generic(PartsType)
def _part(context, builder, kind, value, name):
    """Emit the array of a part."""
    data, n = (builder.extract_value(value, i) for i in range(2))

    def number(*coefficients: int):
        total = ir.Constant(n.type, 0)
        for each in reversed(coefficients):
            total = builder.add(builder.mul(total, n), ir.Constant(n.type, each))
        return total

    shape = [
        number(*each) if isinstance(each, tuple) else number(each)
        for each in kind.parts.SHAPES[name]
    ]
    return borrowed(context, builder, builder.gep(data, [number(*kind.first(name))]), shape)


def reader(parts: type[Parts]) -> Callable[[Any], Any]:
    """Return a function that gives compiled code the parts of an array, which has to outlive them.

    Unlike slices they do not own the memory: numba would count references to each, atomically.
    """
    if PLAIN:
        return parts

    def parts_of(_context, memory):
        kind = PartsType(parts)

        def generate(context, builder, signature, values):
            array = arrayobj.make_array(signature.args[0])(context, builder, values[0])
            made = context.make_helper(builder, kind)
            made.data = array.data
            made.n = builder.fptosi(builder.load(array.data), context.get_value_type(types.intp))
            return made._getvalue()

        return kind(memory), generate

    made: Any = intrinsic(parts_of)
    return made

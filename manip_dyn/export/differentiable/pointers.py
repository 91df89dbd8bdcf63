"""Addresses as pointers, for compiled code that reads what C hands over."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic


def _pointer_to(kind: Any) -> Any:
    def make(_context, address):
        def generate(context, builder, signature, values):
            return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return intrinsic(make)


words_at: Any = _pointer_to(types.int64)
"""``words_at(address)``: integers of eight bytes."""
numbers_at: Any = _pointer_to(types.float64)
"""``numbers_at(address)``: numbers in double precision."""

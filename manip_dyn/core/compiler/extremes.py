"""The largest and the smallest of some numbers in compiled code, emitted in place.

Numba compiles a function of its own for each combination of types and flags, 20 ms each; a first
plan had eighteen of them. What is emitted is the same: the later number where it compares as
larger, as in Python.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin


class _Extreme(AbstractTemplate):
    """The type of ``max(a, b, ...)`` of numbers; of a target, so numba asks it first."""

    metadata = {"target": "cpu"}  # noqa: RUF012

    def generic(self, args, kws):
        """Return the signature, or None where others than numbers are given."""
        if kws or len(args) < 2 or not all(isinstance(each, _NUMBERS) for each in args):
            return None
        return signature(self.context.unify_types(*args), *args)


_NUMBERS = (types.Integer, types.Float)


@infer_global(max)
class _Largest(_Extreme):
    """The type of the largest."""


@infer_global(min)
class _Smallest(_Extreme):
    """The type of the smallest."""


def _emitter(compares: Any) -> Any:
    """Return the emitter of the number that compares so with all before it."""

    def emit(context, builder, signature_, values):
        kind = signature_.return_type
        numbers = [
            context.cast(builder, value, each, kind)
            for value, each in zip(values, signature_.args, strict=True)
        ]
        compare = context.get_function(compares, signature(types.boolean, kind, kind))
        return reduce(
            lambda least, each: builder.select(compare(builder, (each, least)), each, least),
            numbers,
        )

    return emit


lower_builtin(max, types.VarArg(types.Any))(_emitter(operator.gt))
lower_builtin(min, types.VarArg(types.Any))(_emitter(operator.lt))

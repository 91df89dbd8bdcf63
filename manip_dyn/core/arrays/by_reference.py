"""Named tuples of arrays that compiled code is given as one address.

A tuple of arrays has seven machine words for each of them: at every call, and in the text of every
instruction that touches the tuple, so that wide ones take long to compile. `by_reference` lays
these words down in memory once, and compiled code reads those of the one field that it names::

    work = by_reference(Work(np.empty(3), np.empty((3, 3))))
    solve(work)             # where work.step is an array, as in Python

Fields are arrays, integers, numbers, and named tuples of such; those are references in turn,
`value_of` gives them as tuples. Compiled code counts no references to the arrays. The memory is
not to change, and has to outlive what reads it.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

from manip_dyn.core.plain import PLAIN

Fields = TypeVar("Fields", bound=tuple)
_WORD = ir.IntType(64)


def by_reference(fields: Fields) -> Fields:
    """Return what Python reads as the named tuple and compiled code as a reference to it."""
    return fields if PLAIN else TupleReference(fields)  # type: ignore[return-value]


class TupleReference:
    """A named tuple and its machine words."""

    def __init__(self, fields: Any):
        """Lay down the words."""
        words: list[int] = []
        marks: list[Any] = []
        _lay_down(fields, words, marks)
        vars(self).update(zip(fields._fields, fields, strict=True))
        self.fields, self.words = fields, np.array(words, dtype=np.int64)
        self.address = _place(self.words)
        kind = tuple(marks)
        if kind not in _known:
            _known[kind] = TupleReferenceType(typeof(fields))
        self._numba_type_ = _known[kind]

    def __reduce__(self):
        """Refuse to be pickled: another process would read what lies at this one's addresses."""
        raise TypeError(f"machine words of {type(self.fields).__name__} cannot be pickled")


_known: dict[tuple, TupleReferenceType] = {}
"""Types by what tells them apart."""


def _lay_down(value: Any, words: list[int], marks: list[Any]) -> None:
    """Add the words of a value as numba has it, and what its type depends on."""
    if isinstance(value, np.ndarray):
        words += (0, 0, value.size, value.itemsize, _place(value), *value.shape, *value.strides)
        marks += (value.dtype, value.ndim, value.flags.num)
    elif isinstance(value, tuple):
        marks += (type(value), len(value))
        for each in value:
            _lay_down(each, words, marks)
    elif isinstance(value, float):
        words.append(struct.unpack("q", struct.pack("d", value))[0])
        marks.append(float)
    else:
        words.append(int(value))
        marks.append(int)


def _place(array: np.ndarray) -> int:
    """Return where the numbers of an array begin."""
    flags = array.flags
    if array.size and flags.c_contiguous and flags.writeable:  # ten times as quick
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return array.__array_interface__["data"][0]


class TupleReferenceType(types.Type):
    """A reference in compiled code."""

    def __init__(self, fields: Any):
        """Take the type of the named tuple."""
        self.fields = fields
        # Numba writes a type's name into that of every function; types of fields make it long.
        digest = hashlib.sha256(str(fields).encode()).hexdigest()[:16]
        super().__init__(name=f"{fields.instance_class.__name__}_{digest}")

    def place(self, name: str) -> tuple[int, Any]:
        """Return the word at which a field begins, and its type."""
        index = self.fields.fields.index(name)
        return sum(map(_size, self.fields.types[:index])), self.fields.types[index]


def _size(kind: Any) -> int:
    """Return the number of words of a type."""
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    return sum(_size(each) for each in kind.types) if hasattr(kind, "types") else 1


@register_model(TupleReferenceType)
class _Model(models.PrimitiveModel):
    """A pointer to words."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(TupleReferenceType)
def _unboxed(_kind, value, c):
    number = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(pointer, _WORD.as_pointer()))


@infer_getattr
class _Attributes(AttributeTemplate):
    """The types of the fields."""

    key = TupleReferenceType

    def generic_resolve(self, reference, name):  # type: ignore[override]
        """Return the type of a field."""
        if name not in reference.fields.fields:
            return None
        _, kind = reference.place(name)
        return TupleReferenceType(kind) if isinstance(kind, types.NamedTuple) else kind


@lower_getattr_generic(TupleReferenceType)
def _field(context, builder, kind, value, name):
    """Emit the value of a field."""
    first, field = kind.place(name)
    place = builder.gep(value, [ir.Constant(_WORD, first)])
    return (
        place if isinstance(field, types.NamedTuple) else _loaded(context, builder, field, place)
    )


def _loaded(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """Emit a value that lies somewhere."""
    pointer = builder.bitcast(place, context.get_value_type(kind).as_pointer())
    loaded = builder.load(pointer, align=8)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    if isinstance(kind, types.Array):
        for place in range(2):  # that nobody counts references is known to the compiler
            nobody = ir.Constant(loaded.type.elements[place], None)
            loaded = builder.insert_value(loaded, nobody, place)
    return loaded


@intrinsic
def _value_of(_context, reference):
    def generate(context, builder, signature, values):
        return _loaded(context, builder, signature.return_type, values[0])

    return reference.fields(reference), generate


def _plain(fields):
    return fields


value_of: Any = _plain if PLAIN else _value_of
"""``value_of(reference)``: the named tuple itself, in compiled code."""

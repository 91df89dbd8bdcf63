"""Arrays in compiled code."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import operator
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import TypingError
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

from manip_dyn.core import private_numba
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import PLAIN, compiled


def address_for(function: Any, signature: tuple) -> Any:
    """Return the address of a compiled function for argument types."""
    if PLAIN:
        return function
    if not private_numba.STOCK:
        own = function if hasattr(function, "results") else _compiled_again(function)
        own.compile(signature)
        return private_numba.address(own, signature)
    function.compile(signature)
    (typed,) = (each for each in function.nopython_signatures if each.args == signature)
    callback = numba.cfunc(typed.return_type(*signature))(function.py_func)
    _callbacks.append(callback)
    return callback.address


@functools.cache
def _compiled_again(function: Any) -> Any:
    """Return a function of numba's with our calling convention."""
    return compiled(keep=False)(function.py_func)


def address_of(function: Any, *arguments: Any) -> Any:
    """Return the address of a compiled function for arguments like these."""
    return address_for(function, tuple(typeof(each) for each in arguments))


_callbacks: list[Any] = []
"""Functions whose addresses are in use."""


def emit_call(
    context: Any, builder: Any, address: Any, returns: Any, kinds: tuple, values: Any
) -> Any:
    """Emit a call of the function at an address; functions that return nothing raise nothing.

    Args:
        context: The target context.
        builder: The IR builder.
        address: An integer in LLVM.
        returns: The numba type of the result.
        kinds: The numba types of the arguments.
        values: The arguments in LLVM.
    """
    if private_numba.STOCK:
        types_ = [context.get_value_type(kind) for kind in kinds]
        pointer = ir.FunctionType(context.get_value_type(returns), types_).as_pointer()
        return builder.call(builder.inttoptr(address, pointer), values)
    result = private_numba.call_at(context, builder, address, returns, kinds, values)
    return context.get_dummy_value() if returns is types.none else result


def _caller(returns: Any) -> Any:
    """Return a function for compiled code that calls the function at an address with a tuple."""

    def call(_context, address, arguments):
        if not isinstance(address, types.Integer) or not isinstance(arguments, types.BaseTuple):
            raise TypingError(f"call must have an address and a tuple, got {address}, {arguments}")

        def generate(context, builder, signature, values):
            kinds = tuple(signature.args[1])
            address, packed = values
            items = [builder.extract_value(packed, i) for i in range(len(kinds))]
            return emit_call(context, builder, address, returns, kinds, items)

        return returns(address, arguments), generate

    return intrinsic(call)


def _call_in_python(function: Any, arguments: Any) -> Any:
    """Call a function that stands for its own address."""
    return function(*arguments)


call_returning: Any = _call_in_python if PLAIN else _caller(types.int64)
"""``call_returning(address, arguments)``: call a compiled function that returns an integer."""
call_writing: Any = _call_in_python if PLAIN else _caller(types.none)
"""``call_writing(address, arguments)``: call a compiled function that returns nothing."""


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
        self.address = _address_of(self.words)
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
        words += (
            0,
            0,
            value.size,
            value.itemsize,
            _address_of(value),
            *value.shape,
            *value.strides,
        )
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


def _address_of(array: np.ndarray) -> int:
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
        return sum(map(_words_of, self.fields.types[:index])), self.fields.types[index]


def _words_of(kind: Any) -> int:
    """Return the number of words of a type."""
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    return sum(_words_of(each) for each in kind.types) if hasattr(kind, "types") else 1


@register_model(TupleReferenceType)
class _ReferenceModel(models.PrimitiveModel):
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
class _ReferenceAttributes(AttributeTemplate):
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


def _same(fields):
    return fields


value_of: Any = _same if PLAIN else _value_of
"""``value_of(reference)``: the named tuple itself, in compiled code."""


VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]
_INDEX = ir.IntType(64)


def array_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the pointer to the numbers of an array, in code that is being emitted."""
    return cgutils.create_struct_proxy(kind)(context, builder, value).data


def array_at(
    context: Any,
    builder: Any,
    kind: types.Array,
    data: Any,
    shape: Sequence[Any],
    strides: Sequence[Any] | None = None,
    itemsize: int = 8,
) -> Any:
    """Return an array that does not own its memory, in code that is being emitted.

    Args:
        context: The target context.
        builder: The IR builder.
        kind: The numba type.
        data: The pointer to its numbers.
        shape: Extents, i64.
        strides: Strides in bytes, i64; None: C-contiguous.
        itemsize: Bytes of a number.
    """
    size = ir.Constant(_INDEX, itemsize)
    if strides is None:
        strides = [size]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(extent, strides[0]))
    array = cgutils.create_struct_proxy(kind)(context, builder)
    array.data = data
    array.shape = cgutils.pack_array(builder, shape, _INDEX)
    array.strides = cgutils.pack_array(builder, strides, _INDEX)
    array.itemsize = size
    array.nitems = functools.reduce(builder.mul, shape)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def borrowed(context: Any, builder: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Return a C-contiguous array of float64 at an address, in code that is being emitted."""
    return array_at(context, builder, VECTOR if len(shape) == 1 else MATRIX, data, shape)


def _emitted(part: Any) -> Any:
    """Return the emitter of what ``part(builder, array, numbers)`` says: place and shape."""

    def generate(context, builder, signature, values):
        whole = cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0])
        numbers = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(values[1:], signature.args[1:], strict=True)
        ]
        first, shape = part(builder, whole, numbers)
        return borrowed(context, builder, builder.gep(whole.data, [first]), shape)

    return generate


@intrinsic
def _row(_context, matrix, index):
    def part(builder, whole, numbers):
        width = builder.extract_value(whole.shape, 1)
        return builder.mul(numbers[0], width), [width]

    return VECTOR(matrix, index), _emitted(part)


@intrinsic
def _rows(_context, matrix, first, count):
    def part(builder, whole, numbers):
        width = builder.extract_value(whole.shape, 1)
        return builder.mul(numbers[0], width), [numbers[1], width]

    return MATRIX(matrix, first, count), _emitted(part)


@intrinsic
def _part(_context, vector, first, size):
    def part(_builder, _whole, numbers):
        return numbers[0], [numbers[1]]

    return VECTOR(vector, first, size), _emitted(part)


@intrinsic
def _data_pointer(_context, array):
    def generate(context, builder, signature, values):
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0]).data

    return types.CPointer(types.float64)(array), generate


@intrinsic
def _unowned(_context, value):
    def generate(context, builder, signature, values):
        return _without_owner(context, builder, signature.return_type, values[0])

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return an array, or a tuple of such, with nobody to count its references."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if hasattr(kind, "types"):  # a tuple
        for i, each in enumerate(kind.types):
            inner = _without_owner(context, builder, each, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    return value


def _same_array(value):
    return value


def _plain_row(matrix, index):
    return matrix[index]


def _plain_part(array, first, count):
    return array[first : first + count]


row: Any = _plain_row if PLAIN else _row
"""``row(matrix, index)``: a row (m,) of a C-contiguous matrix (n, m) of float64."""
rows: Any = _plain_part if PLAIN else _rows
"""``rows(matrix, first, count)``: some of its rows (count, m)."""
part: Any = _plain_part if PLAIN else _part
"""``part(vector, first, size)``: some (size,) of a C-contiguous vector of float64."""
unowned: Any = _same_array if PLAIN else _unowned
"""``unowned(value)``: the same array, or tuple of arrays."""
data_pointer: Any = _same_array if PLAIN else _data_pointer
"""``place(array)``: where the numbers of a C-contiguous array lie, for code that takes no more."""


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
def _part_of_parts(context, builder, kind, value, name):
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
            array = cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0])
            made = context.make_helper(builder, kind)
            made.data = array.data
            made.n = builder.fptosi(builder.load(array.data), context.get_value_type(types.intp))
            return made._getvalue()

        return kind(memory), generate

    made: Any = intrinsic(parts_of)
    return made

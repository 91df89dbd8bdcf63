"""Arrays in compiled code."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import struct
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, get_type_hints

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
    (typed,) = (s for s in function.nopython_signatures if s.args == signature)
    callback = numba.cfunc(typed.return_type(*signature))(function.py_func)
    _callbacks.append(callback)
    return callback.address


@functools.cache
def _compiled_again(function: Any) -> Any:
    """Return a function compiled by numba with the calling convention of this package."""
    return compiled(keep=False)(function.py_func)


def address_of(function: Any, *arguments: Any) -> Any:
    """Return the address of a compiled function for arguments like these."""
    return address_for(function, tuple(map(typeof, arguments)))


_callbacks: list[Any] = []
"""Functions whose addresses are in use."""


def emit_call(
    context: Any,
    builder: Any,
    address: Any,
    returns: Any,
    kinds: tuple,
    values: Any,
    raises: bool = False,
) -> Any:
    """Emit a call of the function at an address.

    Args:
        context: The target context.
        builder: The IR builder.
        address: An integer in LLVM.
        returns: The numba type of the result.
        kinds: The numba types of the arguments.
        values: The arguments in LLVM.
        raises: Whether the function may raise an exception.
    """
    if private_numba.STOCK:
        types_ = [context.get_value_type(kind) for kind in kinds]
        pointer = ir.FunctionType(context.get_value_type(returns), types_).as_pointer()
        return builder.call(builder.inttoptr(address, pointer), values)
    result = private_numba.call_at(context, builder, address, returns, kinds, values, raises)
    return context.get_dummy_value() if returns is types.none else result


def _caller(returns: Any) -> Any:
    """Return a function for compiled code that calls the function at an address with a tuple."""

    def call(_context, address, arguments):
        if not isinstance(address, types.Integer) or not isinstance(arguments, types.BaseTuple):
            raise TypingError(
                f"call must have an address and a tuple, got {address}, {arguments}."
            )

        def generate(context, builder, signature, values):
            kinds = tuple(signature.args[1])
            address, packed = values
            items = [builder.extract_value(packed, i) for i in range(len(kinds))]
            return emit_call(context, builder, address, returns, kinds, items, raises=True)

        return returns(address, arguments), generate

    return intrinsic(call)


def _call_in_python(function: Any, arguments: Any) -> Any:
    """Call a function that is used as its address."""
    return function(*arguments)


call_returning: Any = _call_in_python if PLAIN else _caller(types.int64)
"""``call_returning(address, arguments)``: call a compiled function that returns an integer."""
call_writing: Any = _call_in_python if PLAIN else _caller(types.none)
"""``call_writing(address, arguments)``: call a compiled function that returns nothing."""


Fields = TypeVar("Fields", bound=tuple)
_WORD = ir.IntType(64)


def by_reference(fields: Fields) -> Fields:
    """Return a reference to a named tuple for compiled code; Python reads its fields."""
    return fields if PLAIN else TupleReference(fields)  # type: ignore[return-value]


class TupleReference:
    """A named tuple and its machine words."""

    def __init__(self, fields: Any):
        """Write the words."""
        words: list[int] = []
        marks: list[Any] = []
        _add_words(fields, words, marks)
        vars(self).update(zip(fields._fields, fields, strict=True))
        self.fields, self.words = fields, np.array(words, dtype=np.int64)
        self.address = _address_of(self.words)
        kind = tuple(marks)
        if kind not in _reference_types:
            _reference_types[kind] = TupleReferenceType(typeof(fields))
        self._numba_type_ = _reference_types[kind]

    def __reduce__(self):
        """Raise an error: the addresses are invalid in another process."""
        raise TypeError(f"machine words of {type(self.fields).__name__} cannot be pickled.")


_reference_types: dict[tuple, TupleReferenceType] = {}
"""Types by the Python types of their fields."""


def _add_words(value: Any, words: list[int], marks: list[Any]) -> None:
    """Add the words of a value in numba's layout, and the properties that its type depends on."""
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
        for item in value:
            _add_words(item, words, marks)
    elif isinstance(value, float):
        words.append(struct.unpack("q", struct.pack("d", value))[0])
        marks.append(float)
    else:
        words.append(int(value))
        marks.append(int)


def _address_of(array: np.ndarray) -> int:
    """Return the address of the numbers of an array."""
    flags = array.flags
    if array.size and flags.c_contiguous and flags.writeable:  # ten times faster
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return array.__array_interface__["data"][0]


class TupleReferenceType(types.Type):
    """A reference in compiled code."""

    def __init__(self, fields: Any):
        """Take the type of the named tuple."""
        self.fields = fields
        # Numba adds the names of types to those of functions; names of all fields are long.
        digest = hashlib.sha256(str(fields).encode()).hexdigest()[:16]
        super().__init__(name=f"{fields.instance_class.__name__}_{digest}")

    def word(self, name: str) -> tuple[int, Any]:
        """Return the index of the first word of a field, and its type."""
        index = self.fields.fields.index(name)
        return sum(map(_words_of, self.fields.types[:index])), self.fields.types[index]


def _words_of(kind: Any) -> int:
    """Return the number of words of a type."""
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    return sum(map(_words_of, kind.types)) if hasattr(kind, "types") else 1


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
        _, kind = reference.word(name)
        return TupleReferenceType(kind) if isinstance(kind, types.NamedTuple) else kind


@lower_getattr_generic(TupleReferenceType)
def _field(context, builder, kind, value, name):
    """Emit the value of a field."""
    first, field = kind.word(name)
    address = builder.gep(value, [ir.Constant(_WORD, first)])
    is_tuple = isinstance(field, types.NamedTuple)
    return address if is_tuple else _loaded(context, builder, field, address)


def _loaded(context: Any, builder: Any, kind: Any, address: Any) -> Any:
    """Emit the value of a type at the address of its words."""
    if isinstance(kind, types.Array):
        data = _word(builder, address, 4, context.get_data_type(kind.dtype).as_pointer())
        sizes = [_word(builder, address, 5 + j) for j in range(2 * kind.ndim)]
        shape, strides = sizes[: kind.ndim], sizes[kind.ndim :]
        itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        contiguous = kind.layout == "C"
        return array_at(
            context, builder, kind, data, shape, None if contiguous else strides, itemsize
        )
    if not hasattr(kind, "types"):
        return _word(builder, address, 0, context.get_value_type(kind))
    items, first = [], 0
    for item in kind.types:
        pointer = builder.gep(address, [ir.Constant(_WORD, first)])
        items.append(_loaded(context, builder, item, pointer))
        first += _words_of(item)
    return context.make_tuple(builder, kind, items)


def _word(builder: Any, address: Any, index: int, word_type: Any = _WORD) -> Any:
    """Emit a word that never changes, from an address of words."""
    pointer = builder.gep(address, [ir.Constant(_WORD, index)])
    word = builder.load(builder.bitcast(pointer, word_type.as_pointer()), align=8)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


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
WORDS = types.int64[::1]
Vector = Annotated[np.ndarray, VECTOR]
Matrix = Annotated[np.ndarray, MATRIX]
Addresses = Annotated[np.ndarray, WORDS]
"""Addresses of compiled functions for `call_writing`, see `table_of`."""
_INDEX = ir.IntType(64)


def array_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Emit the pointer to the numbers of an array."""
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
    """Emit an array that does not own its memory.

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
    """Emit a C-contiguous array of float64 that does not own its memory."""
    return array_at(context, builder, VECTOR if len(shape) == 1 else MATRIX, data, shape)


def _emitted(part: Any) -> Any:
    """Return the emitter of a view; ``part`` returns its offset and its shape."""

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
    """Emit an array, or a tuple of arrays, without an owner."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if hasattr(kind, "types"):  # a tuple
        for i, item in enumerate(kind.types):
            inner = _without_owner(context, builder, item, builder.extract_value(value, i))
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
"""``rows(matrix, first, count)``: successive rows (count, m) of the same."""
part: Any = _plain_part if PLAIN else _part
"""``part(vector, first, size)``: a slice (size,) of a C-contiguous vector of float64."""
unowned: Any = _same_array if PLAIN else _unowned
"""``unowned(value)``: the same array, or tuple of arrays, without counted references."""
data_pointer: Any = _same_array if PLAIN else _data_pointer
"""``data_pointer(array)``: the pointer to the numbers of a C-contiguous array."""


# ------------------------------------------------------------------ named tuples in one array
WORDS_PER_ARRAY = 3
"""Words of the layout for each array: its offset in words, and two extents."""


def packed(arrays: Any) -> Any:
    """Return one array (int64) with the layout and copies of the arrays of a named tuple.

    The arrays contain numbers of 64 bits. The result can be copied and passed to compiled code at
    the cost of one array; `unpacking` reads it.
    """
    if PLAIN:
        return arrays
    offset = WORDS_PER_ARRAY * len(arrays)
    memory = np.zeros(offset + sum(array.size for array in arrays), dtype=np.int64)
    for k, array in enumerate(arrays):
        layout = (offset, *array.shape, 1)[:WORDS_PER_ARRAY]
        memory[WORDS_PER_ARRAY * k : WORDS_PER_ARRAY * (k + 1)] = layout
        memory[offset : offset + array.size].view(array.dtype)[:] = array.ravel()
        offset += array.size
    return memory


def overwrite(memory: Any, values: Any) -> None:
    """Copy `packed` arrays over others of the same shapes."""
    for target, source in zip(memory, values, strict=True) if PLAIN else ((memory, values),):
        target[:] = source


def table_of(addresses: Sequence[Any]) -> Any:
    """Return addresses of functions as an array; 0 stands for none."""
    return np.array(addresses, dtype=object if PLAIN else np.int64)


@functools.cache
def array_types(fields: Any) -> tuple[types.Array, ...]:
    """Return the numba types of the arrays of a named tuple from its annotations."""
    hints = get_type_hints(fields, include_extras=True)
    return tuple(hint.__metadata__[0] for hint in hints.values())


class PackedType(types.Type):
    """A packed named tuple in compiled code: the address of its layout."""

    def __init__(self, fields: Any):
        """Take the class of the named tuple, whose annotations contain numba types."""
        self.arrays = dict(zip(fields._fields, array_types(fields), strict=True))
        super().__init__(name=f"{fields.__module__}.{fields.__qualname__} {self.arrays}")


register_model(PackedType)(_ReferenceModel)


@infer_getattr
class _PackedAttributes(AttributeTemplate):
    """The types of the arrays."""

    key = PackedType

    def generic_resolve(self, packed, name):  # type: ignore[override]
        """Return the type of an array."""
        return packed.arrays.get(name)


@lower_getattr_generic(PackedType)
def _packed_array(context, builder, kind, value, name):
    """Emit an array of a packed named tuple."""
    array = kind.arrays[name]
    first = WORDS_PER_ARRAY * list(kind.arrays).index(name)
    offset, *shape = (_word(builder, value, first + j) for j in range(1 + array.ndim))
    pointer = context.get_data_type(array.dtype).as_pointer()
    data = builder.bitcast(builder.gep(value, [offset]), pointer)
    return array_at(context, builder, array, data, shape)


def unpacking(fields: type[tuple]) -> Any:
    """Return a compiled function that reads a `packed` named tuple of a class by its fields.

    The arrays do not own their memory: unlike slices, they have no references to count.
    """
    if PLAIN:
        return _same

    @intrinsic
    def unpacked(_context, memory):
        def generate(context, builder, signature, values):
            data = array_pointer(context, builder, signature.args[0], values[0])
            return builder.bitcast(data, _WORD.as_pointer())

        return PackedType(fields)(memory), generate

    return unpacked

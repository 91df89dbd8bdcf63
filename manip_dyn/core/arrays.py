"""Arrays, named tuples and function addresses in compiled code."""

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
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

from manip_dyn.core import private_numba
from manip_dyn.core.compiled import PLAIN, compiled


def address_for(function: Any, signature: tuple) -> Any:
    """Return the address of a compiled function for a tuple of argument types.

    In plain Python, functions are used as their own addresses.
    """
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
    """Return a function of `numba.njit` with the calling convention of this package."""
    return compiled(keep=False)(function.py_func)


def address_of(function: Any, *arguments: Any) -> Any:
    """Return the address of a function, compiled for the types of `arguments`."""
    return address_for(function, tuple(map(typeof, arguments)))


_callbacks: list[Any] = []
"""Callbacks whose addresses are in use and which must not be garbage-collected."""


def emit_call(
    context: Any,
    builder: Any,
    address: Any,
    returns: Any,
    kinds: tuple,
    values: Any,
    raises: bool = False,
) -> Any:
    """Emit a call of the function at an address, and return its result as an LLVM value.

    Args:
        context: The target context.
        builder: The IR builder.
        address: The address, an LLVM integer.
        returns: The numba type of the result.
        kinds: The numba types of the arguments.
        values: The arguments as LLVM values.
        raises: Whether exceptions of the function are propagated (never with stock numba).
    """
    if private_numba.STOCK:
        types_ = [context.get_value_type(kind) for kind in kinds]
        pointer = ir.FunctionType(context.get_value_type(returns), types_).as_pointer()
        return builder.call(builder.inttoptr(address, pointer), values)
    result = private_numba.call_at(context, builder, address, returns, kinds, values, raises)
    return context.get_dummy_value() if returns is types.none else result


def _caller(returns: Any) -> Any:
    """Return an intrinsic that calls the function at an address with a tuple of arguments."""

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
    """Call a function in plain Python and return its result, see `address_for`."""
    return function(*arguments)


call_returning: Any = _call_in_python if PLAIN else _caller(types.int64)
"""``call_returning(address, arguments)``: call a function and return its integer result."""
call_checking: Any = _call_in_python if PLAIN else _caller(types.boolean)
"""``call_checking(address, arguments)``: call a function and return its Boolean result."""
call_writing: Any = _call_in_python if PLAIN else _caller(types.none)
"""``call_writing(address, arguments)``: call a compiled function without a result."""


# ------------------------------------------------------------------ arrays
VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]
WORDS = types.int64[::1]
Vector = Annotated[np.ndarray, VECTOR]
Matrix = Annotated[np.ndarray, MATRIX]
Tensor = Annotated[np.ndarray, types.float64[:, :, ::1]]
Index = Annotated[np.ndarray, WORDS]
Flags = Annotated[np.ndarray, types.boolean[::1]]
Addresses = Annotated[np.ndarray, WORDS]
"""Array of addresses of compiled functions for `call_writing`; see `table_of`."""
_WORD = ir.IntType(64)


def array_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the LLVM pointer to the data of an array."""
    return cgutils.create_struct_proxy(kind)(context, builder, value).data


def array_at(
    context: Any, builder: Any, kind: types.Array, data: Any, shape: Sequence[Any]
) -> Any:
    """Return the LLVM value of a C-contiguous array that does not own its memory.

    Args:
        context: The target context.
        builder: The IR builder.
        kind: The numba type of the array.
        data: The pointer to the data.
        shape: Extents of the axes, LLVM integers of 64 bits.
    """
    size = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(extent, strides[0]))
    array = cgutils.create_struct_proxy(kind)(context, builder)
    array.data = data
    array.shape = cgutils.pack_array(builder, shape, _WORD)
    array.strides = cgutils.pack_array(builder, strides, _WORD)
    array.itemsize = size
    array.nitems = functools.reduce(builder.mul, shape)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@intrinsic
def _row(_context, matrix, index):
    def generate(context, builder, signature, values):
        whole = cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0])
        index = context.cast(builder, values[1], signature.args[1], types.intp)
        width = builder.extract_value(whole.shape, 1)
        data = builder.gep(whole.data, [builder.mul(index, width)])
        return array_at(context, builder, signature.return_type, data, [width])

    return VECTOR(matrix, index), generate


@intrinsic
def _part(_context, array, first, count):
    def generate(context, builder, signature, values):
        whole = cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0])
        first, count = (
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(values[1:], signature.args[1:], strict=True)
        )
        shape = [count]
        if array.ndim == 2:
            shape.append(builder.extract_value(whole.shape, 1))
            first = builder.mul(first, shape[1])
        data = builder.gep(whole.data, [first])
        return array_at(context, builder, signature.return_type, data, shape)

    return (MATRIX if array.ndim == 2 else VECTOR)(array, first, count), generate


@intrinsic
def _data_pointer(_context, array):
    def generate(context, builder, signature, values):
        return array_pointer(context, builder, signature.args[0], values[0])

    return types.CPointer(types.float64)(array), generate


@intrinsic
def _unowned(_context, value):
    def generate(context, builder, signature, values):
        return _without_owner(context, builder, signature.return_type, values[0])

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the LLVM value of an array, or of a tuple of arrays, without references to owners.

    Other values are returned unchanged.
    """
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if hasattr(kind, "types") and not isinstance(kind, TupleReferenceType):
        for i, item in enumerate(kind.types):
            inner = _without_owner(context, builder, item, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    return value


def _same(value):
    return value


def _plain_row(matrix, index):
    return matrix[index]


def _plain_part(array, first, count):
    return array[first : first + count]


row: Any = _plain_row if PLAIN else _row
"""``row(matrix, index)``: return a row (m,) of a C-contiguous matrix (n, m) of float64."""
part: Any = _plain_part if PLAIN else _part
"""``part(array, first, count)``: return `count` entries of a vector, or rows of a matrix, that
begin at index `first`."""
rows: Any = part
"""``rows(matrix, first, count)``: return `count` rows of a matrix that begin at index `first`."""
unowned: Any = _same if PLAIN else _unowned
"""``unowned(value)``: return an array, or a tuple of arrays, without reference counting."""
data_pointer: Any = _same if PLAIN else _data_pointer
"""``data_pointer(array)``: return the pointer to the data of a C-contiguous array."""


# ------------------------------------------------------------------ named tuples
Fields = TypeVar("Fields", bound=tuple)


def by_reference(fields: Fields) -> Fields:
    """Return a reference to a named tuple for compiled code. Python can read its fields, too.

    The fields must be C-contiguous arrays, numbers, or tuples of these. In plain Python, the named
    tuple itself is returned.
    """
    return fields if PLAIN else TupleReference(fields)  # type: ignore[return-value]


class TupleReference:
    """A named tuple with its machine words: addresses and extents of arrays, and numbers.

    Attributes:
        fields: The named tuple. Its fields are attributes, too.
        words: The machine words (int64).
        address: Address of the machine words.
    """

    def __init__(self, fields: Any):
        """Compute the machine words of a named tuple."""
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

    def __getattr__(self, name: str) -> Any:
        """Return a property of the named tuple."""
        if name == "fields":  # not yet initialized
            raise AttributeError(name)
        return getattr(self.fields, name)

    def __reduce__(self):
        """Raise an error, because the addresses are invalid in another process."""
        raise TypeError(f"machine words of {type(self.fields).__name__} cannot be pickled.")


_reference_types: dict[tuple, TupleReferenceType] = {}
"""Reference types by the properties of the fields, see `_add_words`."""


def _add_words(value: Any, words: list[int], marks: list[Any]) -> None:
    """Append the words of a value, and the properties that determine its numba type."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("arrays in a reference must be C-contiguous.")
        words += (_address_of(value), *value.shape)
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
    """Return the address of the data of an array."""
    flags = array.flags
    if array.size and flags.c_contiguous and flags.writeable:  # ten times faster
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return array.__array_interface__["data"][0]


class TupleReferenceType(types.NamedTuple):
    """Numba type of a reference to a named tuple. It has the same fields as the named tuple.

    Attributes:
        value: The numba type of the named tuple.
    """

    def __init__(self, value: types.NamedTuple):
        """Initialize from the numba type of the named tuple."""
        kinds = [
            TupleReferenceType(kind) if isinstance(kind, types.NamedTuple) else kind
            for kind in value.types
        ]
        super().__init__(kinds, value.instance_class)
        self.value = value
        # Names of functions contain the names of types: a name with all fields would be too long.
        digest = hashlib.sha256(str(value).encode()).hexdigest()[:16]
        self.name = f"{value.instance_class.__name__}_{digest}"


def _words_of(kind: Any) -> int:
    """Return the number of machine words of a value of a numba type."""
    if isinstance(kind, types.Array):
        return 1 + kind.ndim
    return sum(map(_words_of, kind.types)) if hasattr(kind, "types") else 1


@register_model(TupleReferenceType)
class _ReferenceModel(models.PrimitiveModel):
    """Data model of a reference: a pointer to the machine words."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(TupleReferenceType)
def _unboxed(_kind, value, c):
    number = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(pointer, _WORD.as_pointer()))


@lower_getattr_generic(TupleReferenceType)
def _field(context, builder, kind, value, name):
    """Return the LLVM value of a field of a reference."""
    index = kind.fields.index(name)
    first = sum(map(_words_of, kind.types[:index]))
    address = builder.gep(value, [ir.Constant(_WORD, first)])
    return _loaded(context, builder, kind.types[index], address)


def _loaded(context: Any, builder: Any, kind: Any, address: Any) -> Any:
    """Return the LLVM value of a numba type from the pointer to its machine words."""
    if isinstance(kind, TupleReferenceType):
        return address
    if isinstance(kind, types.Array):
        data = _word(builder, address, 0, context.get_data_type(kind.dtype).as_pointer())
        shape = [_word(builder, address, 1 + axis) for axis in range(kind.ndim)]
        return array_at(context, builder, kind, data, shape)
    if not hasattr(kind, "types"):
        return _word(builder, address, 0, context.get_value_type(kind))
    items, first = [], 0
    for item in kind.types:
        pointer = builder.gep(address, [ir.Constant(_WORD, first)])
        items.append(_loaded(context, builder, item, pointer))
        first += _words_of(item)
    return context.make_tuple(builder, kind, items)


def _word(builder: Any, address: Any, index: int, word_type: Any = _WORD) -> Any:
    """Return the LLVM value of a machine word, which LLVM may assume to be constant."""
    pointer = builder.gep(address, [ir.Constant(_WORD, index)])
    word = builder.load(builder.bitcast(pointer, word_type.as_pointer()), align=8)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@intrinsic
def _value_of(_context, reference):
    def generate(context, builder, signature, values):
        return _loaded(context, builder, signature.return_type, values[0])

    return reference.value(reference), generate


value_of: Any = _same if PLAIN else _value_of
"""``value_of(reference)``: return the named tuple itself in compiled code."""


@functools.cache
def array_types(fields: Any) -> tuple[Any, ...]:
    """Return the numba types of the fields of a NamedTuple class, from its annotations.

    The fields are arrays, or named tuples of these.
    """
    hints = get_type_hints(fields, include_extras=True)
    return tuple(
        types.NamedTuple(array_types(hint), hint)
        if hasattr(hint, "_fields")
        else hint.__metadata__[0]
        for hint in hints.values()
    )


def packed(arrays: Any) -> Any:
    """Return a single array (int64) with the words and copies of the arrays of a named tuple.

    The arrays must contain numbers of 64 bits. Compiled code receives the result at the cost of a
    single array and reads it with `unpacking`. In plain Python, `arrays` itself is returned.
    """
    if PLAIN:
        return arrays
    offset = sum(1 + array.ndim for array in arrays)
    copies = [array.ravel().view(np.int64) for array in arrays]
    memory = np.concatenate([np.empty(offset, dtype=np.int64), *copies])
    words, begin = list[int](), memory.ctypes.data
    for array in arrays:
        words += (begin + 8 * offset, *array.shape)
        offset += array.size
    memory[: len(words)] = words
    return memory


def overwrite(memory: Any, values: Any) -> None:
    """Overwrite `packed` arrays with other packed arrays of the same shapes.

    Args:
        memory: The `packed` arrays that are overwritten.
        values: The `packed` arrays that are copied.
    """
    if PLAIN:
        for target, source in zip(memory, values, strict=True):
            if target is not source:
                target[:] = source
    else:
        first = (values[0] - values.ctypes.data) // 8  # the words contain addresses
        memory[first:] = values[first:]


def unpacking(fields: type[tuple]) -> Any:
    """Return a function that converts `packed` arrays or `words_of` a reference to a reference.

    Args:
        fields: The NamedTuple class of the reference.
    """
    if PLAIN:
        return _same

    @intrinsic
    def unpacked(_context, memory):
        def generate(context, builder, signature, values):
            data = array_pointer(context, builder, signature.args[0], values[0])
            return builder.bitcast(data, _WORD.as_pointer())

        kind = TupleReferenceType(types.NamedTuple(array_types(fields), fields))
        return kind(memory), generate

    return unpacked


def words_of(reference: Any) -> Any:
    """Return the machine words of a reference as an array (int64), which `unpacking` converts.

    The reference must not be garbage-collected while compiled code uses the words. In plain
    Python, the named tuple itself is returned.
    """
    return reference if PLAIN else reference.words


def table_of(addresses: Sequence[Any]) -> Any:
    """Return function addresses, or 0 for no function, as an array (int64) for compiled code."""
    return np.array(addresses, dtype=object if PLAIN else np.int64)

"""C functions of Python that match arrays with shapes and call kernels by address.

Numba's dispatcher takes 320 ns to call the pose of a seven-joint arm for arguments that compiled
code then checks. A function of this module takes 40 ns. It reads the members of NumPy's
`PyArrayObject`, whose layout is part of the binary interface of NumPy 1 and 2, and is an object of
`PyCFunction_NewEx` in Python's C API. The module checks the layout at run time. If it differs, or
without machine code, no arguments match, and the callers use a slower path.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from manip_dyn.core.arrays import address_for, emit_call
from manip_dyn.core.compiled import PLAIN, STOCK, compiled, inlined

STATES = -1
"""Extent of an axis with one entry per state: the same number for all arrays."""
MISMATCH = -1
"""Result for arguments that do not match, or contain numbers that are not finite."""
WORD = 8
_BODY = object.__basicsize__
_TYPE, _DATA, _AXES, _EXTENTS, _ITEMS, _FLAGS = (_BODY + WORD * i for i in (-1, 0, 1, 2, 5, 6))
"""Offsets of members in `PyArrayObject`: type, data, nd, dimensions, descr and flags, bytes."""
_KIND = _BODY + WORD
"""Offset of kind, type, byteorder, flags and type_num in `PyArray_Descr`, bytes."""
_RUN, _COUNT, _KERNEL, _FINITE, _MASK, _ARRAY, _FLOAT, _INTEGER, _PATTERNS = (
    WORD * i for i in range(9)
)
"""Offsets of the numbers of a function, see `array_function`, bytes."""
_CONTIGUOUS, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400
"""Flags of NumPy's C interface."""
_FASTCALL = 0x80
"""Python's calling convention `METH_FASTCALL`: an array of arguments and their number."""


def array_function(
    shapes: Sequence[tuple[int, ...]],
    kernel: Any = 0,
    finite: bool = False,
    dtype: Any = np.float64,
) -> Callable[..., int]:
    """Return a function of arrays of one number type that calls a kernel if all shapes match.

    The arrays must be C-contiguous and aligned. The function returns the extent of the axes
    `STATES` (0 if there are none), or `MISMATCH` without calling the kernel.

    Args:
        shapes: Shapes of the arrays. The last array is the result.
        kernel: Address of the kernel. With 0, the function only matches the arrays, which must be
            writable.
        finite: Whether float64 numbers that are not finite are a mismatch, except in the result.
        dtype: Number type of the arrays.
    """
    if PLAIN or STOCK or not _is_layout_known():
        return lambda *_arrays: MISMATCH
    run, method, integer = _shared()
    patterns = [number for shape in shapes for number in (len(shape), *shape)]
    mask = _CONTIGUOUS | _ALIGNED | (0 if kernel else _WRITABLE)
    head = [
        run,
        len(shapes),
        kernel,
        finite,
        mask,
        id(np.ndarray),
        _kind_of(np.dtype(dtype)),
        integer,
    ]
    numbers = np.array([*head, *patterns], dtype=np.int64)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.argtypes, create.restype = [ctypes.c_void_p, *[ctypes.py_object] * 2], ctypes.py_object
    return create(ctypes.addressof(method), numbers, None)


class _Method(ctypes.Structure):
    """`PyMethodDef` of Python's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@lru_cache(maxsize=1)
def _shared() -> tuple[int, _Method, int | None]:
    """Return the address of `_run`, the method that calls it, and a function of Python's C API."""
    run, entry = address_for(_run, (types.int64,) * 3), _entry_address()
    integer = ctypes.cast(ctypes.pythonapi.PyLong_FromLongLong, ctypes.c_void_p).value
    return run, _Method(b"array_function", entry, _FASTCALL, None), integer


def _kind_of(dtype: np.dtype) -> int:
    """Return the word of a dtype with its kind, byte order and number.

    Equal dtypes may be different objects: those of unpickled machine code differ from NumPy's.
    """
    return ctypes.c_int64.from_address(id(dtype) + _KIND).value


@lru_cache(maxsize=1)
def _is_layout_known() -> bool:
    """Return whether the members of an array are at the expected offsets."""
    array = np.empty((2, 3))
    long, short = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    begin = id(array)
    return (
        ctypes.sizeof(ctypes.c_void_p) == WORD
        and long(begin + _TYPE).value == id(np.ndarray)
        and long(begin + _DATA).value == array.ctypes.data
        and short(begin + _AXES).value == array.ndim
        and _kind_of(pickle.loads(pickle.dumps(array.dtype))) == _kind_of(array.dtype)
        and _kind_of(array.dtype)
        not in map(_kind_of, map(np.dtype, ("i8", "f4", ">f8", "<M8[s]")))
        and long(begin + _ITEMS).value == id(array.dtype)
        and short(begin + _FLAGS).value == array.flags.num
        and long(long(begin + _EXTENTS).value + WORD).value == array.shape[1]
    )


# ------------------------------------------------------------------ compiled functions
def _reader(kind: Any, llvm_type: ir.Type) -> Any:
    """Return an intrinsic ``(address, offset)`` that reads a number from memory."""

    @intrinsic
    def read(_context, address, offset):
        def generate(context, builder, signature, values):
            pairs = zip(values, signature.args, strict=True)
            address = builder.add(*(context.cast(builder, x, t, types.int64) for x, t in pairs))
            return builder.load(builder.inttoptr(address, llvm_type.as_pointer()), align=4)

        return kind(address, offset), generate

    return read


_word = _reader(types.int64, ir.IntType(64))
_short = _reader(types.int32, ir.IntType(32))
_number = _reader(types.float64, ir.DoubleType())


def _kernel_call(_context, address, data):
    """Type and emit the call of a kernel with the addresses of the data of arrays."""

    def generate(context, builder, signature, values):
        pointer, count = types.CPointer(types.float64), len(signature.args[1])
        pointers = [
            builder.inttoptr(builder.extract_value(values[1], i), ir.DoubleType().as_pointer())
            for i in range(count)
        ]
        return emit_call(context, builder, values[0], types.none, (pointer,) * count, pointers)

    return types.none(address, data), generate


_call: Any = intrinsic(_kernel_call)


@compiled(counted=False)
def _run(arguments, count, numbers):
    """Match arrays and call the kernel, see `array_function`.

    Args:
        arguments: Address of the addresses of the Python objects.
        count: Number of the objects.
        numbers: Address of the numbers of the function.
    """
    if count != _word(numbers, _COUNT):
        return MISMATCH
    array_type, float_type = _word(numbers, _ARRAY), _word(numbers, _FLOAT)
    mask, finite = _word(numbers, _MASK), _word(numbers, _FINITE)
    states, zeros, pattern = STATES, 0.0, numbers + _PATTERNS
    for i in range(count):
        array, axes = _word(arguments, WORD * i), _word(pattern, 0)
        if (
            _word(array, _TYPE) != array_type
            or _word(_word(array, _ITEMS), _KIND) != float_type
            or _short(array, _AXES) != axes
            or _short(array, _FLAGS) & mask != mask
        ):
            return MISMATCH
        size, extents = 1, _word(array, _EXTENTS)
        for _ in range(axes):
            extent, pattern = _word(extents, 0), pattern + WORD
            expected = _word(pattern, 0)
            if expected == STATES:
                expected = states = extent if states == STATES else states
            if extent != expected:
                return MISMATCH
            size, extents = size * extent, extents + WORD
        pattern += WORD
        if finite and i + 1 < count:
            data = _word(array, _DATA)
            for k in range(size):
                zeros += 0.0 * _number(data, WORD * k)  # NaN for an infinite number or NaN
    if zeros != 0.0:
        return MISMATCH
    _call_kernel(_word(numbers, _KERNEL), arguments, count)
    return max(states, 0)


@inlined(counted=False)
def _call_kernel(kernel, arguments, count):
    """Call the kernel at an address, unless the address is 0, with two to six arrays."""
    if kernel == 0:
        return
    a, b = _data(arguments, 0), _data(arguments, 1)
    if count == 2:
        _call(kernel, (a, b))
        return
    c = _data(arguments, 2)
    if count == 3:
        _call(kernel, (a, b, c))
        return
    d = _data(arguments, 3)
    if count == 4:
        _call(kernel, (a, b, c, d))
        return
    e = _data(arguments, 4)
    if count == 5:
        _call(kernel, (a, b, c, d, e))
    else:
        _call(kernel, (a, b, c, d, e, _data(arguments, 5)))


@inlined(counted=False)
def _data(arguments, i):
    """Return the address of the data of an array."""
    return _word(_word(arguments, WORD * i), _DATA)


def _function_address(_context):
    """Type and emit the address of a C function that calls `_run`."""

    def generate(context, builder, _signature, _values):
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(pointer, [pointer, pointer, word])
        function = ir.Function(builder.module, kind, "manip_dyn_array_function")
        function.linkage = "internal"
        owner, arguments, count = function.args
        inner = ir.IRBuilder(function.append_basic_block())

        def load(address, offset):
            moved = inner.add(address, word(offset))
            return inner.load(inner.inttoptr(moved, word.as_pointer()))

        numbers = load(inner.ptrtoint(owner, word), _DATA)
        values = [inner.ptrtoint(arguments, word), count, numbers]
        result = emit_call(
            context, inner, load(numbers, _RUN), types.int64, (types.int64,) * 3, values
        )
        boxed = ir.FunctionType(pointer, [word]).as_pointer()
        inner.ret(inner.call(inner.inttoptr(load(numbers, _INTEGER), boxed), [result]))
        return builder.ptrtoint(function, word)

    return types.int64(), generate


_entry: Any = intrinsic(_function_address)


@compiled(counted=False)
def _entry_address():
    """Return the address of the C function that calls `_run` with the numbers of its method."""
    return _entry()

"""Two JAX primitives for all kernels: a function y(x), and its linear derivative.

`value` computes y(x). `linear` computes J(x) d or, transposed, J(x)^T d, which is linear in d. The
rules of both primitives are complete: the tangent of y is J d, the transpose of J d is J^T d, and
the derivative of J(x) d with respect to x is the tangent of a function of (x, d). On the CPU, XLA
calls machine code directly. Other devices call it through Python.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from numba import carray, cfunc, types
from numba.extending import intrinsic

from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.fingerprint import digest_of
from manip_dyn.export.vector_functions import VectorFunction, rows_function, write_rows

value = Primitive("manip_dyn_value")
linear = Primitive("manip_dyn_linear")


def call(function: VectorFunction, x: Any) -> Any:
    """Return y (..., outputs) for x (..., inputs), both in double precision."""
    return value.bind(x, function=function)


def _direction(function: VectorFunction, transposed: bool) -> VectorFunction:
    return function.adjoint if transposed else function.tangent


# ------------------------------------------------------------------------------ shapes and calls
def _abstract_value(x: Any, *, function: VectorFunction) -> Any:
    return jax.core.ShapedArray((*x.shape[:-1], function.outputs), np.dtype(np.float64))


def _abstract_linear(x: Any, d: Any, *, function: VectorFunction, transposed: bool) -> Any:
    size = function.inputs if transposed else function.outputs
    return jax.core.ShapedArray((*x.shape[:-1], size), np.dtype(np.float64))


@partial(jax.jit, static_argnames="function")
def _run_value(x: Any, *, function: VectorFunction) -> Any:
    return value.bind(x, function=function)


@partial(jax.jit, static_argnames=("function", "transposed"))
def _run_linear(x: Any, d: Any, *, function: VectorFunction, transposed: bool) -> Any:
    return linear.bind(x, d, function=function, transposed=transposed)


def _linear_as_value(x: Any, d: Any, *, function: VectorFunction, transposed: bool) -> Any:
    both = jax.numpy.concatenate([x, d], axis=-1)
    return value.bind(both, function=_direction(function, transposed))


def by_python(x: Any, *, function: VectorFunction) -> Any:
    """Call a kernel through Python: on devices other than the CPU, or without the compiler."""

    def write(values: Any) -> Any:
        states = np.ascontiguousarray(values).reshape(-1, function.inputs)
        out = np.empty((len(states), function.outputs))
        write_rows(function, states, out)
        return out.reshape(*values.shape[:-1], function.outputs)

    result = jax.ShapeDtypeStruct((*x.shape[:-1], function.outputs), np.float64)
    return jax.pure_callback(write, result, x, vmap_method="broadcast_all")


def _by_xla(context: Any, x: Any, *, function: VectorFunction) -> Any:
    return jax.ffi.ffi_lowering(_target(function))(context, x)


def _pointer_to(kind: Any) -> Any:
    def make(_context, address):
        def generate(context, builder, signature, values):
            return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return intrinsic(make)


words_at: Any = _pointer_to(types.int64)
"""``words_at(address)``: return a pointer to eight-byte integers."""
numbers_at: Any = _pointer_to(types.float64)
"""``numbers_at(address)``: return a pointer to double-precision numbers."""

# Offsets in the structures of XLA's C interface for custom calls, in words of eight bytes
# (xla/ffi/api/c_api.h: XLA_FFI_CallFrame, _Args, _Rets, _Buffer, _Metadata_Extension).
EXTENSION, ARGUMENTS, RESULTS = 1, 9, 14
DATA, RANK, EXTENTS = 3, 4, 5
KIND, METADATA, METADATA_KIND = 1, 3, 1
VERSION, TRAITS = 3, 4
INTERFACE = 0 | 1 << 32
"""Version 0.1 of XLA's interface."""


@cache
def _target(function: VectorFunction) -> str:
    """Return the XLA name of a function; the first call compiles and registers the function."""
    rows, inputs, outputs = rows_function(function), function.inputs, function.outputs

    @cfunc(types.int64(types.CPointer(types.int64)))
    def handler(frame):
        """Handle a call from XLA, or report the version of the interface."""
        if frame[EXTENSION] != 0:
            extension = words_at(frame[EXTENSION])
            if (extension[KIND] & 0xFFFFFFFF) == METADATA_KIND:
                metadata = words_at(extension[METADATA])
                metadata[VERSION] = INTERFACE
                return 0
        argument = words_at(words_at(frame[ARGUMENTS])[0])
        result = words_at(words_at(frame[RESULTS])[0])
        extents = words_at(argument[EXTENTS])
        states = 1
        for axis in range(argument[RANK] - 1):
            states *= extents[axis]
        rows(
            carray(numbers_at(argument[DATA]), (states, inputs)),
            carray(numbers_at(result[DATA]), (states, outputs)),
        )
        return 0

    name = f"manip_dyn_{function.name}_{digest_of(rows)[:24]}"
    _handlers.append(handler)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler.ctypes), platform="cpu")
    return name


_handlers: list[Any] = []
"""References that keep the handlers alive for XLA."""


# ------------------------------------------------------------------------------ derivatives
def _value_tangent(primals: Any, tangents: Any, *, function: VectorFunction) -> Any:
    (x,), (d,) = primals, tangents
    y = value.bind(x, function=function)
    if type(d) is ad.Zero:
        return y, ad.Zero.from_primal_value(y)
    return y, linear.bind(x, d, function=function, transposed=False)


def _linear_tangent(
    primals: Any, tangents: Any, *, function: VectorFunction, transposed: bool
) -> Any:
    (x, d), (by_x, by_d) = primals, tangents
    result = linear.bind(x, d, function=function, transposed=transposed)
    terms = []
    if type(by_d) is not ad.Zero:
        terms.append(linear.bind(x, by_d, function=function, transposed=transposed))
    if type(by_x) is not ad.Zero:
        both = jax.numpy.concatenate([x, d], axis=-1)
        direction = jax.numpy.concatenate([by_x, jax.numpy.zeros_like(d)], axis=-1)
        outer = _direction(function, transposed)
        terms.append(linear.bind(both, direction, function=outer, transposed=False))
    if not terms:
        return result, ad.Zero.from_primal_value(result)
    return result, sum(terms[1:], terms[0])


def _linear_transpose(
    weight: Any, x: Any, d: Any, *, function: VectorFunction, transposed: bool
) -> Any:
    if ad.is_undefined_primal(x) or type(weight) is ad.Zero:
        return [None, ad.Zero(d.aval)]
    return [None, linear.bind(x, weight, function=function, transposed=not transposed)]


# ------------------------------------------------------------------------------ batches
def _value_batch(arguments: Any, axes: Any, *, function: VectorFunction) -> Any:
    return value.bind(jax.numpy.moveaxis(arguments[0], axes[0], 0), function=function), 0


def _linear_batch(arguments: Any, axes: Any, **parameters: Any) -> Any:
    """Broadcast both arguments to the same batch of states."""
    pairs = list(zip(arguments, axes, strict=True))
    count = next(array.shape[axis] for array, axis in pairs if axis is not None)
    first = [
        jax.numpy.broadcast_to(array, (count, *array.shape))
        if axis is None
        else jax.numpy.moveaxis(array, axis, 0)
        for array, axis in pairs
    ]
    return linear.bind(*first, **parameters), 0


value.def_impl(_run_value)
linear.def_impl(_run_linear)
value.def_abstract_eval(_abstract_value)
linear.def_abstract_eval(_abstract_linear)
ad.primitive_jvps[value] = _value_tangent
ad.primitive_jvps[linear] = _linear_tangent
ad.primitive_transposes[linear] = _linear_transpose
batching.primitive_batchers[value] = _value_batch
batching.primitive_batchers[linear] = _linear_batch
mlir.register_lowering(value, mlir.lower_fun(by_python, multiple_results=False))
if not PLAIN:
    mlir.register_lowering(value, _by_xla, platform="cpu")
mlir.register_lowering(linear, mlir.lower_fun(_linear_as_value, multiple_results=False))

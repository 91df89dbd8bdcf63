"""Two primitives of JAX for all kernels: a function y(x), and what is linear in its derivative.

`value` computes y(x); `linear` computes J(x) d or, transposed, J(x)^T d, linear in d. Their rules
need no other: the tangent of y is J d; the transpose of J d is J^T d; and what J(x) d changes by
with x is the tangent of a function of (x, d), again. On the CPU both are calls of machine code by
XLA itself, elsewhere by way of Python.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from manip_dyn.core.compiled import PLAIN
from manip_dyn.export.vector_functions import VectorFunction, rows_module, write_rows

value = Primitive("manip_dyn_value")
linear = Primitive("manip_dyn_linear")


def call(made: VectorFunction, x: Any) -> Any:
    """Return y (..., outputs) of x (..., inputs), both in double precision."""
    return value.bind(x, made=made)


def _direction(made: VectorFunction, transposed: bool) -> VectorFunction:
    return made.adjoint if transposed else made.tangent


# ------------------------------------------------------------------------------ shapes and calls
def _abstract_value(x: Any, *, made: VectorFunction) -> Any:
    return jax.core.ShapedArray((*x.shape[:-1], made.outputs), np.dtype(np.float64))


def _abstract_linear(x: Any, d: Any, *, made: VectorFunction, transposed: bool) -> Any:
    size = made.inputs if transposed else made.outputs
    return jax.core.ShapedArray((*x.shape[:-1], size), np.dtype(np.float64))


@partial(jax.jit, static_argnames="made")
def _run_value(x: Any, *, made: VectorFunction) -> Any:
    return value.bind(x, made=made)


@partial(jax.jit, static_argnames=("made", "transposed"))
def _run_linear(x: Any, d: Any, *, made: VectorFunction, transposed: bool) -> Any:
    return linear.bind(x, d, made=made, transposed=transposed)


def _linear_as_value(x: Any, d: Any, *, made: VectorFunction, transposed: bool) -> Any:
    both = jax.numpy.concatenate([x, d], axis=-1)
    return value.bind(both, made=_direction(made, transposed))


def by_python(x: Any, *, made: VectorFunction) -> Any:
    """Call by way of Python, where XLA cannot call machine code of the CPU."""

    def write(given: Any) -> Any:
        states = np.ascontiguousarray(given).reshape(-1, made.inputs)
        out = np.empty((len(states), made.outputs))
        write_rows(made, states, out)
        return out.reshape(*given.shape[:-1], made.outputs)

    result = jax.ShapeDtypeStruct((*x.shape[:-1], made.outputs), np.float64)
    return jax.pure_callback(write, result, x, vmap_method="broadcast_all")


def _by_xla(context: Any, x: Any, *, made: VectorFunction) -> Any:
    return jax.ffi.ffi_lowering(_target(made))(context, x)


@cache
def _target(made: VectorFunction) -> str:
    """Return the name under which XLA knows a function; it is compiled now if it is new."""
    from numba import cfunc

    module: Any = rows_module(made)
    name = f"manip_dyn_{module.__name__}"
    handler = cfunc(module.HANDLER)(module.handler)
    _handlers.append(handler)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler.ctypes), platform="cpu")
    return name


_handlers: list[Any] = []
"""Kept as long as XLA may call them."""


# ------------------------------------------------------------------------------ derivatives
def _value_tangent(primals: Any, tangents: Any, *, made: VectorFunction) -> Any:
    (x,), (d,) = primals, tangents
    y = value.bind(x, made=made)
    if type(d) is ad.Zero:
        return y, ad.Zero.from_primal_value(y)
    return y, linear.bind(x, d, made=made, transposed=False)


def _linear_tangent(primals: Any, tangents: Any, *, made: VectorFunction, transposed: bool) -> Any:
    (x, d), (by_x, by_d) = primals, tangents
    result = linear.bind(x, d, made=made, transposed=transposed)
    parts = []
    if type(by_d) is not ad.Zero:
        parts.append(linear.bind(x, by_d, made=made, transposed=transposed))
    if type(by_x) is not ad.Zero:
        both = jax.numpy.concatenate([x, d], axis=-1)
        moving = jax.numpy.concatenate([by_x, jax.numpy.zeros_like(d)], axis=-1)
        outer = _direction(made, transposed)
        parts.append(linear.bind(both, moving, made=outer, transposed=False))
    if not parts:
        return result, ad.Zero.from_primal_value(result)
    return result, sum(parts[1:], parts[0])


def _linear_transpose(
    weight: Any, x: Any, d: Any, *, made: VectorFunction, transposed: bool
) -> Any:
    if ad.is_undefined_primal(x) or type(weight) is ad.Zero:
        return [None, ad.Zero(d.aval)]
    return [None, linear.bind(x, weight, made=made, transposed=not transposed)]


# ------------------------------------------------------------------------------ many at once
def _value_batch(arguments: Any, axes: Any, *, made: VectorFunction) -> Any:
    return value.bind(jax.numpy.moveaxis(arguments[0], axes[0], 0), made=made), 0


def _linear_batch(arguments: Any, axes: Any, **parameters: Any) -> Any:
    """Let the states of both arguments be the same, axis by axis."""
    pairs = list(zip(arguments, axes, strict=True))
    count = next(each.shape[axis] for each, axis in pairs if axis is not None)
    first = [
        jax.numpy.broadcast_to(each, (count, *each.shape))
        if axis is None
        else jax.numpy.moveaxis(each, axis, 0)
        for each, axis in pairs
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

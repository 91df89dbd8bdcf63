"""Straight-line programs compiled for one state, or for Taylor coefficients of motions.

Numba's front end dominates the compile time of a long list of assignments, and LLVM does not
vectorize such a list over a batch. The statements of a program are therefore translated directly
to LLVM instructions, with numbers or vectors of `LANES` numbers as operands. Numba still provides
types, arrays, calls and the cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from manip_dyn.codegen.backend.statements import (
    Program,
    Statement,
    divided,
    memory_slots,
    needs_division,
    program_statements,
)
from manip_dyn.codegen.backend.translator import (
    ArrayPointer,
    Layout,
    SharedValues,
    Translator,
    rows_of,
)
from manip_dyn.codegen.backend.vectors import LANES, check_arrays
from manip_dyn.core.compiled import PLAIN


def plain_one_state(program: Program) -> Callable[..., None]:
    """Return a Python function ``(inputs, out)`` that runs a program for one state.

    `inputs` are arrays in the order of ``program.inputs``; the result is written into `out`.
    """
    run = _plain_function(program)

    def for_one(inputs, out):
        run(**dict(zip(program.inputs, inputs, strict=True)), out=out)

    return for_one


def plain_one_coefficient(program: Program, order: int | None = None) -> Callable[..., None]:
    """Return a Python function ``(inputs, out, k)`` for Taylor coefficients of one order."""
    run = _plain_function(program)

    def for_order(_inputs, out, k):
        row = k if order is None else order
        run(start=out[0], previous=out[row - 1], out=out[row], order=float(row))

    return for_order


def plain_lane_coefficient(
    program: Program, products: tuple[tuple[int, int], ...], lanes: int, order: int | None = None
) -> Callable[..., None]:
    """Return the Python equivalent ``(inputs, out, k)`` of `lane_coefficient`."""
    run = _plain_function(program)

    def for_order(inputs, out, k):
        rows, row = out.reshape(len(out), -1, lanes), k if order is None else order
        arrays = dict(zip(program.inputs, inputs, strict=True))
        coefficients = {"start": rows[0], "previous": rows[row - 1], "out": rows[row]}
        sums = [(rows[1:row, a] * rows[1:row, b][::-1]).sum(axis=0) for a, b in products]
        run(**arrays, **coefficients, sums=sums, order=float(row), sin=np.sin, cos=np.cos)

    return for_order


def _plain_function(program: Program) -> Callable[..., None]:
    """Return a Python function that runs a program on its arrays."""
    code = compile(program.text, f"<program {program.name}>", "exec")

    def run(**names: Any) -> None:
        with np.errstate(all="ignore"):  # infinite and NaN results are valid
            exec(code, {"sin": sin, "cos": cos, **names})

    return run


_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


def one_state(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that runs a program for one state."""
    if PLAIN:
        return plain_one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        check_types(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            arrays = array_pointers(program, context, builder, signature, values)
            emit_program(program, builder, arrays, Layout(merged=True))
            return context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def one_state_at(program: Program, shape: tuple[int, ...]) -> Any:
    """Return an intrinsic ``(inputs, out)`` that runs a program on pointers to array data.

    Args:
        program: The program.
        shape: Shape of the output.
    """
    if PLAIN:
        return plain_one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        def generate(_context, builder, _signature, values):
            pointers, target = values
            arrays = {
                name: ArrayPointer(builder.extract_value(pointers, i), [])
                for i, name in enumerate(program.inputs)
            }
            arrays["out"] = ArrayPointer(target, [ir.Constant(_INDEX, extent) for extent in shape])
            emit_program(program, builder, arrays, Layout())
            return _context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def checked_out(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that returns `out` if all types are supported.

    A function that uses this result fails to compile for types that the program would misread.
    """
    if PLAIN:
        return lambda inputs, out: out

    @intrinsic
    def check(_context, inputs, out):
        check_types(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            return impl_ret_borrowed(context, builder, signature.return_type, values[1])

        return out(inputs, out), generate

    return check


def one_coefficient(
    program: Program, width: int, vectors: tuple[range, ...], order: int | None = None
) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for Taylor coefficients of order k.

    ``out`` has an additional first axis, with `width` numbers per coefficient. In the program
    ``start[i]`` denotes out[0, i], ``previous[i]`` out[k - 1, i], and ``order`` k, for k >= 1.
    With a constant `order`, k is ignored. The columns of each vector (see `vectors_of`) are
    written together, with zeros for those that the program does not assign. A program that is
    divided into functions writes only the columns that it assigns.
    """
    if PLAIN:
        return plain_one_coefficient(program, order)

    return _of_order(program, Layout(width=width, vectors=vectors), order)


def lane_coefficient(
    program: Program,
    width: int,
    sums: int,
    products: tuple[tuple[int, int], ...],
    order: int | None = None,
) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for Taylor coefficients of `LANES` motions.

    This is the SIMD version of `one_coefficient`: every number is a vector of `LANES` values.
    The inputs (.., LANES) are the same for all orders k. In the program, ``sums[i]`` denotes the
    convolution sum of `products[i]`. With a constant `order`, the sum is computed where it is
    used. Otherwise it is read from row `sums` + i of the last input.

    Args:
        program: The program.
        width: Vectors per coefficient, so that ``out`` is (.., width * LANES).
        sums: Row of the first sum in the last input.
        products: Columns of the factors of each product.
        order: A constant order that replaces the argument k, or None.
    """
    if PLAIN:
        return plain_lane_coefficient(program, products, LANES, order)

    layout = Layout(LANES, width=width, products=products, sums=sums)
    return _of_order(program, layout, order)


def _of_order(program: Program, layout: Layout, fixed: int | None) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for the coefficients of one order.

    Args:
        program: The program.
        layout: Memory layout of the arrays, without the row.
        fixed: Constant order that replaces the argument, or None.
    """

    @intrinsic
    def run(_context, inputs, out, k):
        check_types(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            *values, argument = values
            row = context.cast(builder, argument, signature.args[2], types.intp)
            if fixed is not None:
                row = ir.Constant(_INDEX, fixed)
            arrays = array_pointers(program, context, builder, signature, values)
            emit_program(program, builder, arrays, layout._replace(row=row))
            return context.get_dummy_value()

        return types.void(inputs, out, k), generate

    return run


def check_types(program: Program, inputs, out, extra: int, dtype: Any = types.float64) -> None:
    """Raise `TypingError` for array types that the generated code would misread.

    Args:
        program: The program.
        inputs: Numba types of the inputs.
        out: Numba type of the output.
        extra: Number of axes of the arrays in addition to those of the program.
        dtype: Numba type of the numbers.
    """
    names = dict(zip((*program.inputs, "out"), [*inputs, out], strict=True))
    dimensions = [1 + extra] * len(program.inputs) + [program.dimensions + extra]
    check_arrays(program.name, names, dimensions, dtype)
    if not out.mutable:
        raise TypingError(f"{program.name}: out must be writable, got a read-only array.")


def array_pointers(
    program: Program, context, builder, signature, values
) -> dict[str, ArrayPointer]:
    """Return the arrays of a program by name, from the values of an intrinsic's arguments."""
    inputs, out = values
    arguments = [*(builder.extract_value(inputs, i) for i in range(len(program.inputs))), out]
    arrays = {}
    for name, kind, value in zip(
        (*program.inputs, "out"), [*signature.args[0], signature.args[1]], arguments, strict=True
    ):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        extents = [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
        arrays[name] = ArrayPointer(array.data, extents)
    return arrays


def emit_program(
    program: Program, builder, arrays: dict[str, ArrayPointer], layout: Layout
) -> None:
    """Emit the statements of a program for one state or coefficient."""
    lanes = LANES if layout.vectors else layout.lanes
    if lanes > 1:
        align_stack(builder.function, lanes)
    statements = program_statements(program)
    if needs_division(statements):
        emit_functions(program.name, builder, arrays, layout, statements)
    else:
        Translator(builder, arrays, layout).run(statements)


def align_stack(function: ir.Function, lanes: int) -> None:
    """Align vectors that are spilled to the stack, which would otherwise straddle cache lines."""
    function.attributes.alignstack = 8 * lanes
    function.attributes.add("nounwind")  # llvmlite omits the alignment of an empty set


def emit_functions(
    name: str,
    builder,
    arrays: dict[str, ArrayPointer],
    layout: Layout,
    statements: list[Statement],
) -> None:
    """Emit a function for each group of statements, and the calls of all functions.

    Values that a later group reads are passed in memory on the stack. The functions
    declare to LLVM that no other pointer aliases that memory or the rows of a series.
    """
    groups = divided(statements)
    slots = memory_slots(groups)
    memory = cgutils.alloca_once(
        builder, layout.number, size=ir.Constant(_INDEX, max(slots.values(), default=0) + 1)
    )
    rows = rows_of(builder, arrays, layout)
    unaliased = [memory, *rows.values()]
    arguments = [
        *unaliased,
        *(value for array in arrays.values() for value in (array.data, *array.extents)),
    ]
    position = layout.column if layout.row is None else layout.row
    if position is not None:
        arguments.append(position)
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in arguments])
    for number, group in enumerate(groups):
        unique = builder.module.get_unique_name(f"{name}_{number}")
        function = ir.Function(builder.module, kind, unique)
        function.linkage = "internal"
        function.attributes.add("noinline")
        if layout.lanes > 1:
            align_stack(function, layout.lanes)
        for argument in function.args[: len(unaliased)]:
            argument.add_attribute("noalias")
        parameters = iter(function.args)
        shared = SharedValues(next(parameters), slots)
        inner_rows = {row: next(parameters) for row in rows}
        inner_arrays = {
            array_name: ArrayPointer(next(parameters), [next(parameters) for _ in array.extents])
            for array_name, array in arrays.items()
        }
        inner_layout = layout
        if position is not None:
            field = "column" if layout.row is None else "row"
            inner_layout = layout._replace(**{field: next(parameters)})
        body = ir.IRBuilder(function.append_basic_block())
        Translator(body, inner_arrays, inner_layout, shared, inner_rows).run(group)
        body.ret_void()
        builder.call(function, arguments)

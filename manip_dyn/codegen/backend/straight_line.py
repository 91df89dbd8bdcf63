"""Straight-line code compiled for one state, or for many states in SIMD lanes."""

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
from numba.np import arrayobj

from manip_dyn.codegen.backend.statements import (
    PIECE,
    Program,
    Statement,
    depth_first,
    in_pieces,
    is_long,
    length,
    parsed,
    slots_between,
)
from manip_dyn.codegen.backend.translator import Kept, Layout, Place, Translator, rows_of
from manip_dyn.codegen.backend.vectors import LANES, check_arrays
from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.compiler.whole_library import mark_long


def plain_one_state(program: Program) -> Callable[..., None]:
    """Return ``(inputs, out)`` that runs a program."""
    run = _plain_function(program)

    def for_one(inputs, out):
        run(**dict(zip(program.inputs, inputs, strict=True)), out=out)

    return for_one


def plain_many_states(program: Program, lanes: int) -> Callable[..., None]:
    """Return ``(inputs, out, column)`` for `lanes` states from a column on."""
    run = plain_one_state(program)

    def for_many(inputs, out, column):
        for each in range(column, column + lanes):
            run([array[..., each] for array in inputs], out[..., each])

    return for_many


def plain_one_coefficient(program: Program, order: int | None = None) -> Callable[..., None]:
    """Return ``(inputs, out, k)`` for Taylor coefficients of order k, or of `order`."""
    run = _plain_function(program)

    def for_order(_inputs, out, k):
        row = k if order is None else order
        run(start=out[0], previous=out[row - 1], out=out[row], order=float(row))

    return for_order


def plain_lane_coefficient(
    program: Program, products: tuple[tuple[int, int], ...], lanes: int, order: int | None = None
) -> Callable[..., None]:
    """Return ``(inputs, out, k)`` for Taylor coefficients of many motions, see `straight_line`."""
    run = _plain_function(program)

    def for_order(inputs, out, k):
        rows, row = out.reshape(len(out), -1, lanes), k if order is None else order
        given = dict(zip(program.inputs, inputs, strict=True))
        made = {"start": rows[0], "previous": rows[row - 1], "out": rows[row]}
        sums = [(rows[1:row, a] * rows[1:row, b][::-1]).sum(axis=0) for a, b in products]
        run(**given, **made, sums=sums, order=float(row), sin=np.sin, cos=np.cos)

    return for_order


def _plain_function(program: Program) -> Callable[..., None]:
    """Return the program's lines as a function of the arrays that they name."""
    code = compile(program.text, f"<program {program.name}>", "exec")

    def run(**names: Any) -> None:
        with np.errstate(all="ignore"):  # what is not finite comes out as such
            exec(code, {"sin": sin, "cos": cos, **names})

    return run


_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


def one_state(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that runs a program."""
    if PLAIN:
        return plain_one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        _check(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            _emit(program, context, builder, signature, values, Layout(merged=True))
            return context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def one_state_at(program: Program, shape: tuple[int, ...]) -> Any:
    """Return an intrinsic ``(inputs, out)`` that takes the places of the arrays' numbers alone.

    Args:
        program: The program.
        shape: Of its output.
    """
    if PLAIN:
        return plain_one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        def generate(_context, builder, _signature, values):
            given, end = values
            arrays = {
                name: Place(builder.extract_value(given, i), [])
                for i, name in enumerate(program.inputs)
            }
            arrays["out"] = Place(end, [ir.Constant(_INDEX, extent) for extent in shape])
            _emit_program(program, builder, arrays, Layout())
            return _context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def checked_out(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that gives `out`, and refuses misleading types.

    What takes its result is compiled for types that a program does not misread, and no others.
    """
    if PLAIN:
        return lambda inputs, out: out

    @intrinsic
    def check(_context, inputs, out):
        _check(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            return impl_ret_borrowed(context, builder, signature.return_type, values[1])

        return out(inputs, out), generate

    return check


def many_states(program: Program, lanes: int) -> Any:
    """Return an intrinsic ``(inputs, out, column)`` for `lanes` states from a column on.

    The arrays have one axis more than the program says, the last one, with a state per column.
    """
    if PLAIN:
        return plain_many_states(program, lanes)

    return _at_place(program, Layout(lanes), "column")


def one_coefficient(
    program: Program, width: int, vectors: tuple[range, ...], order: int | None = None
) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for Taylor coefficients of order k.

    ``out`` has one axis more than the program says, the first one, with `width` numbers per
    coefficient. In the program ``start[i]`` stands for out[0, i], ``previous[i]`` for
    out[k - 1, i], and ``order`` for k; what reads those has k >= 1. With `order`, k is ignored.
    The columns of a vector are written together; what the program leaves out there is zero.
    """
    if PLAIN:
        return plain_one_coefficient(program, order)

    return _at_place(program, Layout(width=width, vectors=vectors), "row", order)


def lane_coefficient(
    program: Program,
    width: int,
    sums: int,
    products: tuple[tuple[int, int], ...],
    order: int | None = None,
) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for Taylor coefficients of `LANES` motions.

    As `one_coefficient`, but every number is a vector, and inputs (.., LANES) are there once. In
    the program ``sums[i]`` stands for the sum of product i: made where it is used if `order` is
    given, and otherwise row `sums` + i of the last input.

    Args:
        program: The program.
        width: Vectors per coefficient, so that ``out`` is (.., width * LANES).
        sums: See above.
        products: Columns of the factors of each product.
        order: The order, instead of k.
    """
    if PLAIN:
        return plain_lane_coefficient(program, products, LANES, order)

    layout = Layout(LANES, width=width, products=products, sums=sums)
    return _at_place(program, layout, "row", order)


def _at_place(program: Program, layout: Layout, kind: str, fixed: int | None = None) -> Any:
    """Return an intrinsic ``(inputs, out, place)`` for arrays with one axis more.

    Args:
        program: The program.
        layout: Where numbers lie, but for the place.
        kind: What the place is of the layout: its ``row`` or its ``column``.
        fixed: The place, whatever is given; None: what is given.
    """

    @intrinsic
    def run(_context, inputs, out, place):
        _check(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            *values, given = values
            given = context.cast(builder, given, signature.args[2], types.intp)
            index = given if fixed is None else ir.Constant(_INDEX, fixed)
            whole = layout._replace(**{kind: index})
            _emit(program, context, builder, signature, values, whole)
            return context.get_dummy_value()

        return types.void(inputs, out, place), generate

    return run


def _check(program: Program, inputs, out, extra: int) -> None:
    """Refuse arrays that the generated addresses would misread."""
    names = dict(zip((*program.inputs, "out"), [*inputs, out], strict=True))
    wanted = [1 + extra] * len(program.inputs) + [program.dimensions + extra]
    check_arrays(program.name, names, wanted)
    if not out.mutable:
        raise TypingError(f"{program.name}: out is read-only; expected an array to write to")


def _emit(program, context, builder, signature, values, layout: Layout) -> None:
    inputs, out = values
    given = [*(builder.extract_value(inputs, i) for i in range(len(program.inputs))), out]
    arrays = {}
    for name, kind, value in zip(
        (*program.inputs, "out"), [*signature.args[0], signature.args[1]], given, strict=True
    ):
        array = arrayobj.make_array(kind)(context, builder, value)
        extents = [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
        arrays[name] = Place(array.data, extents)
    _emit_program(program, builder, arrays, layout)


def _emit_program(program: Program, builder, arrays: dict[str, Place], layout: Layout) -> None:
    lanes = LANES if layout.vectors else layout.lanes
    if lanes > 1:
        # What registers have no room for else lies across two lines of the cache.
        builder.function.attributes.alignstack = 8 * lanes
        builder.function.attributes.add("nounwind")  # llvmlite writes none of an empty set
    statements = [parsed(line) for line in program.text.split("\n") if line]
    if layout.column is not None:
        statements = depth_first(statements)
    if layout.column is None and layout.lanes == 1 and length(statements) > PIECE:
        mark_long(builder.module)  # what runs in lanes is up to 5 % slower so
    if is_long(statements):
        _emit_in_pieces(program.name, builder, arrays, layout, statements)
    else:
        Translator(builder, arrays, layout).run(statements)


def _emit_in_pieces(
    name: str, builder, arrays: dict[str, Place], layout: Layout, statements: list[Statement]
) -> None:
    """Emit a function for each `PIECE` of the statements, and the calls of all.

    Values that a later piece needs go through memory on the stack. That, and the rows of a series,
    a program reaches in no other way, which LLVM is told: it need not ask whether they overlap.
    """
    pieces = in_pieces(statements)
    slots = slots_between(pieces)
    room = cgutils.alloca_once(
        builder, layout.number, size=ir.Constant(_INDEX, max(slots.values(), default=0) + 1)
    )
    rows = rows_of(builder, arrays, layout)
    apart = [room, *rows.values()]
    passed = [
        *apart,
        *(value for array in arrays.values() for value in (array.data, *array.extents)),
    ]
    place = layout.column if layout.row is None else layout.row
    if place is not None:
        passed.append(place)
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in passed])
    for number, piece in enumerate(pieces):
        unique = builder.module.get_unique_name(f"{name}_{number}")
        function = ir.Function(builder.module, kind, unique)
        function.linkage = "internal"
        function.attributes.add("noinline")
        for argument in function.args[: len(apart)]:
            argument.add_attribute("noalias")
        received = iter(function.args)
        kept = Kept(next(received), slots)
        own_rows = {each: next(received) for each in rows}
        inner = {
            each: Place(next(received), [next(received) for _ in array.extents])
            for each, array in arrays.items()
        }
        own = layout
        if place is not None:
            field = "column" if layout.row is None else "row"
            own = layout._replace(**{field: next(received)})
        body = ir.IRBuilder(function.append_basic_block())
        Translator(body, inner, own, kept, own_rows).run(piece)
        body.ret_void()
        builder.call(function, passed)

"""Straight-line programs for many states in SIMD lanes: 8 of float64, or 16 of float32."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.codegen.backend.statements import (
    Program,
    Statement,
    depth_first,
    needs_division,
    program_statements,
)
from manip_dyn.codegen.backend.straight_line import (
    align_stack,
    array_pointers,
    check_types,
    emit_functions,
    plain_one_state,
)
from manip_dyn.codegen.backend.translator import ArrayPointer, Layout, Translator
from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.compiled import PLAIN

_INDEX, _FLAG = ir.IntType(64), ir.IntType(1)
_KINDS = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}
BYTES = 8 * LANES
"""Size of a vector."""
Pointers = dict[str, Any]
"""Pointers to the data of the arrays, by name."""


def many_states(
    program: Program, sizes: Sequence[int], shape: tuple[int, ...], single: bool = False
) -> Any:
    """Return an intrinsic ``(inputs, out, first, last)`` that runs a program for many states.

    The arrays have an additional last axis with one column per state. Columns `first` to `last`
    - 1 are computed. The intrinsic returns whether all numbers in these columns are finite. All
    arrays are float64 or all are float32.

    Args:
        program: The program.
        sizes: Number of entries of each input.
        shape: Shape of the output for one state.
        single: Whether to compute in single precision, with float64 arrays.
    """
    if PLAIN:
        return _plain_many_states(program)
    shapes = dict(zip(program.inputs, [(size,) for size in sizes], strict=True)) | {"out": shape}

    @intrinsic
    def run(_context, inputs, out, first, last):
        dtype = types.float32 if out.dtype == types.float32 else types.float64
        check_types(program, inputs, out, 1, dtype)
        layout = Layout(8 * BYTES // dtype.bitwidth, kind=_KINDS[dtype])
        if single:
            layout = Layout(LANES, kind=_KINDS[types.float32], wide=True)

        def generate(context, builder, signature, values):
            arrays = array_pointers(program, context, builder, signature, values[:2])
            bounds = [
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(values[2:], signature.args[2:], strict=True)
            ]
            pointers = {name: array.data for name, array in arrays.items()}
            states = arrays["out"].extents[-1]
            return _emit_batch(program, builder, layout, shapes, pointers, states, *bounds)

        return types.boolean(inputs, out, first, last), generate

    return run


def _plain_many_states(program: Program) -> Callable[..., bool]:
    """Return the Python equivalent of `many_states`."""
    run = plain_one_state(program)

    def for_many(inputs, out, first, last):
        finite = all(np.isfinite(array[:, first:last]).all() for array in inputs)
        for state in range(first, last):
            run([array[..., state] for array in inputs], out[..., state])
        return finite

    return for_many


def _emit_batch(
    program: Program,
    builder: ir.IRBuilder,
    layout: Layout,
    shapes: dict[str, tuple[int, ...]],
    pointers: Pointers,
    states: Any,
    first: Any,
    last: Any,
) -> Any:
    """Emit loops over the columns, and return whether all numbers of the inputs are finite.

    Entries of the output that are constants are written last, in long runs: the zeros of the
    matrices of a tree would otherwise be most of the scattered stores.
    """
    statements = program_statements(program)
    constants = {
        entry: statement.value
        for statement in statements
        if (entry := _entry(statement.target)) is not None and _is_constant(statement.value)
    }
    block = _block_function(
        program,
        builder.module,
        layout,
        shapes,
        [s for s in statements if _entry(s.target) not in constants],
    )
    finite = cgutils.alloca_once_value(builder, _FLAG(1))

    def run(data: Pointers, count: Any, column: Any) -> None:
        valid = builder.call(block, [*data.values(), count, column])
        builder.store(builder.and_(builder.load(finite), valid), finite)

    lanes, count = _INDEX(layout.lanes), builder.sub(last, first)
    blocks = builder.sdiv(count, lanes)
    with cgutils.for_range(builder, blocks) as loop:
        run(pointers, states, builder.add(first, builder.mul(loop.index, lanes)))
    done = builder.add(first, builder.mul(blocks, lanes))
    with builder.if_then(builder.icmp_signed("<", done, last)):
        padded = _padded(builder, layout, shapes, pointers, states, done, last)
        run(padded, lanes, _INDEX(0))
        rest, size = builder.sub(last, done), _INDEX(prod(shapes["out"]))
        with _rows(builder, size, rest) as (row, column):
            value = builder.load(_at(builder, padded["out"], row, lanes, column))
            target = _at(builder, pointers["out"], row, states, builder.add(done, column))
            builder.store(value, target)
    _emit_constants(
        builder, layout, shapes["out"], constants, pointers["out"], states, first, last
    )
    return builder.load(finite)


def _block_function(
    program: Program,
    module: ir.Module,
    layout: Layout,
    shapes: dict[str, tuple[int, ...]],
    statements: list[Statement],
) -> ir.Function:
    """Emit and return the function that computes a block of columns, one per lane.

    Its arguments are the pointers to the arrays, their number of columns and the first column of
    the block. It returns whether all inputs are finite.
    """
    kinds = [*(layout.stored.as_pointer() for _ in shapes), _INDEX, _INDEX]
    unique = module.get_unique_name(f"{program.name}_lanes")
    function = ir.Function(module, ir.FunctionType(_FLAG, kinds), unique)
    function.linkage = "internal"
    function.attributes.add("noinline")
    align_stack(function, LANES)
    builder = ir.IRBuilder(function.append_basic_block())
    *data, states, column = function.args
    arrays = {
        name: ArrayPointer(pointer, [*map(_INDEX, shape), states])
        for (name, shape), pointer in zip(shapes.items(), data, strict=True)
    }
    layout = layout._replace(column=column)
    translator = Translator(builder, arrays, layout)
    statements = depth_first(statements)
    is_long = needs_division(statements)
    for entry in _unread_entries(program, shapes, [] if is_long else statements):
        translator.load(entry)
    if is_long:
        emit_functions(program.name, builder, arrays, layout, statements)
    else:
        translator.run(statements)
    builder.ret(translator.finite())
    return function


def _unread_entries(
    program: Program, shapes: dict[str, tuple[int, ...]], statements: list[Statement]
) -> list[ast.expr]:
    """Return the entries of the inputs that statements do not read."""
    read = {
        ast.unparse(node)
        for statement in statements
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Subscript)
    }
    entries = [f"{name}[{i}]" for name in program.inputs for i in range(shapes[name][0])]
    return [ast.parse(entry, mode="eval").body for entry in entries if entry not in read]


def _padded(
    builder: ir.IRBuilder,
    layout: Layout,
    shapes: dict[str, tuple[int, ...]],
    pointers: Pointers,
    states: Any,
    first: Any,
    last: Any,
) -> Pointers:
    """Return arrays of one column per lane on the stack, with the remaining columns of the inputs.

    The last state fills the columns behind it.
    """
    padded, end = {}, builder.sub(last, _INDEX(1))
    for name, shape in shapes.items():
        size = prod(shape)
        memory = cgutils.alloca_once(builder, layout.stored, size=_INDEX(size * layout.lanes))
        memory.align = BYTES
        padded[name] = memory
        if name == "out":
            continue
        with _rows(builder, _INDEX(size), _INDEX(layout.lanes)) as (row, lane):
            column = builder.add(first, lane)
            column = builder.select(builder.icmp_signed("<", column, end), column, end)
            value = builder.load(_at(builder, pointers[name], row, states, column))
            builder.store(value, _at(builder, memory, row, _INDEX(layout.lanes), lane))
    return padded


def _emit_constants(
    builder: ir.IRBuilder,
    layout: Layout,
    shape: tuple[int, ...],
    constants: dict[tuple[int, ...], ast.expr],
    out: Any,
    states: Any,
    first: Any,
    last: Any,
) -> None:
    """Emit loops that write the constant entries of the output into the columns."""
    if not constants:
        return
    values = [float(ast.literal_eval(value)) for value in constants.values()]
    indices = [int(np.ravel_multi_index(entry, shape)) for entry in constants]
    rows = _table(builder, _INDEX, indices)
    numbers = _table(builder, layout.stored, values)
    with _rows(builder, _INDEX(len(values)), builder.sub(last, first)) as (k, column):
        row = builder.load(builder.gep(rows, [_INDEX(0), k]))
        value = builder.load(builder.gep(numbers, [_INDEX(0), k]))
        builder.store(value, _at(builder, out, row, states, builder.add(first, column)))


def _table(builder: ir.IRBuilder, kind: Any, values: list[Any]) -> ir.GlobalVariable:
    """Return a constant array of the module."""
    array = ir.ArrayType(kind, len(values))
    table = ir.GlobalVariable(builder.module, array, builder.module.get_unique_name("table"))
    table.initializer = ir.Constant(array, [ir.Constant(kind, value) for value in values])
    table.global_constant, table.linkage = True, "internal"
    return table


@contextmanager
def _rows(builder: ir.IRBuilder, rows: Any, columns: Any) -> Iterator[tuple[Any, Any]]:
    """Emit loops over the rows and columns of an array; yield the two indices."""
    with cgutils.for_range(builder, rows) as outer, cgutils.for_range(builder, columns) as inner:
        yield outer.index, inner.index


def _at(builder: ir.IRBuilder, data: Any, row: Any, columns: Any, column: Any) -> Any:
    """Return the pointer to an entry of an array with a number of columns."""
    return builder.gep(data, [builder.add(builder.mul(row, columns), column)])


def _entry(target: ast.expr) -> tuple[int, ...] | None:
    """Return the index of an entry of the output, or None for a name."""
    if isinstance(target, ast.Name):
        return None
    assert isinstance(target, ast.Subscript)
    index = ast.literal_eval(target.slice)
    return index if isinstance(index, tuple) else (index,)


def _is_constant(value: ast.expr) -> bool:
    """Return whether an expression is a number or a negative number."""
    return isinstance(value.operand if isinstance(value, ast.UnaryOp) else value, ast.Constant)

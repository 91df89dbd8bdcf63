"""Straight-line functions compiled for one state, or for many side by side in SIMD lanes.

Numba's own front end takes most of the time that compiling a long list of assignments costs,
and LLVM does not vectorize such a list over a batch. So the text of a program goes directly
to LLVM here, once with numbers and once with vectors of `LANES` numbers in its operations.
The rest, types, arrays, calls and the cache on disk, remains numba's.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.trigonometry import sine_and_cosine

LANES = 8
# Fused multiply-add may be used; nothing may assume that numbers are finite.
FLAGS = ("contract",)
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


class Program(NamedTuple):
    """A straight-line function as text.

    Attributes:
        name: For messages.
        inputs: Names of its input arrays, each with one axis.
        dimensions: Number of axes of its output array, ``out``.
        text: Lines that assign arithmetic, ``sin`` and ``cos`` of names, constants and entries
            of the arrays to names and to entries of ``out``. Text, and not Python functions,
            because parsing tens of thousands of lines as one function costs too much memory.
    """

    name: str
    inputs: tuple[str, ...]
    dimensions: int
    text: str


def one_state(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that runs a program."""

    @intrinsic
    def run(_context, inputs, out):
        _check(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            _emit(program, context, builder, signature, values, _Layout())
            return context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def many_states(program: Program, lanes: int) -> Any:
    """Return an intrinsic ``(inputs, out, column)`` for `lanes` states from a column on.

    The arrays have one axis more than the program says, the last one, with a state per column.
    """

    @intrinsic
    def run(_context, inputs, out, column):
        _check(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            *values, place = values
            place = context.cast(builder, place, signature.args[2], types.intp)
            _emit(program, context, builder, signature, values, _Layout(lanes, column=place))
            return context.get_dummy_value()

        return types.void(inputs, out, column), generate

    return run


def one_coefficient(program: Program, width: int, order: int | None = None) -> Any:
    """Return an intrinsic ``(inputs, out, k)`` for Taylor coefficients of order k.

    ``out`` has one axis more than the program says, the first one, with `width` numbers per
    coefficient. In the program ``start[i]`` stands for out[0, i], ``previous[i]`` for
    out[k - 1, i], and ``order`` for k. With `order`, k is ignored.
    """

    @intrinsic
    def run(_context, inputs, out, k):
        _check(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            *values, row = values
            row = context.cast(builder, row, signature.args[2], types.intp)
            row = row if order is None else ir.Constant(_INDEX, order)
            _emit(program, context, builder, signature, values, _Layout(row=row, width=width))
            return context.get_dummy_value()

        return types.void(inputs, out, k), generate

    return run


class _Layout(NamedTuple):
    """How a program's entries lie in memory.

    Attributes:
        lanes: States side by side in a vector.
        column: Place of the first of them in the last axis, where there are many.
        row: Number of the coefficient, the place in the first axis, in a series.
        width: Numbers per coefficient.
    """

    lanes: int = 1
    column: Any = None
    row: Any = None
    width: int = 0


def _check(program: Program, inputs, out, extra: int) -> None:
    """Refuse arrays that the generated addresses would misread."""
    names = dict(zip((*program.inputs, "out"), [*inputs, out], strict=True))
    wanted = [1 + extra] * len(program.inputs) + [program.dimensions + extra]
    check_arrays(program.name, names, wanted)
    if not out.mutable:
        raise TypingError(f"{program.name}: out is read-only; expected an array to write to")


def check_arrays(name: str, arrays: dict[str, Any], dimensions: list[int]) -> None:
    """Refuse types that are not C-contiguous float64 arrays of the given `dimensions`."""
    for (argument, kind), ndim in zip(arrays.items(), dimensions, strict=True):
        good = isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == ndim
        if not (good and kind.dtype == types.float64):
            raise TypingError(
                f"{name}: {argument} is {kind}; expected a C-contiguous float64 array "
                f"of {ndim} dimension(s)"
            )


def _emit(program, context, builder, signature, values, layout: _Layout) -> None:
    inputs, out = values
    arrays = [builder.extract_value(inputs, i) for i in range(len(program.inputs))]
    kinds = [*signature.args[0], signature.args[1]]
    handles = {
        name: arrayobj.make_array(kind)(context, builder, value)
        for name, kind, value in zip((*program.inputs, "out"), kinds, [*arrays, out], strict=True)
    }
    translator = _Translator(builder, handles, layout)
    for line in program.text.split("\n"):
        if line:
            translator.assign(line)


class _Translator:
    """Emits LLVM instructions for assignments."""

    def __init__(self, builder, handles, layout: _Layout):
        self._builder = builder
        self._handles = handles
        self._layout = layout
        lanes = layout.lanes
        self._type = ir.VectorType(_NUMBER, lanes) if lanes > 1 else _NUMBER
        self._names: dict[str, Any] = {}
        if layout.row is not None:
            self._names["order"] = builder.sitofp(layout.row, _NUMBER)
        self._operations = {
            ast.Add: builder.fadd,
            ast.Sub: builder.fsub,
            ast.Mult: builder.fmul,
            ast.Div: builder.fdiv,
        }

    def assign(self, line: str) -> None:
        """Emit one assignment."""
        (statement,) = ast.parse(line).body
        assert isinstance(statement, ast.Assign)
        (target,) = statement.targets
        value = self._value(statement.value)
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        else:
            self._builder.store(value, self._address(target), align=8)

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._names[node.id]
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Subscript):
            return self._builder.load(self._address(node), align=8)
        if isinstance(node, ast.UnaryOp):
            return self._builder.fneg(self._value(node.operand))
        if isinstance(node, ast.BinOp):
            operate = self._operations[type(node.op)]
            return operate(self._value(node.left), self._value(node.right), flags=FLAGS)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        both = sine_and_cosine(self._builder, self._value(node.args[0]))
        return both[0] if node.func.id == "sin" else both[1]

    def _constant(self, value: Any) -> ir.Constant:
        lanes = self._layout.lanes
        if lanes == 1:
            return ir.Constant(self._type, float(value))
        return ir.Constant(self._type, [ir.Constant(_NUMBER, float(value))] * lanes)

    def _address(self, node: ast.expr) -> Any:
        """Return the pointer to a constant index."""
        assert isinstance(node, ast.Subscript)
        assert isinstance(node.value, ast.Name)
        index = ast.literal_eval(node.slice)
        array, flat = self._flat(node.value.id, index if isinstance(index, tuple) else (index,))
        pointer = self._builder.gep(array.data, [flat])
        return self._builder.bitcast(pointer, self._type.as_pointer())

    def _flat(self, name: str, index: tuple[int, ...]) -> tuple[Any, Any]:
        """Return the array and the place in its memory."""
        if self._layout.row is not None:
            return self._handles["out"], self._place_in_series(name, *index)
        array = self._handles[name]
        flat = ir.Constant(_INDEX, index[0])
        for axis, place in enumerate(index[1:], start=1):
            flat = self._builder.mul(flat, self._extent(array, axis))
            flat = self._builder.add(flat, ir.Constant(_INDEX, place))
        if self._layout.column is not None:
            flat = self._builder.mul(flat, self._extent(array, array.shape.type.count - 1))
            flat = self._builder.add(flat, self._layout.column)
        return array, flat

    def _place_in_series(self, name: str, index: int) -> Any:
        row, width = self._layout.row, ir.Constant(_INDEX, self._layout.width)
        if name == "start":
            return ir.Constant(_INDEX, index)
        if name == "previous":
            row = self._builder.sub(row, ir.Constant(_INDEX, 1))
        return self._builder.add(self._builder.mul(row, width), ir.Constant(_INDEX, index))

    def _extent(self, array, axis: int) -> Any:
        return self._builder.extract_value(array.shape, axis)

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

from manip_dyn.codegen.convolution import convolution, unrolled
from manip_dyn.codegen.trigonometry import sine_and_cosine

LANES = 8
# Fused multiply-add may be used; nothing may assume that numbers are finite.
FLAGS = ("contract",)
OPTIONS = {"cache": True, "error_model": "numpy", "nogil": True}
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
            _emit(program, context, builder, signature, values, lanes=1, column=None)
            return context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def many_states(program: Program, lanes: int) -> Any:
    """Return an intrinsic ``(inputs, out, column)`` for `lanes` states from a column on.

    The arrays have one axis more than the program says, the last one, with a state per column.
    For series, whose columns are coefficients, ``product(out[a], out[b])`` stands for the sum
    of out[a, j] out[b, column - j] over j = 0..column, ``product_tail`` for that from j = 1,
    ``start(out[a])`` for out[a, 0], and ``column`` for the number of the column.
    """

    @intrinsic
    def run(_context, inputs, out, column):
        _check(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            *values, place = values
            place = context.cast(builder, place, signature.args[2], types.intp)
            _emit(program, context, builder, signature, values, lanes, place)
            return context.get_dummy_value()

        return types.void(inputs, out, column), generate

    return run


def one_column(program: Program, column: int) -> Any:
    """Return an intrinsic ``(inputs, out)`` for one column known now: its sums are unrolled."""

    @intrinsic
    def run(_context, inputs, out):
        _check(program, inputs, out, extra=1)

        def generate(context, builder, signature, values):
            place = ir.Constant(_INDEX, column)
            _emit(program, context, builder, signature, values, lanes=1, column=place)
            return context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def _check(program: Program, inputs, out, extra: int) -> None:
    """Refuse arrays that the generated addresses would misread."""
    wanted = [1 + extra] * len(program.inputs) + [program.dimensions + extra]
    names = (*program.inputs, "out")
    for name, each, ndim in zip(names, [*inputs, out], wanted, strict=True):
        good = isinstance(each, types.Array) and each.layout == "C" and each.ndim == ndim
        if name == "out" and good and not each.mutable:
            raise TypingError(f"{program.name}: out is read-only; expected an array to write to")
        if not (good and each.dtype == types.float64):
            raise TypingError(
                f"{program.name}: {name} is {each}; expected a C-contiguous float64 array "
                f"of {ndim} dimension(s)"
            )


def _emit(program, context, builder, signature, values, lanes: int, column) -> None:
    inputs, out = values
    arrays = [builder.extract_value(inputs, i) for i in range(len(program.inputs))]
    kinds = [*signature.args[0], signature.args[1]]
    handles = {
        name: arrayobj.make_array(kind)(context, builder, value)
        for name, kind, value in zip((*program.inputs, "out"), kinds, [*arrays, out], strict=True)
    }
    translator = _Translator(builder, handles, lanes, column)
    for line in program.text.split("\n"):
        if line:
            translator.assign(line)


class _Translator:
    """Emits LLVM instructions for assignments."""

    def __init__(self, builder, handles, lanes: int, column):
        self._builder = builder
        self._handles = handles
        self._column = column
        self._lanes = lanes
        self._type = ir.VectorType(_NUMBER, lanes) if lanes > 1 else _NUMBER
        self._names: dict[str, Any] = {}
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
            return self._names[node.id] if node.id != "column" else self._column_number()
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
        if node.func.id.startswith("product"):
            return self._product(node.args, skip=int(node.func.id == "product_tail"))
        if node.func.id == "start":
            here = self._address(node.args[0])
            return self._builder.load(self._builder.gep(here, [self._builder.neg(self._column)]))
        both = sine_and_cosine(self._builder, self._value(node.args[0]))
        return both[0] if node.func.id == "sin" else both[1]

    def _column_number(self) -> Any:
        return self._builder.sitofp(self._column, self._type)

    def _product(self, operands: list[ast.expr], skip: int) -> Any:
        first, last = (self._address(operand) for operand in operands)
        back = ir.Constant(_INDEX, skip)
        first = self._builder.gep(first, [self._builder.sub(back, self._column)])
        last = self._builder.gep(last, [ir.Constant(_INDEX, -skip)])
        if isinstance(self._column, ir.Constant):
            return unrolled(self._builder, first, last, self._column.constant + 1 - skip)
        count = self._builder.add(self._column, ir.Constant(_INDEX, 1 - skip))
        return convolution(self._builder, first, last, count)

    def _constant(self, value: Any) -> ir.Constant:
        if self._lanes == 1:
            return ir.Constant(self._type, float(value))
        return ir.Constant(self._type, [ir.Constant(_NUMBER, float(value))] * self._lanes)

    def _address(self, node: ast.expr) -> Any:
        """Return the pointer to a constant index, at the column if there is one."""
        assert isinstance(node, ast.Subscript)
        assert isinstance(node.value, ast.Name)
        array = self._handles[node.value.id]
        index = ast.literal_eval(node.slice)
        flat = self._flat(array, index if isinstance(index, tuple) else (index,))
        if self._column is not None:
            width = self._extent(array, array.shape.type.count - 1)
            flat = self._builder.add(self._builder.mul(flat, width), self._column)
        pointer = self._builder.gep(array.data, [flat])
        return self._builder.bitcast(pointer, self._type.as_pointer())

    def _flat(self, array, index: tuple[int, ...]) -> Any:
        flat = ir.Constant(_INDEX, index[0])
        for axis, place in enumerate(index[1:], start=1):
            flat = self._builder.mul(flat, self._extent(array, axis))
            flat = self._builder.add(flat, ir.Constant(_INDEX, place))
        return flat

    def _extent(self, array, axis: int) -> Any:
        return self._builder.extract_value(array.shape, axis)

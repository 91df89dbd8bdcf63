"""From statements of a straight-line program to LLVM instructions."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from llvmlite import ir

from manip_dyn.codegen.backend.pieces import Statement
from manip_dyn.codegen.backend.trigonometry import sine_and_cosine

# Fused multiply-add may be used; nothing may assume that numbers are finite.
FLAGS = ("contract",)
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


class Layout(NamedTuple):
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

    @property
    def number(self) -> Any:
        """The LLVM type of a value: a number, or one for each lane."""
        return ir.VectorType(_NUMBER, self.lanes) if self.lanes > 1 else _NUMBER


class Place(NamedTuple):
    """An array as LLVM values: the pointer to its numbers, and its extent along each axis."""

    data: Any
    extents: list[Any]


class Kept(NamedTuple):
    """Where values lie that one piece of a program leaves to another: memory, slots by name."""

    room: Any
    slots: dict[str, int]


class Translator:
    """Emits LLVM instructions for assignments."""

    def __init__(
        self, builder, arrays: dict[str, Place], layout: Layout, kept: Kept | None = None
    ):
        """Take the arrays as seen in this function, and what other pieces of the program leave."""
        self._builder = builder
        self._arrays = arrays
        self._layout = layout
        self._kept = kept or Kept(None, {})
        self._type = layout.number
        self._names: dict[str, Any] = {}
        if layout.row is not None:
            self._names["order"] = builder.sitofp(layout.row, _NUMBER)
        self._operations = {
            ast.Add: builder.fadd,
            ast.Sub: builder.fsub,
            ast.Mult: builder.fmul,
            ast.Div: builder.fdiv,
        }

    def run(self, statements: list[Statement]) -> None:
        """Emit assignments."""
        for target, expression, _, _ in statements:
            value = self._value(expression)
            if not isinstance(target, ast.Name):
                self._builder.store(value, self._address(target), align=8)
                continue
            self._names[target.id] = value
            if target.id in self._kept.slots:
                self._builder.store(value, self._slot(target.id), align=8)

    def _slot(self, name: str) -> Any:
        """Return the pointer to what one piece leaves to another."""
        slot = ir.Constant(_INDEX, self._kept.slots[name])
        return self._builder.gep(self._kept.room, [slot])

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id not in self._names:
                self._names[node.id] = self._builder.load(self._slot(node.id), align=8)
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
            return self._arrays["out"], self._place_in_series(name, *index)
        array = self._arrays[name]
        flat = ir.Constant(_INDEX, index[0])
        for axis, place in enumerate(index[1:], start=1):
            flat = self._builder.mul(flat, array.extents[axis])
            flat = self._builder.add(flat, ir.Constant(_INDEX, place))
        if self._layout.column is not None:
            flat = self._builder.mul(flat, array.extents[-1])
            flat = self._builder.add(flat, self._layout.column)
        return array, flat

    def _place_in_series(self, name: str, index: int) -> Any:
        row, width = self._layout.row, ir.Constant(_INDEX, self._layout.width)
        if name == "start":
            return ir.Constant(_INDEX, index)
        if name == "previous":
            row = self._builder.sub(row, ir.Constant(_INDEX, 1))
        return self._builder.add(self._builder.mul(row, width), ir.Constant(_INDEX, index))

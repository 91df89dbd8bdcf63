"""From statements of a straight-line program to LLVM instructions."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, NamedTuple

from llvmlite import ir

from manip_dyn.codegen.backend.convolution import unrolled_sums
from manip_dyn.codegen.backend.statements import Statement
from manip_dyn.codegen.backend.trigonometry import sine_and_cosine, sines_and_cosines
from manip_dyn.codegen.backend.vectors import FLAGS, in_all_lanes, vector_at

TOGETHER = 8
"""Angles of one state whose sines and cosines are made side by side, at most."""
SUMS = 16
"""Sums of products that are made together, so that factors are read once."""
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


class Layout(NamedTuple):
    """How a program's entries lie in memory.

    Attributes:
        lanes: States side by side in a vector.
        column: Place of the first of them in the last axis, where there are many.
        row: Number of the coefficient, the place in the first axis, in a series.
        width: Numbers per coefficient.
        products: In a series of many motions: places of the factors of each product.
        sums: And the place of the first product's sum among what there is once.
        vectors: In a series of one motion: columns of each vector that is read as such, and so has
            to be written as such.
        merged: Whether callers take the code in, and so pass in registers what they have just
            written.
    """

    lanes: int = 1
    column: Any = None
    row: Any = None
    width: int = 0
    products: tuple[tuple[int, int], ...] = ()
    sums: int = 0
    vectors: tuple[range, ...] = ()
    merged: bool = False

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
        self,
        builder,
        arrays: dict[str, Place],
        layout: Layout,
        kept: Kept | None = None,
        rows: dict[str, Any] | None = None,
    ):
        """Take the arrays as seen in this function.

        Args:
            builder: The function.
            arrays: See above.
            layout: How entries lie.
            kept: What other pieces of the program leave.
            rows: Pointers to the rows of a series, see `rows_of`.
        """
        self._builder = builder
        self._arrays = arrays
        self._layout = layout
        self._kept = kept or Kept(None, {})
        self._type = layout.number
        self._names: dict[str, Any] = {}
        self._angles: dict[str, None] = {}
        self._turned: dict[str, tuple[Any, Any]] = {}
        self._sums: dict[int, list[Any]] = {}
        # Pieces of a program have no vectors: another one may make a vector's other numbers.
        vectors = layout.vectors if self._kept.room is None else ()
        self._vectors = {column: vector for vector in vectors for column in vector}
        self._missing: Counter[range] = Counter()
        self._made: dict[int, Any] = {}
        self._rows = rows or rows_of(builder, arrays, layout)
        if layout.row is not None:
            self._names["order"] = self._in_all_lanes(builder.sitofp(layout.row, _NUMBER))
        self._operations = {
            ast.Add: builder.fadd,
            ast.Sub: builder.fsub,
            ast.Mult: builder.fmul,
            ast.Div: builder.fdiv,
        }

    def run(self, statements: list[Statement]) -> None:
        """Emit assignments."""
        self._angles = dict.fromkeys(
            value.args[0].id
            for _, value, _, _ in statements
            if isinstance(value, ast.Call) and isinstance(value.args[0], ast.Name)
        )
        if self._vectors:
            results = (each.target for each in statements if not isinstance(each.target, ast.Name))
            columns = map(_column, results)
            self._missing.update(self._vectors[each] for each in columns if each in self._vectors)
        for target, expression, _, _ in statements:
            alone = isinstance(target, ast.Name) and target.id in self._angles
            value = self._alone(expression) if alone else self._value(expression)
            if not isinstance(target, ast.Name):
                self._store(value, target)
                continue
            self._names[target.id] = value
            if target.id in self._kept.slots:
                self._builder.store(value, self._slot(target.id), align=8)
        if isinstance(self._layout.row, ir.Constant):
            for vector in dict.fromkeys(self._vectors[column] for column in sorted(self._made)):
                self._store_vector(vector)

    def _store(self, value: Any, target: ast.expr) -> None:
        """Store a result by itself, or those of its vector once all of them are made.

        Where the order is known, that is the end of the pass: the next one takes them from
        registers.
        """
        vector = self._vectors.get(_column(target)) if self._vectors else None
        if vector is None:
            self._builder.store(value, self._address(target), align=8)
            return
        self._made[_column(target)] = value
        self._missing[vector] -= 1
        if not self._missing[vector] and not isinstance(self._layout.row, ir.Constant):
            self._store_vector(vector)

    def _store_vector(self, vector: range) -> None:
        """Store results side by side, as they are read later.

        What has just been written number by number cannot be read as a vector until it has
        reached the cache.
        """
        builder, kind = self._builder, ir.VectorType(_NUMBER, len(vector))
        whole: Any = ir.Constant(kind, None)
        for lane, column in enumerate(vector):
            if column in self._made:
                number = self._made[column]
                whole = builder.insert_element(whole, number, ir.IntType(32)(lane))
        pointer = builder.gep(self._rows["out"], [ir.Constant(_INDEX, vector.start)])
        builder.store(whole, builder.bitcast(pointer, kind.as_pointer()), align=8)

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
            if ast.unparse(node.value) == "sums":
                return self._sum(ast.literal_eval(node.slice))
            if self._made and ast.unparse(node.value) == "out" and _column(node) in self._made:
                return self._made[_column(node)]
            return self._builder.load(self._address(node), align=8)
        if isinstance(node, ast.UnaryOp):
            return self._builder.fneg(self._value(node.operand))
        if isinstance(node, ast.BinOp):
            operate = self._operations[type(node.op)]
            return operate(self._value(node.left), self._value(node.right), flags=FLAGS)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        both = self._sine_and_cosine(node.args[0])
        return both[0] if node.func.id == "sin" else both[1]

    def _sine_and_cosine(self, angle: ast.expr) -> tuple[Any, Any]:
        """Return both for a name, made along with those of other angles that are known by now."""
        value = self._value(angle)
        if not isinstance(angle, ast.Name):
            return sine_and_cosine(self._builder, value)
        if self._layout.lanes > 1 and angle.id not in self._turned:
            self._turned[angle.id] = sine_and_cosine(self._builder, value)
        if angle.id not in self._turned:
            known = [each for each in self._angles if each in self._names]
            others = [each for each in known if each not in self._turned and each != angle.id]
            together = [angle.id, *others][:TOGETHER]
            values = [self._names[each] for each in together]
            both = sines_and_cosines(self._builder, values)
            self._turned.update(zip(together, both, strict=True))
        return self._turned[angle.id]

    def _alone(self, node: ast.expr) -> Any:
        """Return the value of an angle; a load of it is not joined with those of other angles.

        What has just been written number by number cannot be read as a vector until it has
        reached the cache. LLVM joins no loads that are atomic.
        """
        layout = self._layout
        if not isinstance(node, ast.Subscript) or layout.lanes > 1 or layout.merged:
            return self._value(node)
        return self._builder.load_atomic(self._address(node), "unordered", align=8)

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
        data, flat = self._flat(node.value.id, index if isinstance(index, tuple) else (index,))
        pointer = self._builder.gep(data, [flat])
        return self._builder.bitcast(pointer, self._type.as_pointer())

    def _flat(self, name: str, index: tuple[int, ...]) -> tuple[Any, Any]:
        """Return an array's memory, or a row's, and the place in it."""
        if self._layout.row is not None:
            data = self._rows[name] if name in self._rows else self._arrays[name].data
            return data, ir.Constant(_INDEX, index[0] * self._layout.lanes)
        array = self._arrays[name]
        flat = ir.Constant(_INDEX, index[0])
        for axis, place in enumerate(index[1:], start=1):
            flat = self._builder.mul(flat, array.extents[axis])
            flat = self._builder.add(flat, ir.Constant(_INDEX, place))
        if self._layout.column is not None:
            flat = self._builder.mul(flat, array.extents[-1])
            flat = self._builder.add(flat, self._layout.column)
        return array.data, flat

    def _in_all_lanes(self, value: Any) -> Any:
        return in_all_lanes(self._builder, value, self._layout.lanes)

    def _sum(self, number: int) -> Any:
        """Return the sum of a product; where the order is known, made here, in a register."""
        layout, builder = self._layout, self._builder

        def load(array: str, place: int) -> Any:
            at = _INDEX(place * layout.lanes)
            return builder.load(
                vector_at(builder, self._arrays[array].data, at, layout.lanes), align=8
            )

        if not isinstance(layout.row, ir.Constant):
            return load("fixed", layout.sums + number)
        first = number // SUMS * SUMS
        if first not in self._sums:
            self._sums[first] = unrolled_sums(
                builder,
                lambda k, column: load("out", k * layout.width + column),
                layout.row.constant,
                layout.products[first : first + SUMS],
            )
        return self._sums[first][number - first]


def rows_of(builder: ir.IRBuilder, arrays: dict[str, Place], layout: Layout) -> dict[str, Any]:
    """Return the pointers to the rows that a series reads and writes, by their names."""
    if layout.row is None:
        return {}
    rows = {"start": _INDEX(0), "previous": builder.sub(layout.row, _INDEX(1)), "out": layout.row}
    width = _INDEX(layout.width * layout.lanes)
    data = arrays["out"].data
    return {name: builder.gep(data, [builder.mul(row, width)]) for name, row in rows.items()}


def _column(node: ast.expr) -> int:
    """Return the place in an array with one axis."""
    assert isinstance(node, ast.Subscript)
    return ast.literal_eval(node.slice)

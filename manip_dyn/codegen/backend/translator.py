"""Translation of straight-line programs to LLVM instructions."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, NamedTuple

from llvmlite import ir

from manip_dyn.codegen.backend.convolution import unrolled_sums
from manip_dyn.codegen.backend.statements import Statement
from manip_dyn.codegen.backend.trigonometry import sine_and_cosine, sines_and_cosines
from manip_dyn.codegen.backend.vectors import FLAGS, broadcast, vector_at

ANGLES_IN_VECTOR = 8
"""Maximum number of angles of one state in the same vector."""
SUMS_IN_GROUP = 16
"""Maximum number of sums that are computed together and share the loads of common factors."""
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


class Layout(NamedTuple):
    """Memory layout of a program's arrays.

    Attributes:
        lanes: States per vector.
        column: For many states: index of the first state in the last axis.
        row: For a series: index of the coefficient in the first axis.
        width: For a series: vectors of `lanes` numbers per coefficient.
        products: For a series of many motions: columns of the factors of each product.
        sums: For a series of many motions: row of the sum of the first product in the last input.
        vectors: For a series of one motion: columns of each vector that is loaded, and therefore
            stored, with one instruction.
        merged: Whether the code is inlined into callers, so that arguments are in registers.
        kind: LLVM type of the numbers: double or float.
        wide: Whether arrays contain double numbers, which are converted to `kind` and back.
    """

    lanes: int = 1
    column: Any = None
    row: Any = None
    width: int = 0
    products: tuple[tuple[int, int], ...] = ()
    sums: int = 0
    vectors: tuple[range, ...] = ()
    merged: bool = False
    kind: Any = _NUMBER
    wide: bool = False

    @property
    def stored(self) -> Any:
        """The LLVM type of the numbers in arrays."""
        return _NUMBER if self.wide else self.kind

    @property
    def number(self) -> Any:
        """The LLVM type of a value: a number, or a vector with one number per lane."""
        return ir.VectorType(self.kind, self.lanes) if self.lanes > 1 else self.kind

    @property
    def bytes(self) -> int:
        """The size of a number of `kind`, which is also a valid alignment of arrays."""
        return 8 if self.kind == _NUMBER else 4


class ArrayPointer(NamedTuple):
    """An array in LLVM: a pointer to its data and its extents along the axes."""

    data: Any
    extents: list[Any]


class SharedValues(NamedTuple):
    """Values that the functions of one program share: stack memory, and its slots by name."""

    memory: Any
    slots: dict[str, int]


class Translator:
    """Emits LLVM instructions for assignments of a straight-line program."""

    def __init__(
        self,
        builder,
        arrays: dict[str, ArrayPointer],
        layout: Layout,
        shared: SharedValues | None = None,
        rows: dict[str, Any] | None = None,
    ):
        """Initialize the translation of statements into one function.

        Args:
            builder: Builder of the function.
            arrays: Arrays by name.
            layout: Memory layout of the arrays.
            shared: Values shared with other functions of the same program.
            rows: Pointers to the rows of a series, see `rows_of`.
        """
        self._builder = builder
        self._arrays = arrays
        self._layout = layout
        self._shared = shared or SharedValues(None, {})
        self._type = layout.number
        self._stored = layout._replace(kind=layout.stored).number
        self._names: dict[str, Any] = {}
        self._angles: dict[str, None] = {}
        self._sines: dict[str, tuple[Any, Any]] = {}
        self._sums: dict[int, list[Any]] = {}
        # A function of a divided program may compute only some entries of a vector.
        vectors = layout.vectors if self._shared.memory is None else ()
        self._vectors = {column: vector for vector in vectors for column in vector}
        self._missing: Counter[range] = Counter()
        self._results: dict[int, Any] = {}
        self._rows = rows or rows_of(builder, arrays, layout)
        self._zeros: Any = self._constant(0.0)
        if layout.row is not None:
            self._names["order"] = self._broadcast(builder.sitofp(layout.row, _NUMBER))
        self._operations = {
            ast.Add: builder.fadd,
            ast.Sub: builder.fsub,
            ast.Mult: builder.fmul,
            ast.Div: builder.fdiv,
        }

    def run(self, statements: list[Statement]) -> None:
        """Emit the instructions of assignments."""
        self._angles = dict.fromkeys(
            value.args[0].id
            for _, value, _, _ in statements
            if isinstance(value, ast.Call) and isinstance(value.args[0], ast.Name)
        )
        if self._vectors:
            targets = (statement.target for statement in statements)
            columns = [_column(node) for node in targets if not isinstance(node, ast.Name)]
            self._missing.update(self._vectors[k] for k in columns if k in self._vectors)
        for target, expression, _, _ in statements:
            is_angle = isinstance(target, ast.Name) and target.id in self._angles
            value = self._angle(expression) if is_angle else self._value(expression)
            if not isinstance(target, ast.Name):
                self._store(value, target)
                continue
            self._names[target.id] = value
            if target.id in self._shared.slots:
                self._builder.store(value, self._slot(target.id), align=self._layout.bytes)
        if isinstance(self._layout.row, ir.Constant):
            for vector in dict.fromkeys(self._vectors[column] for column in sorted(self._results)):
                self._store_vector(vector)

    def _store(self, value: Any, target: ast.expr) -> None:
        """Store a result. Entries of a vector are stored together, once all are computed.

        For a constant order, vectors are stored at the end of the pass. Until then, results remain
        in registers.
        """
        vector = self._vectors.get(_column(target)) if self._vectors else None
        if vector is None:
            if self._layout.wide:
                value = self._builder.fpext(value, self._stored)
            self._builder.store(value, self._address(target), align=self._layout.bytes)
            return
        self._results[_column(target)] = value
        self._missing[vector] -= 1
        if not self._missing[vector] and not isinstance(self._layout.row, ir.Constant):
            self._store_vector(vector)

    def _store_vector(self, vector: range) -> None:
        """Store the results of a vector with one instruction.

        If the entries were stored individually, a vector load would stall until they have reached
        the cache.
        """
        builder, kind = self._builder, ir.VectorType(_NUMBER, len(vector))
        values: Any = ir.Constant(kind, None)
        for lane, column in enumerate(vector):
            if column in self._results:
                number = self._results[column]
                values = builder.insert_element(values, number, ir.IntType(32)(lane))
        pointer = builder.gep(self._rows["out"], [ir.Constant(_INDEX, vector.start)])
        builder.store(values, builder.bitcast(pointer, kind.as_pointer()), align=8)

    def _slot(self, name: str) -> Any:
        """Return the pointer to a value that functions of the program share."""
        slot = ir.Constant(_INDEX, self._shared.slots[name])
        return self._builder.gep(self._shared.memory, [slot])

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id not in self._names:
                self._names[node.id] = self._builder.load(
                    self._slot(node.id), align=self._layout.bytes
                )
            return self._names[node.id]
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Subscript):
            if ast.unparse(node.value) == "sums":
                return self._sum(ast.literal_eval(node.slice))
            if (
                self._results
                and ast.unparse(node.value) == "out"
                and _column(node) in self._results
            ):
                return self._results[_column(node)]
            return self.load(node)
        if isinstance(node, ast.UnaryOp):
            return self._builder.fneg(self._value(node.operand))
        if isinstance(node, ast.BinOp):
            operate = self._operations[type(node.op)]
            return operate(self._value(node.left), self._value(node.right), flags=FLAGS)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        both = self._sine_and_cosine(node.args[0])
        return both[0] if node.func.id == "sin" else both[1]

    def load(self, entry: ast.expr, mergeable: bool = True) -> Any:
        """Return an entry of an array. For many states, its numbers are checked.

        Args:
            entry: The entry.
            mergeable: Whether LLVM may merge the load with others into a vector load.
        """
        address, builder = self._address(entry), self._builder
        number = (
            builder.load(address, align=self._layout.bytes)
            if mergeable
            else builder.load_atomic(address, "unordered", align=self._layout.bytes)
        )
        if self._layout.wide:
            number = builder.fptrunc(number, self._type)
        if self._layout.column is not None:
            zero = self._builder.fmul(number, self._constant(0.0), flags=FLAGS)
            self._zeros = self._builder.fadd(self._zeros, zero, flags=FLAGS)
        return number

    def finite(self) -> Any:
        """Return whether all numbers that were loaded for many states are finite.

        The product of 0 and an infinite number or NaN is NaN, and so is the sum of the products.
        """
        lanes = self._layout.lanes
        equal = self._builder.fcmp_ordered("==", self._zeros, self._constant(0.0))
        mask = ir.IntType(lanes)
        return self._builder.icmp_unsigned("==", self._builder.bitcast(equal, mask), mask(-1))

    def _sine_and_cosine(self, angle: ast.expr) -> tuple[Any, Any]:
        """Return the sine and cosine of an angle.

        For one state, those of other available angles are computed in the same vector.
        """
        value = self._value(angle)
        if not isinstance(angle, ast.Name):
            return sine_and_cosine(self._builder, value)
        if self._layout.lanes > 1 and angle.id not in self._sines:
            self._sines[angle.id] = sine_and_cosine(self._builder, value)
        if angle.id not in self._sines:
            available = [
                name
                for name in self._angles
                if name in self._names and name not in self._sines and name != angle.id
            ]
            names = [angle.id, *available][:ANGLES_IN_VECTOR]
            both = sines_and_cosines(self._builder, [self._names[name] for name in names])
            self._sines.update(zip(names, both, strict=True))
        return self._sines[angle.id]

    def _angle(self, node: ast.expr) -> Any:
        """Return the value of an angle; LLVM cannot merge its load into a vector load.

        A vector load of numbers that were stored individually stalls until they have reached the
        cache. LLVM does not vectorize atomic loads.
        """
        layout = self._layout
        if not isinstance(node, ast.Subscript) or layout.lanes > 1 or layout.merged:
            return self._value(node)
        return self.load(node, mergeable=False)

    def _constant(self, value: Any) -> ir.Constant:
        lanes = self._layout.lanes
        if lanes == 1:
            return ir.Constant(self._type, float(value))
        return ir.Constant(self._type, [ir.Constant(self._layout.kind, float(value))] * lanes)

    def _address(self, node: ast.expr) -> Any:
        """Return the pointer to an array entry with a constant index."""
        assert isinstance(node, ast.Subscript)
        assert isinstance(node.value, ast.Name)
        index = ast.literal_eval(node.slice)
        data, flat = self._flat(node.value.id, index if isinstance(index, tuple) else (index,))
        pointer = self._builder.gep(data, [flat])
        return self._builder.bitcast(pointer, self._stored.as_pointer())

    def _flat(self, name: str, index: tuple[int, ...]) -> tuple[Any, Any]:
        """Return a pointer to an array or to a row of it, and the flat index of an entry."""
        if self._layout.row is not None:
            data = self._rows[name] if name in self._rows else self._arrays[name].data
            return data, ir.Constant(_INDEX, index[0] * self._layout.lanes)
        array = self._arrays[name]
        flat = ir.Constant(_INDEX, index[0])
        for axis, entry in enumerate(index[1:], start=1):
            flat = self._builder.mul(flat, array.extents[axis])
            flat = self._builder.add(flat, ir.Constant(_INDEX, entry))
        if self._layout.column is not None:
            flat = self._builder.mul(flat, array.extents[-1])
            flat = self._builder.add(flat, self._layout.column)
        return array.data, flat

    def _broadcast(self, value: Any) -> Any:
        return broadcast(self._builder, value, self._layout.lanes)

    def _sum(self, number: int) -> Any:
        """Return the sum of a product: computed here for a constant order, otherwise loaded."""
        layout, builder = self._layout, self._builder

        def load(array: str, column: int) -> Any:
            start = _INDEX(column * layout.lanes)
            return builder.load(
                vector_at(builder, self._arrays[array].data, start, layout.lanes), align=8
            )

        if not isinstance(layout.row, ir.Constant):
            return load("fixed", layout.sums + number)
        first = number // SUMS_IN_GROUP * SUMS_IN_GROUP
        if first not in self._sums:
            self._sums[first] = unrolled_sums(
                builder,
                lambda k, column: load("out", k * layout.width + column),
                layout.row.constant,
                layout.products[first : first + SUMS_IN_GROUP],
            )
        return self._sums[first][number - first]


def rows_of(
    builder: ir.IRBuilder, arrays: dict[str, ArrayPointer], layout: Layout
) -> dict[str, Any]:
    """Return the pointers to the rows that a series reads and writes, by name."""
    if layout.row is None:
        return {}
    rows = {"start": _INDEX(0), "previous": builder.sub(layout.row, _INDEX(1)), "out": layout.row}
    width = _INDEX(layout.width * layout.lanes)
    data = arrays["out"].data
    return {name: builder.gep(data, [builder.mul(row, width)]) for name, row in rows.items()}


def _column(node: ast.expr) -> int:
    """Return the index into an array with one axis."""
    assert isinstance(node, ast.Subscript)
    return ast.literal_eval(node.slice)

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
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen import plain_program
from manip_dyn.codegen.trigonometry import sine_and_cosine
from manip_dyn.core.plain import PLAIN

LANES = 8
# Fused multiply-add may be used; nothing may assume that numbers are finite.
FLAGS = ("contract",)
LONGEST, PIECE = 12_000, 2000
"""Operations and results of a program up to which it is one function, and in each of a longer one.

LLVM's time grows with the square of a function's length.
"""
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
    if PLAIN:
        return plain_program.one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        _check(program, inputs, out, extra=0)

        def generate(context, builder, signature, values):
            _emit(program, context, builder, signature, values, _Layout())
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
        return plain_program.one_state(program)

    @intrinsic
    def run(_context, inputs, out):
        def generate(_context, builder, _signature, values):
            given, end = values
            arrays = {
                name: _Array(builder.extract_value(given, i), [])
                for i, name in enumerate(program.inputs)
            }
            arrays["out"] = _Array(end, [ir.Constant(_INDEX, extent) for extent in shape])
            _emit_program(program, builder, arrays, _Layout())
            return _context.get_dummy_value()

        return types.void(inputs, out), generate

    return run


def refusal(program: Program) -> Any:
    """Return an intrinsic ``(inputs, out)`` that refuses types that a program would misread."""
    if PLAIN:
        return lambda inputs, out: None

    @intrinsic
    def check(_context, inputs, out):
        _check(program, inputs, out, extra=0)
        return types.void(inputs, out), lambda context, *_: context.get_dummy_value()

    return check


def many_states(program: Program, lanes: int) -> Any:
    """Return an intrinsic ``(inputs, out, column)`` for `lanes` states from a column on.

    The arrays have one axis more than the program says, the last one, with a state per column.
    """
    if PLAIN:
        return plain_program.many_states(program, lanes)

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
    if PLAIN:
        return plain_program.one_coefficient(program, order)

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

    @property
    def number(self) -> Any:
        """The LLVM type of a value: a number, or one for each lane."""
        return ir.VectorType(_NUMBER, self.lanes) if self.lanes > 1 else _NUMBER


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


class _Statement(NamedTuple):
    """An assignment, the names in its value, and how many operations and results it is."""

    target: ast.expr
    value: ast.expr
    names: list[str]
    size: int


class _Array(NamedTuple):
    """An array as LLVM values: the pointer to its numbers, and its extent along each axis."""

    data: Any
    extents: list[Any]


def _emit(program, context, builder, signature, values, layout: _Layout) -> None:
    inputs, out = values
    given = [*(builder.extract_value(inputs, i) for i in range(len(program.inputs))), out]
    arrays = {}
    for name, kind, value in zip(
        (*program.inputs, "out"), [*signature.args[0], signature.args[1]], given, strict=True
    ):
        array = arrayobj.make_array(kind)(context, builder, value)
        extents = [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
        arrays[name] = _Array(array.data, extents)
    _emit_program(program, builder, arrays, layout)


def _emit_program(program: Program, builder, arrays: dict[str, _Array], layout: _Layout) -> None:
    statements = [_parsed(line) for line in program.text.split("\n") if line]
    if sum(statement.size for statement in statements) <= LONGEST:
        _Translator(builder, arrays, layout).run(statements)
    else:
        _emit_in_pieces(program.name, builder, arrays, layout, statements)


def _emit_in_pieces(
    name: str, builder, arrays: dict[str, _Array], layout: _Layout, statements: list[_Statement]
) -> None:
    """Emit a function for each `PIECE` of the statements, and the calls of all.

    Values that a later piece needs go through memory on the stack.
    """
    pieces = _pieces(statements)
    slots = _slots(pieces)
    room = cgutils.alloca_once(
        builder, layout.number, size=ir.Constant(_INDEX, max(slots.values(), default=0) + 1)
    )
    passed = [
        room,
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
        function.args[0].add_attribute("noalias")
        received = iter(function.args)
        kept = _Kept(next(received), slots)
        inner = {
            each: _Array(next(received), [next(received) for _ in array.extents])
            for each, array in arrays.items()
        }
        own = layout
        if place is not None:
            field = "column" if layout.row is None else "row"
            own = layout._replace(**{field: next(received)})
        body = ir.IRBuilder(function.append_basic_block())
        _Translator(body, inner, own, kept).run(piece)
        body.ret_void()
        builder.call(function, passed)


def _parsed(line: str) -> _Statement:
    (assignment,) = ast.parse(line).body
    assert isinstance(assignment, ast.Assign)
    (target,) = assignment.targets
    names, size = [], 1
    for node in ast.walk(assignment.value):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.BinOp):
            size += 1
    return _Statement(target, assignment.value, names, size)


def _pieces(statements: list[_Statement]) -> list[list[_Statement]]:
    """Return the statements in groups of about `PIECE` operations and results."""
    pieces: list[list[_Statement]] = []
    size = PIECE
    for statement in statements:
        if size >= PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(statement)
        size += statement.size
    return pieces


def _slots(pieces: list[list[_Statement]]) -> dict[str, int]:
    """Return a slot of memory for each name that a later piece than its own uses.

    A slot is free again after the last piece that uses it.
    """
    born: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        for statement in piece:
            last.update((name, number) for name in statement.names if name in born)
            if isinstance(statement.target, ast.Name):
                born[statement.target.id] = number
    dying: list[list[str]] = [[] for _ in pieces]
    beginning: list[list[str]] = [[] for _ in pieces]
    for name, number in last.items():
        if number > born[name]:
            dying[number].append(name)
            beginning[born[name]].append(name)
    slots: dict[str, int] = {}
    free: list[int] = []
    count = 0
    for begins, dies in zip(beginning, dying, strict=True):
        for name in begins:
            if not free:
                free.append(count)
                count += 1
            slots[name] = free.pop()
        free += [slots[name] for name in dies]
    return slots


class _Kept(NamedTuple):
    """Where values lie that one piece of a program leaves to another: memory, slots by name."""

    room: Any
    slots: dict[str, int]


class _Translator:
    """Emits LLVM instructions for assignments."""

    def __init__(
        self, builder, arrays: dict[str, _Array], layout: _Layout, kept: _Kept | None = None
    ):
        self._builder = builder
        self._arrays = arrays
        self._layout = layout
        self._kept = kept or _Kept(None, {})
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

    def run(self, statements: list[_Statement]) -> None:
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

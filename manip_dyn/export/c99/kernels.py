"""C functions from straight-line code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from manip_dyn.codegen.backend.statements import (
    Statement,
    depth_first,
    divided,
    memory_slots,
    needs_division,
    parsed,
)
from manip_dyn.codegen.generation.kernel_modules import program_text
from manip_dyn.codegen.rigid_body.catalogue import Function, argument_size
from manip_dyn.export.c99.language import Precision, c_name, letters

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
SUMS = (ast.Add, ast.Sub)
ENDS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "diff",
    ast.Mult: "prod",
    ast.Div: "quot",
}
"""What names of results end in."""
KEPT = "kept"
"""The array through which a part of a long program leaves values to later ones."""


class CWriter:
    """Writes assignments as C, in a function body of its own.

    Attributes:
        counts: Numbers of angles for which sines are called.
    """

    def __init__(
        self,
        prefix: str,
        precision: Precision,
        shapes: Mapping[str, Sequence[int]],
        slots: Mapping[str, int] | None = None,
        names: Mapping[str, str] | None = None,
    ):
        """Take what is known outside the body.

        Args:
            prefix: Of the names of functions.
            precision: The type of numbers.
            shapes: Of arrays with more than one axis, which lie row by row in C.
            slots: Places in the array `KEPT` of values that parts leave to one another.
            names: C expressions of names that are given.
        """
        self._prefix, self._precision, self._shapes = prefix, precision, shapes
        self._slots = slots or {}
        self._names = dict(names or {})
        self._type = f"const {precision.kind}"
        self.counts: set[int] = set()

    def lines(self, statements: Sequence[Statement]) -> Iterator[str]:
        """Yield the statements in C, sines and cosines of one level together."""
        self._statements = {_target(each): each for each in statements}
        self._level: dict[str, int] = {}
        self._done: set[str] = set()
        self._groups = self._grouped(statements)
        for name in self._statements:
            yield from self._statement(name)

    # ------------------------------------------------------------------ sines together
    def _grouped(self, statements: Sequence[Statement]) -> list[dict[str, ast.expr]]:
        """Return the angles by level: how many sines, one of the other, lie before them."""
        groups: list[dict[str, ast.expr]] = []
        for each in statements:
            level = max((self._level.get(name, 0) for name in each.names), default=0)
            if isinstance(each.value, ast.Call):
                angle = each.value.args[0]
                groups += [{} for _ in range(level + 1 - len(groups))]
                groups[level][ast.unparse(angle)] = angle
                level += 1
            self._level[_target(each)] = level
        return groups

    def _sines(self, level: int) -> Iterator[str]:
        """Yield what makes the sines and cosines of a level, after their angles."""
        angles, mark = self._groups[level], letters(level)
        if f"sines {mark}" in self._done:
            return
        self._done.add(f"sines {mark}")
        for name in angles:
            if name in self._statements:
                yield from self._statement(name)
        values: list[str] = []
        for name, angle in angles.items():
            before, _ = self._reference(name)
            yield from before
            values.append(self._expression(angle))
        count, kind = len(angles), self._precision.kind
        self.counts.add(count)
        side_by_side = self._side_by_side(list(angles.values()))
        if not side_by_side:
            yield f"{self._type} angle_{mark}[{count}] = {{{', '.join(values)}}};"
        yield f"{kind} sine_{mark}[{count}];"
        yield f"{kind} cosine_{mark}[{count}];"
        call = f"{self._prefix}_{count}_sines"
        yield f"{call}({side_by_side or f'angle_{mark}'}, sine_{mark}, cosine_{mark});"

    def _side_by_side(self, angles: Sequence[ast.expr]) -> str:
        """Return where angles lie that are entries of an argument, one after the other, or ''."""
        entries = [each for each in angles if isinstance(each, ast.Subscript)]
        if len(entries) < len(angles):
            return ""
        places = [(ast.unparse(each.value), self._place(each)) for each in entries]
        array, first = places[0]
        if places != [(array, first + i) for i in range(len(places))]:
            return ""
        return f"&{array}[{first}]"

    # ---------------------------------------------------------------------- statements
    def _statement(self, name: str) -> Iterator[str]:
        """Yield a statement, after what it needs and has not been written yet."""
        if name in self._done:
            return
        waiting = [name]
        while waiting:
            current = waiting[-1]
            statement = self._statements[current]
            missing = [
                each
                for each in statement.names
                if each in self._statements and each not in self._done and each != current
            ]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if current not in self._done:
                yield from self._written(current, statement)

    def _written(self, name: str, statement: Statement) -> Iterator[str]:
        self._done.add(name)
        if isinstance(statement.value, ast.Call):
            level = self._level[name] - 1
            yield from self._sines(level)
            place = list(self._groups[level]).index(ast.unparse(statement.value.args[0]))
            which = "sine" if ast.unparse(statement.value.func) == "sin" else "cosine"
            value = f"{which}_{letters(level)}[{place}]"
        else:
            for each in statement.names:
                before, _ = self._reference(each)
                yield from before
            value = self._expression(statement.value)
        if not isinstance(statement.target, ast.Name):
            yield f"{self._expression(statement.target)} = {value};"
            return
        self._names[name] = own = f"{name}_{_end(statement.value)}"
        yield f"{self._type} {own} = {value};"
        if name in self._slots:
            yield f"{KEPT}[{self._slots[name]}] = {own};"

    def _reference(self, name: str) -> tuple[list[str], str]:
        """Return what reads a name that another part has left, and the name in C."""
        if name not in self._names:
            if name not in self._slots:  # an array
                return [], name
            self._names[name] = own = f"{name}_kept"
            return [f"{self._type} {own} = {KEPT}[{self._slots[name]}];"], own
        return [], self._names[name]

    # --------------------------------------------------------------------- expressions
    def _expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self._reference(node.id)[1]
        if isinstance(node, ast.Constant):
            return self._precision.literal(float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.UnaryOp):
            return f"-{self._inner(node.operand)}"
        if isinstance(node, ast.Subscript):
            return f"{ast.unparse(node.value)}[{self._place(node)}]"
        assert isinstance(node, ast.BinOp)
        left = self._expression(node.left)
        chained = isinstance(node.op, SUMS) and isinstance(node.left, ast.BinOp)
        if not (chained and isinstance(node.left.op, SUMS)):  # type: ignore[attr-defined]
            left = self._inner(node.left)
        return f"{left} {SYMBOLS[type(node.op)]} {self._inner(node.right)}"

    def _inner(self, node: ast.expr) -> str:
        """Return an operand, in parentheses where it is an operation itself."""
        text = self._expression(node)
        return f"({text})" if isinstance(node, (ast.BinOp, ast.UnaryOp)) else text

    def _place(self, node: ast.Subscript) -> int:
        """Return the index of an entry whose array lies row by row."""
        index = ast.literal_eval(node.slice)
        if not isinstance(index, tuple):
            return int(index)
        place = 0
        for each, extent in zip(index, self._shapes[ast.unparse(node.value)], strict=True):
            place = place * extent + each
        return place


def _target(statement: Statement) -> str:
    return ast.unparse(statement.target)


def _end(value: ast.expr) -> str:
    """Return what a result's name ends in."""
    if isinstance(value, ast.BinOp):
        return ENDS[type(value.op)]
    if isinstance(value, ast.Call):
        return ast.unparse(value.func)
    return "in" if isinstance(value, ast.Subscript) else "copy"


def with_arguments(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements with entries of arguments where they are used, by no other name."""
    entries: dict[str, ast.expr] = {}
    kept = []
    for target, value, names, size in statements:
        if isinstance(value, ast.Subscript) and isinstance(target, ast.Name):
            entries[target.id] = value
            continue
        arrays = [ast.unparse(entries[each].value) for each in names if each in entries]  # type: ignore[attr-defined]
        others = [each for each in names if each not in entries]
        kept.append(Statement(target, _Entries(entries).visit(value), others + arrays, size))
    return kept


class _Entries(ast.NodeTransformer):
    def __init__(self, entries: dict[str, ast.expr]):
        self._entries = entries

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._entries.get(node.id, node)


class Style(NamedTuple):
    """How everything of one export is written: prefix of names, and the type of numbers."""

    prefix: str
    precision: Precision

    @property
    def given(self) -> str:
        """The type of an array that is read, up to its name."""
        return f"const {self.precision.kind} *{self.restrict} "

    @property
    def filled(self) -> str:
        """The type of an array that is written, up to its name."""
        return f"{self.precision.kind} *{self.restrict} "

    @property
    def restrict(self) -> str:
        """The macro that says that arrays do not overlap."""
        return f"{self.prefix.upper()}_RESTRICT"


class Source(NamedTuple):
    """C text of definitions, and the numbers of angles whose sines it calls for."""

    text: str
    counts: frozenset[int]


def prototype(style: Style, function: Function) -> str:
    """Return the head of a kernel's C function."""
    arguments = [f"{style.given}{name}" for name in function.declaration.arguments]
    return head(f"void {style.prefix}_{c_name(function.name)}", [*arguments, f"{style.filled}out"])


def head(what: str, arguments: list[str]) -> str:
    """Return the head of a C function, in lines that are not too long."""
    lines = [f"{what}("]
    for i, each in enumerate(arguments):
        word = each + (", " if i + 1 < len(arguments) else ")")
        if len(lines[-1]) + len(word.rstrip()) > 99:
            lines[-1] = lines[-1].rstrip()
            lines.append("    ")
        lines[-1] += word
    return "\n".join(lines)


def definition(style: Style, function: Function) -> Source:
    """Return the definition of a kernel, with its parts where it is long."""
    text = program_text(function)
    statements = depth_first(with_arguments([parsed(line) for line in text.split("\n") if line]))
    given = function.declaration.arguments
    used = [name for name in given if is_read(statements, name)]
    left_out = unused(statements, given)
    shapes = {"out": function.shape}
    opening = prototype(style, function)
    if not needs_division(statements):
        writer = CWriter(style.prefix, style.precision, shapes)
        lines = list(writer.lines(statements))
        return Source(_function(opening, [*left_out, *lines]), frozenset(writer.counts))
    pieces = divided(statements)
    slots = memory_slots(pieces)
    size = max(slots.values(), default=0) + 1
    texts, calls, counts = [], [], set[int]()
    for i, piece in enumerate(pieces):
        name = f"{style.prefix}_{c_name(function.name)}_{letters(i)}"
        writer = CWriter(style.prefix, style.precision, shapes, slots)
        lines = list(writer.lines(piece))
        counts |= writer.counts
        read = [each for each in used if is_read(piece, each)]
        writes = [each for each in ("out",) if _is_written(piece, each)]
        taken = [f"{style.given}{each}" for each in read]
        taken += [f"{style.filled}{each}" for each in (KEPT, *writes)]
        texts.append(_function(head(f"static void {name}", taken), lines))
        calls.append(f"{name}({', '.join((*read, KEPT, *writes))});")
    room = f"{style.precision.kind} {KEPT}[{size}];"
    texts.append(_function(opening, [room, "", *left_out, *calls]))
    return Source("\n".join(texts), frozenset(counts))


def unused(statements: Sequence[Statement], arguments: Iterable[str]) -> list[str]:
    """Return lines that tell the compiler which arguments are not read on purpose."""
    return [f"(void){name};" for name in arguments if not is_read(statements, name)]


def is_read(statements: Sequence[Statement], name: str) -> bool:
    """Return whether statements read an array, or a number."""
    return any(name in statement.names for statement in statements)


def argument_sizes(function: Function, n: int) -> Iterator[tuple[str, int]]:
    """Yield a kernel's arguments and their numbers of entries for n joints."""
    for name in function.declaration.arguments:
        yield name, argument_size(name, n)


def _function(opening: str, lines: list[str]) -> str:
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"{opening}\n{{\n{body}\n}}\n"


def _is_written(piece: list[Statement], array: str) -> bool:
    return any(ast.unparse(each.target).startswith(f"{array}[") for each in piece)

"""C functions from straight-line programs; the counterpart of `codegen.backend`."""

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
from manip_dyn.codegen.generation.kernel_source import Function, program_text
from manip_dyn.codegen.rigid_body.catalogue import argument_size
from manip_dyn.export.c99.language import Precision, c_name, letters

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
SUMS = (ast.Add, ast.Sub)
SUFFIXES: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "diff",
    ast.Mult: "prod",
    ast.Div: "quot",
}
"""Suffixes of result names."""
SHARED = "shared"
"""Name of the array for values shared by several functions of a program."""


class CWriter:
    """Writes the assignments of one function body in C.

    Attributes:
        counts: Sizes (angles per call) of the sine functions that the body calls.
    """

    def __init__(
        self,
        prefix: str,
        precision: Precision,
        shapes: Mapping[str, Sequence[int]],
        slots: Mapping[str, int] | None = None,
        names: Mapping[str, str] | None = None,
    ):
        """Initialize the body of a function.

        Args:
            prefix: Prefix of function names.
            precision: Floating-point type.
            shapes: Shapes of arrays with more than one axis, which are row-major in C.
            slots: Indices in the array `SHARED` for values that several functions use.
            names: C expressions for names defined outside the body.
        """
        self._prefix, self._precision, self._shapes = prefix, precision, shapes
        self._slots = slots or {}
        self._names = dict(names or {})
        self._type = f"const {precision.kind}"
        self.counts: set[int] = set()

    def lines(self, statements: Sequence[Statement]) -> Iterator[str]:
        """Yield the statements in C; sines and cosines of the same level share a call."""
        self._statements = {_target(statement): statement for statement in statements}
        self._level: dict[str, int] = {}
        self._emitted: set[str] = set()
        self._groups = self._grouped(statements)
        for name in self._statements:
            yield from self._statement(name)

    # --------------------------------------------------------------------- sines by level
    def _grouped(self, statements: Sequence[Statement]) -> list[dict[str, ast.expr]]:
        """Group the angles by level, which is the number of nested sines on which they depend."""
        groups: list[dict[str, ast.expr]] = []
        for statement in statements:
            level = max((self._level.get(name, 0) for name in statement.names), default=0)
            if isinstance(statement.value, ast.Call):
                angle = statement.value.args[0]
                groups += [{} for _ in range(level + 1 - len(groups))]
                groups[level][ast.unparse(angle)] = angle
                level += 1
            self._level[_target(statement)] = level
        return groups

    def _sines(self, level: int) -> Iterator[str]:
        """Yield the call for the sines and cosines of a level, after its angles."""
        angles, mark = self._groups[level], letters(level)
        if f"sines {mark}" in self._emitted:
            return
        self._emitted.add(f"sines {mark}")
        for name in angles:
            if name in self._statements:
                yield from self._statement(name)
        values: list[str] = []
        for name, angle in angles.items():
            loads, _ = self._reference(name)
            yield from loads
            values.append(self._expression(angle))
        count, kind = len(angles), self._precision.kind
        self.counts.add(count)
        consecutive = self._consecutive(list(angles.values()))
        if not consecutive:
            yield f"{self._type} angle_{mark}[{count}] = {{{', '.join(values)}}};"
        yield f"{kind} sine_{mark}[{count}];"
        yield f"{kind} cosine_{mark}[{count}];"
        call = f"{self._prefix}_{count}_sines"
        yield f"{call}({consecutive or f'angle_{mark}'}, sine_{mark}, cosine_{mark});"

    def _consecutive(self, angles: Sequence[ast.expr]) -> str:
        """Return the address of angles that are consecutive entries of an argument, or ""."""
        entries = [angle for angle in angles if isinstance(angle, ast.Subscript)]
        if len(entries) < len(angles):
            return ""
        indices = [(ast.unparse(entry.value), self._index(entry)) for entry in entries]
        array, first = indices[0]
        if indices != [(array, first + i) for i in range(len(indices))]:
            return ""
        return f"&{array}[{first}]"

    # ---------------------------------------------------------------------- statements
    def _statement(self, name: str) -> Iterator[str]:
        """Yield a statement after its operands, unless they have been emitted."""
        if name in self._emitted:
            return
        waiting = [name]
        while waiting:
            current = waiting[-1]
            statement = self._statements[current]
            missing = [
                operand
                for operand in statement.names
                if operand in self._statements
                and operand not in self._emitted
                and operand != current
            ]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if current not in self._emitted:
                yield from self._emit(current, statement)

    def _emit(self, name: str, statement: Statement) -> Iterator[str]:
        self._emitted.add(name)
        if isinstance(statement.value, ast.Call):
            level = self._level[name] - 1
            yield from self._sines(level)
            index = list(self._groups[level]).index(ast.unparse(statement.value.args[0]))
            function = "sine" if ast.unparse(statement.value.func) == "sin" else "cosine"
            value = f"{function}_{letters(level)}[{index}]"
        else:
            for operand in statement.names:
                loads, _ = self._reference(operand)
                yield from loads
            value = self._expression(statement.value)
        if not isinstance(statement.target, ast.Name):
            yield f"{self._expression(statement.target)} = {value};"
            return
        self._names[name] = variable = f"{name}_{_suffix(statement.value)}"
        yield f"{self._type} {variable} = {value};"
        if name in self._slots:
            yield f"{SHARED}[{self._slots[name]}] = {variable};"

    def _reference(self, name: str) -> tuple[list[str], str]:
        """Return statements that load a value from another function, and its C name."""
        if name not in self._names:
            if name not in self._slots:  # the name of an array
                return [], name
            self._names[name] = variable = f"{name}_shared"
            return [f"{self._type} {variable} = {SHARED}[{self._slots[name]}];"], variable
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
            return f"{ast.unparse(node.value)}[{self._index(node)}]"
        assert isinstance(node, ast.BinOp)
        left = self._expression(node.left)
        chained = isinstance(node.op, SUMS) and isinstance(node.left, ast.BinOp)
        if not (chained and isinstance(node.left.op, SUMS)):  # type: ignore[attr-defined]
            left = self._inner(node.left)
        return f"{left} {SYMBOLS[type(node.op)]} {self._inner(node.right)}"

    def _inner(self, node: ast.expr) -> str:
        """Return an operand, in parentheses if it is an operation."""
        text = self._expression(node)
        return f"({text})" if isinstance(node, (ast.BinOp, ast.UnaryOp)) else text

    def _index(self, node: ast.Subscript) -> int:
        """Return the index of an entry in a row-major array."""
        index = ast.literal_eval(node.slice)
        if not isinstance(index, tuple):
            return int(index)
        flat = 0
        for k, extent in zip(index, self._shapes[ast.unparse(node.value)], strict=True):
            flat = flat * extent + k
        return flat


def _target(statement: Statement) -> str:
    return ast.unparse(statement.target)


def _suffix(value: ast.expr) -> str:
    if isinstance(value, ast.BinOp):
        return SUFFIXES[type(value.op)]
    if isinstance(value, ast.Call):
        return ast.unparse(value.func)
    return "in" if isinstance(value, ast.Subscript) else "copy"


def with_arguments(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements without assignments that only name array entries.

    Other expressions contain the entries instead of their names.
    """
    entries: dict[str, ast.expr] = {}
    substituted = []
    for target, value, names, size in statements:
        if isinstance(value, ast.Subscript) and isinstance(target, ast.Name):
            entries[target.id] = value
            continue
        arrays = [ast.unparse(entries[name].value) for name in names if name in entries]  # type: ignore[attr-defined]
        operands = [name for name in names if name not in entries]
        expression = _Entries(entries).visit(value)
        substituted.append(Statement(target, expression, operands + arrays, size))
    return substituted


class _Entries(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, entries: dict[str, ast.expr]):
        self._entries = entries

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._entries.get(node.id, node)


class Style(NamedTuple):
    """Style of an export: prefix of names, and floating-point type."""

    prefix: str
    precision: Precision

    @property
    def input(self) -> str:
        """Declaration of an input array, without its name."""
        return f"const {self.precision.kind} *{self.restrict} "

    @property
    def output(self) -> str:
        """Declaration of an output array, without its name."""
        return f"{self.precision.kind} *{self.restrict} "

    @property
    def restrict(self) -> str:
        """Name of the macro for arrays that do not overlap."""
        return f"{self.prefix.upper()}_RESTRICT"


class Source(NamedTuple):
    """C definitions and the sizes (angles per call) of the sine functions that they call."""

    text: str
    counts: frozenset[int]


def prototype(style: Style, function: Function) -> str:
    """Return the C declarator of a kernel function."""
    arguments = [f"{style.input}{name}" for name in function.declaration.arguments]
    return head(f"void {style.prefix}_{c_name(function.name)}", [*arguments, f"{style.output}out"])


def head(name: str, arguments: list[str]) -> str:
    """Return the declarator of a C function in lines of at most 99 characters."""
    lines = [f"{name}("]
    for i, argument in enumerate(arguments):
        word = argument + (", " if i + 1 < len(arguments) else ")")
        if len(lines[-1]) + len(word.rstrip()) > 99:
            lines[-1] = lines[-1].rstrip()
            lines.append("    ")
        lines[-1] += word
    return "\n".join(lines)


def definition(style: Style, function: Function) -> Source:
    """Return the definition of a kernel; a long kernel is divided into several functions."""
    text = program_text(function)
    statements = depth_first(with_arguments([parsed(line) for line in text.split("\n") if line]))
    names = function.declaration.arguments
    used = [name for name in names if is_read(statements, name)]
    unread = unused(statements, names)
    shapes = {"out": function.shape}
    opening = prototype(style, function)
    if not needs_division(statements):
        writer = CWriter(style.prefix, style.precision, shapes)
        lines = list(writer.lines(statements))
        return Source(_function(opening, [*unread, *lines]), frozenset(writer.counts))
    groups = divided(statements)
    slots = memory_slots(groups)
    size = max(slots.values(), default=0) + 1
    texts, calls, counts = [], [], set[int]()
    for i, group in enumerate(groups):
        name = f"{style.prefix}_{c_name(function.name)}_{letters(i)}"
        writer = CWriter(style.prefix, style.precision, shapes, slots)
        lines = list(writer.lines(group))
        counts |= writer.counts
        inputs = [array for array in used if is_read(group, array)]
        outputs = [SHARED, *(array for array in ("out",) if _is_written(group, array))]
        arguments = [f"{style.input}{array}" for array in inputs]
        arguments += [f"{style.output}{array}" for array in outputs]
        texts.append(_function(head(f"static void {name}", arguments), lines))
        calls.append(f"{name}({', '.join((*inputs, *outputs))});")
    memory = f"{style.precision.kind} {SHARED}[{size}];"
    texts.append(_function(opening, [memory, "", *unread, *calls]))
    return Source("\n".join(texts), frozenset(counts))


def unused(statements: Sequence[Statement], arguments: Iterable[str]) -> list[str]:
    """Return C statements that mark unread arguments as intentionally unused."""
    return [f"(void){name};" for name in arguments if not is_read(statements, name)]


def is_read(statements: Sequence[Statement], name: str) -> bool:
    """Return whether any of the statements reads the array or number `name`."""
    return any(name in statement.names for statement in statements)


def argument_sizes(function: Function, n: int) -> Iterator[tuple[str, int]]:
    """Yield names and sizes of the arguments of a kernel for n joints."""
    for name in function.declaration.arguments:
        yield name, argument_size(name, n)


def _function(opening: str, lines: list[str]) -> str:
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"{opening}\n{{\n{body}\n}}\n"


def _is_written(group: list[Statement], array: str) -> bool:
    return any(ast.unparse(item.target).startswith(f"{array}[") for item in group)

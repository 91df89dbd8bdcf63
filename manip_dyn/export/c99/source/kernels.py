"""C functions from straight-line programs; long ones in parts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from manip_dyn.codegen.backend.statements import (
    Statement,
    depth_first,
    in_pieces,
    is_long,
    parsed,
    slots_between,
)
from manip_dyn.codegen.generation.kernel_modules import program_text
from manip_dyn.codegen.rigid_body.catalogue import Function, argument_size
from manip_dyn.export.c99.source.entries import with_arguments
from manip_dyn.export.c99.source.names import c_name, letters
from manip_dyn.export.c99.source.precision import Precision
from manip_dyn.export.c99.source.statements import KEPT, CWriter


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
    if not is_long(statements):
        writer = CWriter(style.prefix, style.precision, shapes)
        lines = list(writer.lines(statements))
        return Source(_function(opening, [*left_out, *lines]), frozenset(writer.counts))
    pieces = in_pieces(statements)
    slots = slots_between(pieces)
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

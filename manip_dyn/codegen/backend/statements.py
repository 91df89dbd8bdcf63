"""Statements of straight-line code: parsing, ordering, and division into functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple


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


LONGEST, PIECE = 12_000, 2000
"""Operations and results of a program up to which it is one function, and in each of a longer one.

LLVM's time grows with the square of a function's length.
"""


class Statement(NamedTuple):
    """An assignment, the names in its value, and how many operations and results it is."""

    target: ast.expr
    value: ast.expr
    names: list[str]
    size: int


def length(statements: list[Statement]) -> int:
    """Return how many operations and results a program is."""
    return sum(statement.size for statement in statements)


def is_long(statements: list[Statement]) -> bool:
    """Return whether a program is better compiled in pieces."""
    return length(statements) > LONGEST


def parsed(line: str) -> Statement:
    """Return a line of a program."""
    (assignment,) = ast.parse(line).body
    assert isinstance(assignment, ast.Assign)
    (target,) = assignment.targets
    names, size = [], 1
    for node in ast.walk(assignment.value):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.BinOp):
            size += 1
    return Statement(target, assignment.value, names, size)


def in_pieces(statements: list[Statement]) -> list[list[Statement]]:
    """Return the statements in groups of about `PIECE` operations and results."""
    pieces: list[list[Statement]] = []
    size = PIECE
    for statement in statements:
        if size >= PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(statement)
        size += statement.size
    return pieces


def slots_between(pieces: list[list[Statement]]) -> dict[str, int]:
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


def depth_first(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a program that reads nothing that it writes, sines first."""
    by_name = {ast.unparse(each.target): each for each in statements}
    operands = {
        name: [each for each in dict.fromkeys(statement.names) if each in by_name]
        for name, statement in by_name.items()
    }
    depth: dict[str, int] = {}
    for name, needed in operands.items():
        depth[name] = 1 + max((depth[each] for each in needed), default=0)
    sines = [name for name, each in by_name.items() if isinstance(each.value, ast.Call)]
    results = [name for name, each in by_name.items() if not isinstance(each.target, ast.Name)]
    order: dict[str, None] = {}
    for name in (*sines, *results):
        waiting = [name]
        while waiting:
            current = waiting[-1]
            missing = [each for each in operands[current] if each not in order]
            if missing:
                waiting.append(max(missing, key=depth.__getitem__))
                continue
            order[waiting.pop()] = None
    return [by_name[name] for name in order]

"""Straight-line programs: parsing, ordering of statements and division into functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple


class Program(NamedTuple):
    """A straight-line program as text.

    Attributes:
        name: Name used in messages.
        inputs: Names of the input arrays, which have one axis each.
        dimensions: Number of axes of the output array, ``out``.
        text: Lines that assign arithmetic, ``sin`` and ``cos`` of names, constants and array
            entries to names and to entries of ``out``. It is text because parsing a Python
            function of tens of thousands of lines would require too much memory.
    """

    name: str
    inputs: tuple[str, ...]
    dimensions: int
    text: str


UNDIVIDED_SIZE, FUNCTION_SIZE = 12_000, 2000
"""Maximum size of an undivided program, and size of the functions of a larger one. The size is
the number of operations and assignments. LLVM's compile time grows with the square of a
function's length."""


class Statement(NamedTuple):
    """An assignment, the names in its expression, and its size: its operations plus one."""

    target: ast.expr
    value: ast.expr
    names: list[str]
    size: int


def program_size(statements: list[Statement]) -> int:
    """Return the number of operations and assignments of a program."""
    return sum(statement.size for statement in statements)


def needs_division(statements: list[Statement]) -> bool:
    """Return whether a program is too long for one function."""
    return program_size(statements) > UNDIVIDED_SIZE


def parsed(line: str) -> Statement:
    """Return the statement in a line of a program."""
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


def program_statements(program: Program) -> list[Statement]:
    """Return the statements of a program."""
    return [parsed(line) for line in program.text.split("\n") if line]


def divided(statements: list[Statement]) -> list[list[Statement]]:
    """Divide the statements into groups with a size of about `FUNCTION_SIZE`."""
    groups: list[list[Statement]] = []
    size = FUNCTION_SIZE
    for statement in statements:
        if size >= FUNCTION_SIZE:
            groups.append([])
            size = 0
        groups[-1].append(statement)
        size += statement.size
    return groups


def memory_slots(groups: list[list[Statement]]) -> dict[str, int]:
    """Return a memory slot for each name that a later group reads.

    A slot is reused after the last group that reads it.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, group in enumerate(groups):
        for statement in group:
            last.update((name, number) for name in statement.names if name in first)
            if isinstance(statement.target, ast.Name):
                first[statement.target.id] = number
    ends: list[list[str]] = [[] for _ in groups]
    starts: list[list[str]] = [[] for _ in groups]
    for name, number in last.items():
        if number > first[name]:
            ends[number].append(name)
            starts[first[name]].append(name)
    slots: dict[str, int] = {}
    free: list[int] = []
    count = 0
    for starting, ending in zip(starts, ends, strict=True):
        for name in starting:
            if not free:
                free.append(count)
                count += 1
            slots[name] = free.pop()
        free += [slots[name] for name in ending]
    return slots


def depth_first(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements in depth-first order of their results, sines and cosines first.

    The program must not read entries of ``out``. Compilers largely preserve the order of a long
    function. In depth-first order a result is computed just before its use, deepest operand first,
    so fewer values occupy registers or memory (Sethi, Ullman 1970). The forward dynamics of a
    seven-joint arm are 10 % faster than in the order of the graph, in C and in SIMD lanes. Code
    for a single state, where LLVM pairs operations, would be 20 % slower.
    """
    by_name = {ast.unparse(statement.target): statement for statement in statements}
    operands = {
        name: [operand for operand in dict.fromkeys(statement.names) if operand in by_name]
        for name, statement in by_name.items()
    }
    depth: dict[str, int] = {}
    for name, needed in operands.items():
        depth[name] = 1 + max((depth[operand] for operand in needed), default=0)
    sines = [name for name, item in by_name.items() if isinstance(item.value, ast.Call)]
    results = [name for name, item in by_name.items() if not isinstance(item.target, ast.Name)]
    order: dict[str, None] = {}
    for name in (*sines, *results):
        waiting = [name]
        while waiting:
            current = waiting[-1]
            missing = [operand for operand in operands[current] if operand not in order]
            if missing:
                waiting.append(max(missing, key=depth.__getitem__))
                continue
            order[waiting.pop()] = None
    return [by_name[name] for name in order]

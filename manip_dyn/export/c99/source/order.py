"""The order of a program's statements in C.

Compilers keep near to the order in which they read a long function. Each result is best made just
before what needs it, deepest operand first: fewer values wait in registers, or in memory (Sethi,
Ullman 1970). That makes the forward dynamics of an arm a tenth faster than in the order in which
the graph has grown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from manip_dyn.codegen.backend.pieces import Statement


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

"""Entries of arguments, read where they are used."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from manip_dyn.codegen.backend.statements import Statement


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

"""The order of a program's statements.

Compilers keep near to the order in which they read a long function. Each result is best made just
before what needs it, deepest operand first: fewer values wait in registers, or in memory (Sethi,
Ullman 1970). That makes the forward dynamics of an arm of seven joints a tenth faster, in C and in
SIMD lanes, than in the order in which the graph has grown. One state alone, which LLVM finds pairs
of operations in, is a fifth slower so.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from manip_dyn.codegen.backend.pieces import Statement


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

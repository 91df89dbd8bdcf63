"""Ordinary modules loaded once more with some of their names bound to something else.

A program that has to know what it is about, a right-hand side, a number of states, is written as
an ordinary module, with a stand-in under each of these names. `specialized` runs the module's own
source again under another name, with these names bound anew: the compiler then sees functions
and constants, as if the module had been written for them. A stack trace shows the real file.
"""

from __future__ import annotations

import ast
import itertools
import sys
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from manip_dyn.core.fingerprint import digest_of

_unknown = itertools.count()


def specialized(module: ModuleType, **bindings: Any) -> ModuleType:
    """Return a module of the same source in which some names have other values, loaded once.

    Args:
        module: The ordinary module.
        bindings: Values for names that it imports or assigns at its top level.
    """
    digest = digest_of(bindings) or f"in_memory_{next(_unknown)}"
    name = f"{module.__name__.replace('.', '_')}_{digest[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    made = ModuleType(name, module.__doc__)
    made.__file__ = module.__file__
    vars(made).update(bindings)
    sys.modules[name] = made  # where numba looks for the module of a function
    exec(_code(str(module.__file__), frozenset(bindings)), vars(made))
    return made


@cache
def _code(path: str, names: frozenset[str]) -> CodeType:
    """Return a module's code without what binds these names."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    missing = set(names)
    kept: list[ast.stmt] = []
    for statement in tree.body:
        bound = _bound(statement)
        missing -= bound
        if isinstance(statement, ast.ImportFrom):
            statement.names = [a for a in statement.names if (a.asname or a.name) not in names]
            if not statement.names:
                continue
        elif bound & names:
            continue
        kept.append(statement)
    if missing:
        raise ValueError(f"{path} binds no {', '.join(sorted(missing))}; expected it at its top")
    tree.body = kept
    return compile(tree, path, "exec")


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(statement, ast.ImportFrom):
        return {each.asname or each.name for each in statement.names}
    if isinstance(statement, ast.Assign):
        return {each.id for each in statement.targets if isinstance(each, ast.Name)}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return set()

"""Modules loaded again with other values of some names."""

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
        if isinstance(statement, ast.ImportFrom):
            bound = {each.asname or each.name for each in statement.names}
            statement.names = [a for a in statement.names if (a.asname or a.name) not in names]
            left = bool(statement.names)
        else:
            targets = _targets(statement)
            bound = {each.id for each in targets}
            for each in targets:
                each.id = "_" if each.id in names else each.id
            left = True
        missing -= bound
        if left:
            kept.append(statement)
    if missing:
        raise ValueError(f"{path} binds no {', '.join(sorted(missing))}; expected it at its top")
    tree.body = kept
    return compile(tree, path, "exec")


def _targets(statement: ast.stmt) -> list[ast.Name]:
    """Return the names that a statement of a module assigns to."""
    if isinstance(statement, ast.Assign):
        given = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        given = [statement.target]
    else:
        return []
    inside = [e for each in given for e in getattr(each, "elts", [each])]
    return [each for each in inside if isinstance(each, ast.Name)]

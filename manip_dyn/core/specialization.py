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
    copy = ModuleType(name, module.__doc__)
    copy.__file__ = module.__file__
    vars(copy).update(bindings)
    sys.modules[name] = copy  # where numba looks for the module of a function
    exec(_code(str(module.__file__), frozenset(bindings)), vars(copy))
    return copy


@cache
def _code(path: str, names: frozenset[str]) -> CodeType:
    """Return a module's code without the bindings of these names."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    missing = set(names)
    statements: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            bound = {alias.asname or alias.name for alias in statement.names}
            statement.names = [a for a in statement.names if (a.asname or a.name) not in names]
            remains = bool(statement.names)
        else:
            targets = _targets(statement)
            bound = {target.id for target in targets}
            for target in targets:
                target.id = "_" if target.id in names else target.id
            remains = True
        missing -= bound
        if remains:
            statements.append(statement)
    if missing:
        raise ValueError(f"{path} binds no {', '.join(sorted(missing))} at its top level")
    tree.body = statements
    return compile(tree, path, "exec")


def _targets(statement: ast.stmt) -> list[ast.Name]:
    """Return the names that a statement of a module assigns to."""
    if isinstance(statement, ast.Assign):
        assigned = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        assigned = [statement.target]
    else:
        return []
    inside = [e for target in assigned for e in getattr(target, "elts", [target])]
    return [e for e in inside if isinstance(e, ast.Name)]

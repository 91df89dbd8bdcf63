"""How planning is built: no cycles, no long chains of imports, nothing private across files."""

import ast
from functools import cache
from pathlib import Path

from manip_dyn import planning

ROOT = Path(planning.__file__).parent
NAME = planning.__name__
FLOORS = 8
"""Most modules of planning that import each other in a row, from room to room."""


def name_of(path):
    """Return the dotted name of a file."""
    return ".".join((NAME, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imports(name):
    """Return module and imported name of all imports inside planning, wherever in the file."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(MODULES[name].read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAME)
        for alias in node.names
    ]


CHAINS = {}
"""The longest chains, by their first module."""


def chain(name, above=()):
    """Return the longest chain of imports that begins with a module."""
    assert name not in above, f"{name} imports itself by way of {above}"
    if name not in CHAINS:
        below = {module for module, _ in imports(name)}
        chains = (chain(each, (*above, name)) for each in below)
        CHAINS[name] = (name, *max(chains, key=len, default=()))
    return CHAINS[name]


def test_chains_of_imports_are_short():
    assert len(MODULES) > 50
    chains = [chain(name) for name in MODULES]
    assert not [" > ".join(each) for each in chains if len(each) > FLOORS]


def test_nothing_private_is_imported():
    assert not [
        (name, module, each)
        for name in MODULES
        for module, each in imports(name)
        if each.startswith("_")
    ]

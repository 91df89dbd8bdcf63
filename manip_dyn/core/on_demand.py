"""Names of a package whose modules are loaded when one of them is first used (PEP 562).

A command that lists robots need not wait for planners, nor a plan for inverse kinematics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from manip_dyn.core.uninterrupted import uninterrupted


def on_demand(
    package: str, homes: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Args:
        package: Its name.
        homes: Names by the module below the package that has them; the module's own name is
            always one of them, unless the module has something that is called the same.
    """
    folder = sys.modules[package]
    home = {module: module for module in homes}
    home |= {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        with uninterrupted(whole=True):  # what numba has loaded by half, it cannot load again
            module = import_module(f"{package}.{home[name]}")
            value = getattr(module, name) if name in homes[home[name]] else module
            vars(folder)[name] = value  # found at once from now on; a module may be called so, too
        return value

    def names() -> list[str]:
        return sorted({*vars(folder), *home})

    return get, names

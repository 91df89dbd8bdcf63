"""Lazy imports of public names, and imports of optional libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruption import uninterrupted


def required_module(module: str, purpose: str, extra: str) -> Any:
    """Return a module.

    Args:
        module: Its name.
        purpose: The beginning of the sentence if it is missing, such as "recordings need".
        extra: What installs it.

    Raises:
        ManipDynError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, purpose, extra) from error


def check_installed(modules: tuple[str, ...], purpose: str, extra: str) -> None:
    """Refuse to begin without modules that are loaded only later, see `needed`.

    Raises:
        ManipDynError: For the first one that is not installed.
    """
    for module in modules:
        if not find_spec(module):
            raise _missing(module, purpose, extra)


def _missing(module: str, purpose: str, extra: str) -> ManipDynError:
    library = module.partition(".")[0]
    return ManipDynError(f"{purpose} {library}; expected pip install 'manip_dyn[{extra}]'")


def lazy_names(
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

"""Imports on first use: lazy packages, and optional libraries with helpful errors.

The public names of a lazy package are listed in a stub file and imported on first use (PEP 562).
For example, a command that lists robots does not load the planners. Type checkers read the same
stub file (Scientific Python, SPEC 1).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from manip_dyn.core.deprecation import warn_deprecated
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruption import run_uninterrupted


def lazy_package(
    package: str, deprecated: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package with a stub `__init__.pyi`.

    `__all__` contains the names in `__all__` of the stub, or all names that the stub imports if it
    has no `__all__`. All imported names and the modules of the package are attributes.

    Args:
        package: Dotted name of the package.
        deprecated: Old names with the dotted names that replace them. Their use issues a
            DeprecationWarning.
    """
    module = sys.modules[package]
    tree = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    sources = _sources(tree)
    public = sorted(_listed(tree) or sources)

    def get(name: str) -> Any:
        if name in deprecated:
            return _deprecated(f"{package}.{name}", deprecated[name])
        if name not in sources and not find_spec(f"{package}.{name}"):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        # numba cannot be imported again after an interrupted import
        return run_uninterrupted(load, name)

    def load(name: str) -> Any:
        if name in sources:
            value = getattr(import_module(sources[name]), name)
        else:
            value = import_module(f"{package}.{name}")
        setattr(module, name, value)
        return value

    return get, lambda: public, public


def _listed(stub: ast.Module) -> list[str]:
    """Return the `__all__` of a stub file, or an empty list if it has none."""
    for statement in stub.body:
        if isinstance(statement, ast.Assign):
            return list(ast.literal_eval(statement.value))
    return []


def _sources(stub: ast.Module) -> dict[str, str]:
    """Return a mapping from names to the modules that define them, from a stub file's imports."""
    return {
        alias.name: statement.module
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


def _deprecated(old: str, new: str) -> Any:
    """Issue a DeprecationWarning for an old name, and return the object that replaces it."""
    warn_deprecated(old, new, stacklevel=4)
    module, _, name = new.rpartition(".")
    return getattr(import_module(module), name)


def required_module(module: str, purpose: str, extra: str) -> Any:
    """Import and return a module of an optional library.

    Args:
        module: Name of the module.
        purpose: Beginning of the error message, such as "recordings need".
        extra: Extra of this package that installs the library.

    Raises:
        ManipDynError: If the module cannot be imported.
    """
    try:
        return run_uninterrupted(import_module, module)
    except ImportError as error:
        raise _missing(module, purpose, extra) from error


def check_installed(modules: tuple[str, ...], purpose: str, extra: str) -> None:
    """Check that top-level modules are installed, without importing them.

    Args:
        modules: Names of the modules.
        purpose: Beginning of the error message, such as "recordings need".
        extra: Extra of this package that installs the modules.

    Raises:
        ManipDynError: If a module is not installed.
    """
    for module in modules:
        if not find_spec(module):
            raise _missing(module, purpose, extra)


def _missing(module: str, purpose: str, extra: str) -> ManipDynError:
    library = module.partition(".")[0]
    return ManipDynError(f"{purpose} {library}; pip install 'manip_dyn[{extra}]'.")

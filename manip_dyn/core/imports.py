"""Imports of optional libraries, with helpful errors if they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from manip_dyn.core.errors import ManipDynError


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
        return import_module(module)
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

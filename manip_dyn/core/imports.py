"""Lazy imports of public names, and imports of optional libraries."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from manip_dyn.core.errors import ManipDynError


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
    """Raise an error if a module that is loaded only later is not installed, see `needed`.

    Raises:
        ManipDynError: For the first one that is not installed.
    """
    for module in modules:
        if not find_spec(module):
            raise _missing(module, purpose, extra)


def _missing(module: str, purpose: str, extra: str) -> ManipDynError:
    library = module.partition(".")[0]
    return ManipDynError(f"{purpose} {library}; pip install 'manip_dyn[{extra}]'.")

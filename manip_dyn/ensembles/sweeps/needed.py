"""The libraries of the extra ``sweep``, loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from manip_dyn.core.errors import ManipDynError


def needed(module: str, purpose: str) -> Any:
    """Return a module of pyarrow or distributed.

    Raises:
        ManipDynError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ManipDynError(
            f"{purpose} needs {library}; expected pip install 'manip_dyn[sweep]'"
        ) from error

"""Libraries that only an extra of the package brings, loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from manip_dyn.core.errors import ManipDynError


def needed(module: str, purpose: str, extra: str) -> Any:
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
        library = module.partition(".")[0]
        raise ManipDynError(
            f"{purpose} {library}; expected pip install 'manip_dyn[{extra}]'"
        ) from error

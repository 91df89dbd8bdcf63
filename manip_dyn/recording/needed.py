"""The libraries of the extra ``record``, loaded when a file is written or read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from manip_dyn.core.errors import ManipDynError


def needed(module: str) -> Any:
    """Return a module of mcap or rosbags.

    Raises:
        ManipDynError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ManipDynError(
            f"recordings need {library}; expected pip install 'manip_dyn[record]'"
        ) from error

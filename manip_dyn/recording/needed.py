"""The libraries of the extra ``record``, loaded when a file is written or read."""

from __future__ import annotations

from typing import Any

from manip_dyn.core import extras


def needed(module: str) -> Any:
    """Return a module of mcap or rosbags; raise `ManipDynError` if it is not installed."""
    return extras.needed(module, "recordings need", "record")

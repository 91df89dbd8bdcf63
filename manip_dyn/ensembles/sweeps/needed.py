"""The libraries of the extra ``sweep``, loaded when they are used."""

from __future__ import annotations

from typing import Any

from manip_dyn.core import imports as extras


def needed(module: str, purpose: str) -> Any:
    """Return a module of pyarrow or distributed; raise `ManipDynError` if it is not installed."""
    return extras.required_module(module, f"{purpose} needs", "sweep")

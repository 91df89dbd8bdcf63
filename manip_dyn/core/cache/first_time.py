"""Tells, before it is made, what is made for the first time and then kept on disk."""

from __future__ import annotations

from collections.abc import Callable

_tellers: list[Callable[[str], None]] = []


def tell_first_time(tell: Callable[[str], None]) -> None:
    """Call `tell` with what is about to be written or compiled; it replaces an earlier teller."""
    _tellers[:] = [tell]


def first_time(what: str) -> None:
    """Say that something is not kept yet and is about to be made."""
    for tell in _tellers:
        tell(what)

"""Memory while something is compiled: for frames at once, and garbage left for later."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FRAMES = 80_000
"""Words that Python gets for the frames of all calls inside `with_room`."""


def with_room(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function after Python has got memory for the frames of all calls inside it.

    Python gets it in small pieces, of 16 kB, and gives one back as soon as no frame is left in
    it. Where a loop far down in the compiler calls a function for whose frame the piece at hand is
    too short, it asks the system for memory at every turn: a fifth of the time of compiling went
    there. A piece is never shorter than its first frame, and this function's frame is long.
    """
    return function(*arguments)


if sys.implementation.name == "cpython":
    with_room.__code__ = with_room.__code__.replace(co_stacksize=FRAMES)


class _Frozen:
    """Whether somebody else uses what Python has for objects that are no garbage."""

    by_others = False


@contextmanager
def collection_paused() -> Iterator[Any]:
    """Look for no garbage inside: the compiler makes many objects, and keeps most of them.

    They are put among the old ones, where garbage is looked for rarely.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Counting takes 30 ms where somebody has put a program's objects there.
        _Frozen.by_others = _Frozen.by_others or gc.get_freeze_count() > 0
        if not _Frozen.by_others:
            gc.freeze()
            gc.unfreeze()
        gc.enable()

"""Says once, on stderr, that compiling takes a while and that it need not be waited for again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manip_dyn.core.cache_folder import cache_directory

PATIENCE = 2.0
"""Seconds of compiling, in all, before something is said."""


class _Clock:
    """How long this process has compiled, and whether it has said so."""

    spent = 0.0
    depth = 0
    said = False


@contextmanager
def announced(function: Callable[..., Any]) -> Iterator[None]:
    """Count the time inside; where it becomes long, say what is being compiled."""
    if _Clock.depth or _Clock.said:
        yield
        return
    timer = threading.Timer(max(PATIENCE - _Clock.spent, 0.0), _say, [function])
    timer.daemon = True
    begin = time.monotonic()
    _Clock.depth += 1
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _Clock.depth -= 1
        _Clock.spent += time.monotonic() - begin


def say_nothing() -> None:
    """Say nothing in this process, for one that tells in its own words."""
    _Clock.said = True


def _say(function: Callable[..., Any]) -> None:
    if _Clock.said:
        return
    _Clock.said = True
    file = Path(function.__code__.co_filename)  # a specialized module has a name without meaning
    what = f"{function.__name__} of {file.parent.name}/{file.name}"
    print(
        f"manip_dyn: compiling for the first time ({what}); kept in {cache_directory()}",
        file=sys.stderr,
        flush=True,
    )

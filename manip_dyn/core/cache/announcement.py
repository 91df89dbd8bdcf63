"""Says, on stderr, that compiling takes a while and that it need not be waited for again.

Once for each public function whose first call takes long, by its name: what is compiled for it
are dozens of functions that the caller has never heard of.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

from manip_dyn.core.cache.check import why_not_written
from manip_dyn.core.cache.folder import cache_directory

PATIENCE = 2.0
"""Seconds of compiling for one public function, in all, before something is said."""
OURS = __name__.partition(".")[0]
BELOW, ABOVE = f"{OURS}.core.", f"{OURS}.cli."
"""Where functions are compiled, and where commands are read: neither has what is called."""


class Clock:
    """How long this process has compiled for what, and what it has said."""

    spent: ClassVar[dict[str, float]] = {}
    said: ClassVar[set[str]] = set()
    busy = False
    silent = False


@contextmanager
def announced(function: Callable[..., Any]) -> Iterator[None]:
    """Count the time inside; where it becomes long, say what the caller called."""
    if Clock.busy or Clock.silent:
        yield
        return
    called = _called(sys._getframe()) or function.__name__
    if called in Clock.said:
        yield
        return
    spent = Clock.spent.get(called, 0.0)
    timer = threading.Timer(max(PATIENCE - spent, 0.0), _say, [called])
    timer.daemon = True
    begin = time.monotonic()
    Clock.busy = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        Clock.busy = False
        Clock.spent[called] = spent + time.monotonic() - begin


def say_nothing() -> None:
    """Say nothing in this process, for one that tells in its own words."""
    Clock.silent = True


def _called(frame: FrameType | None) -> str:
    """Return the outermost public function of ours in a stack, which somebody called, or ""."""
    called = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(f"{OURS}.") and not f"{module}.".startswith((BELOW, ABOVE)):
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)  # Python 3.10 has no co_qualname
            name = name.removesuffix(".__init__")
            if not any(part.startswith(("_", "<")) for part in name.split(".")):
                called = name
        frame = frame.f_back
    return called


def _say(called: str) -> None:
    if Clock.silent or called in Clock.said:
        return
    why_not = why_not_written()
    kept = "not kept" if why_not else "kept"
    kept += f" in {cache_directory()}" + (f" ({why_not})" if why_not else "")
    print(
        f"manip_dyn: compiling what {called} needs, for the first time; {kept}",
        file=sys.stderr,
        flush=True,
    )
    Clock.said.add(called)

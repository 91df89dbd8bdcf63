"""A Ctrl-C amid compiling waits until LLVM has been left, which cannot be interrupted.

Python hears of a signal when a call of LLVM returns, before llvmlite notes that LLVM has taken
over what it was given; freed once more while the exception passes, that ended the process with a
segmentation fault.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Heard:
    """How deep in the compiler the main thread is, and whether a signal came meanwhile."""

    depth = 0
    signal = False


def interrupt(_number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, or keep it for later: a handler of signals."""
    if _Heard.depth == 0:
        raise KeyboardInterrupt
    _Heard.signal = True


def raise_what_was_heard() -> None:
    """Raise KeyboardInterrupt if a signal waits for it, in the main thread."""
    if _Heard.signal and threading.current_thread() is threading.main_thread():
        _Heard.signal = False
        raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hear signals only at the end, where `interrupt` is their handler, and of Ctrl-C Python's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    _Heard.depth += 1
    try:
        if usual:
            signal.signal(signal.SIGINT, interrupt)
        yield
    finally:
        _Heard.depth -= 1
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if _Heard.depth == 0:
            raise_what_was_heard()

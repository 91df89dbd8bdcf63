"""Signals whose handlers might raise amid compiling wait until LLVM has been left.

Python hears of a signal when a call of LLVM returns, before llvmlite notes that LLVM has taken
over what it was given; freed once more while the exception passes, that ended the process with a
segmentation fault.

Handlers are kept, whoever's they are: those of Python are called afterwards, and those that a
library has set below Python, such as rclpy, are left in place and hear of signals at once.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
    if hasattr(signal, name)  # not a Unix
]
"""What programs and their timeouts handle by raising."""
LONGEST = 512
"""Bytes that have room for what the system notes of a signal, a `struct sigaction`."""

Handler = Callable[[int, Any], object]


class _Waiting:
    """How deep in the compiler the main thread is, what came meanwhile, and who handles that.

    Attributes:
        depth: How many `uninterrupted` the main thread is in.
        whole: How many of them are not heard in between, either.
    """

    depth = 0
    whole = 0
    signals: ClassVar[list[int]] = []
    handlers: ClassVar[dict[int, Handler]] = {}


@contextmanager
def uninterrupted(whole: bool = False) -> Iterator[None]:
    """Let handlers of signals wait until the end, or until the next `uninterrupted` within.

    Args:
        whole: Whether they wait until the end in any case.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if _Waiting.depth == 0:
        _replace_handlers()
    answer()  # one function that is compiled while another is: none is in LLVM
    _Waiting.depth += 1
    _Waiting.whole += whole
    try:
        yield
    finally:
        _Waiting.depth -= 1
        _Waiting.whole -= whole
        if _Waiting.depth == 0:
            _restore_handlers()
            answer()


def answer() -> None:
    """Call the handlers of the signals that have come, in the main thread, outside of LLVM."""
    if _Waiting.whole or threading.current_thread() is not threading.main_thread():
        return
    while _Waiting.signals:
        number = _Waiting.signals.pop(0)
        _Waiting.handlers[number](number, sys._getframe())


def _note(number: int, _frame: object) -> None:
    _Waiting.signals.append(number)


def _replace_handlers() -> None:
    _Waiting.handlers.clear()
    for number in SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            _Waiting.handlers[number] = handler
            _set_in_python(number, _note)


def _restore_handlers() -> None:
    for number, handler in _Waiting.handlers.items():
        if signal.getsignal(number) is _note:
            _set_in_python(number, handler)


def _set_in_python(number: int, handler: Handler) -> None:
    """Set what Python calls, and leave what the system calls, which may be a library's."""
    system = _of_the_system()
    if system is None:
        signal.signal(number, handler)
        return
    action = ctypes.create_string_buffer(LONGEST)
    system(number, None, action)
    signal.signal(number, handler)
    system(number, action, None)


@cache
def _of_the_system() -> Any:
    """Return C's `sigaction`; None where there is none."""
    try:
        return ctypes.CDLL(None).sigaction
    except (AttributeError, TypeError, OSError):  # not a Unix
        return None

"""Ctrl-C and other signals during long work."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

DELAYED_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
    if hasattr(signal, name)  # not a Unix
]
"""What programs and their timeouts handle by raising."""
SIGACTION_SIZE = 512
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
    for number in DELAYED_SIGNALS:
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
    action = ctypes.create_string_buffer(SIGACTION_SIZE)
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


GRACE = 0.5
"""Seconds that what runs has to end by itself, as Python does, and leave all in order."""
KILLED_BY = 128
"""Exit code of what a signal ended, less the signal's number, as a shell has it."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
END = b"\0"
"""What is no signal."""


class Terminated(KeyboardInterrupt):
    """What Ctrl-C raises, by another signal.

    Attributes:
        number: The signal.
    """

    number = signal.SIGTERM


def raise_terminated(number: int, _frame: object) -> None:
    """Tidy up as after Ctrl-C: a handler of signals that would end the process at once."""
    why = Terminated()
    why.number = signal.Signals(number)
    raise why


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM be as Ctrl-C inside, for what has processes of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None: C's own, unknown


def exit_code(why: KeyboardInterrupt) -> int:
    """Return the exit code after Ctrl-C, 130, or another signal, 143 for SIGTERM."""
    return KILLED_BY + (why.number if isinstance(why, Terminated) else signal.SIGINT)


def report_stopped(line: str) -> None:
    """Say on standard error that the command was stopped."""
    print(f"\n{line}", file=sys.stderr, flush=True)


@contextmanager
def signals_delayed() -> Iterator[None]:
    """Hear signals only afterwards: where processes are started, which half made ones tell of.

    Processes that begin inside do not hear Ctrl-C; who started them ends them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with uninterrupted():
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def interruptible(line: str, leave: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let Ctrl-C end the process though what is called inside does not return.

    A thread reads which signals come, as Python's own C code writes them into a pipe: compiled
    code runs without the interpreter's lock. Only for what writes no files by itself.

    Args:
        line: What is said then.
        leave: Called before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    over = threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while (number := os.read(reading, 1)) != END:
            if number[0] in SIGNALS and not over.wait(GRACE):
                leave()
                report_stopped(line)
                os._exit(KILLED_BY + number[0])

    thread = threading.Thread(target=watch, daemon=True)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.write(writing, END)
        thread.join()
        os.close(reading)
        os.close(writing)

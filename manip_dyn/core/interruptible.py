"""Ctrl-C amid compiled code: Python takes note when that has ended, which may take minutes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from manip_dyn.core.uninterrupted import uninterrupted

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


def terminated(number: int, _frame: object) -> None:
    """Tidy up as after Ctrl-C: a handler of signals that would end the process at once."""
    why = Terminated()
    why.number = signal.Signals(number)
    raise why


@contextmanager
def tidied() -> Iterator[None]:
    """Let SIGTERM be as Ctrl-C inside, for what has processes of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None: C's own, unknown


def exit_code(why: KeyboardInterrupt) -> int:
    """Return the exit code after Ctrl-C, 130, or another signal, 143 for SIGTERM."""
    return KILLED_BY + (why.number if isinstance(why, Terminated) else signal.SIGINT)


def say_stopped(line: str) -> None:
    """Say on standard error that the command was stopped."""
    print(f"\n{line}", file=sys.stderr, flush=True)


@contextmanager
def undisturbed() -> Iterator[None]:
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
                say_stopped(line)
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

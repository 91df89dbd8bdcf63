"""Ctrl-C and other signals during long work.

An exception that a signal raises between two calls of llvmlite ends the process with a
segmentation fault, and an interrupted import of numba cannot be repeated. `run_uninterrupted` runs
such work in a separate thread: Python runs signal handlers in the main thread only, which waits
for the end of the current function and lets the exception pass. Signal handlers stay untouched.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

GRACE = 0.5
"""Seconds that work has to end after Ctrl-C before the process ends."""
POLL = 0.05
"""Seconds between two points at which the waiting main thread handles signals."""
KILLED_BY = 128
"""Exit code of a process that a signal ended, less the number of the signal."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
END = b"\0"
"""Byte in the pipe of signal numbers that ends `interruptible`; no signal has this number."""
NESTED = ("numba.core.compiler", "importlib._bootstrap")
"""Modules that hold a lock while their functions run: another thread would wait for it forever."""
Value = TypeVar("Value")


class _Flag:
    """A flag to wait for. A signal handler that raises may interrupt both methods.

    `threading.Event` releases its lock twice if a handler interrupts `wait`, or never if it
    interrupts `set`.

    Attributes:
        is_set: Whether `set` has been called.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Set the flag, once."""
        self.is_set = True
        self._lock.release()

    def wait(self) -> None:
        """Return when the flag is set."""
        while not self.is_set:
            self._lock.acquire(timeout=POLL)


class _Current(threading.local):
    """The work that the current thread does for the main thread; None: no such work."""

    work: _Work | None = None


_current = _Current()


class _Work:
    """A function to run in a thread, and its result.

    Attributes:
        cancelled: Whether the main thread has been interrupted and ignores the result.
    """

    def __init__(self, function: Callable[[], Any]):
        self.function, self.cancelled = function, False
        self.released, self.finished = _Flag(), _Flag()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the function and store what it returns or raises."""
        _current.work = self
        self.released.wait()
        try:
            stop_if_interrupted()
            self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.finished.set()


def run_uninterrupted(
    function: Callable[..., Value], *arguments: Any, inherited: bool = False
) -> Value:
    """Return the result of a function that no signal handler interrupts.

    Work within such work is a point at which it can stop: after a signal whose handler raises, the
    next call raises `KeyboardInterrupt` in the thread.

    Args:
        function: The function.
        arguments: Its arguments.
        inherited: Whether processes that it starts ignore Ctrl-C.
    """
    stop_if_interrupted()
    if threading.current_thread() is not threading.main_thread() or _holds_lock():
        return function(*arguments)

    def run() -> Value:
        if inherited:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        return function(*arguments)

    work = _Work(run)
    try:
        _thread.start_new_thread(work.run, ())  # `Thread.start` waits for a `threading.Event`
        work.released.set()
        work.finished.wait()
    except BaseException:
        work.cancelled = True
        if work.released.is_set:
            work.finished.wait()
        else:
            work.released.set()
        raise
    if work.error is not None:
        try:
            raise work.error
        finally:
            work.error = None  # its traceback refers to this frame
    return work.result


def stop_if_interrupted() -> None:
    """Raise `KeyboardInterrupt` in work whose result the main thread does not wait for."""
    if _current.work is not None and _current.work.cancelled:
        raise KeyboardInterrupt


def _holds_lock() -> bool:
    """Return whether the main thread is compiling or importing."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in NESTED:
            return True
        frame = frame.f_back
    return False


class Terminated(KeyboardInterrupt):
    """`KeyboardInterrupt` by another signal than SIGINT.

    Attributes:
        number: The signal.
    """

    number = signal.SIGTERM


def raise_terminated(number: int, _frame: object) -> None:
    """Raise `Terminated`: a signal handler that lets `finally` clauses run."""
    error = Terminated()
    error.number = signal.Signals(number)
    raise error


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM in the block, for work that starts processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None: set in C, unknown


def exit_code(error: KeyboardInterrupt) -> int:
    """Return the exit code after Ctrl-C, 130, or another signal, 143 for SIGTERM."""
    return KILLED_BY + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def report_stopped(line: str) -> None:
    """Write a line about the interrupted command to standard error."""
    print(f"\n{line}", file=sys.stderr, flush=True)


@contextmanager
def interruptible(line: str, leave: Callable[[], object] = lambda: None) -> Iterator[None]:
    """End the process on Ctrl-C in the block, even within compiled code that does not return.

    A thread reads signal numbers from the pipe that Python's C handler writes; compiled code runs
    without the interpreter lock. Only for work that writes no files.

    Args:
        line: The message on standard error.
        leave: Called before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    finished = threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while (number := os.read(reading, 1)) != END:
            if number[0] in SIGNALS and not finished.wait(GRACE):
                leave()
                report_stopped(line)
                os._exit(KILLED_BY + number[0])

    thread = threading.Thread(target=watch, daemon=True)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(before)
        os.write(writing, END)
        thread.join()
        os.close(reading)
        os.close(writing)

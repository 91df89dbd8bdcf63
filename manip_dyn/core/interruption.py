"""Handling of Ctrl-C and other signals during compilation, imports and long computations.

If a signal raises an exception between two calls of llvmlite, the process may crash with a
segmentation fault. An interrupted import of numba cannot be repeated. `run_uninterrupted` runs
such work in a separate thread, because Python runs signal handlers only in the main thread. The
main thread waits for the end of the current function, and then propagates the exception.
`run_uninterrupted` does not change signal handlers.
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
"""Time from Ctrl-C until `interruptible` ends the process if its work does not end, s."""
POLL = 0.05
"""Longest single wait of `_Flag.wait`, s. Signals are handled between these waits."""
KILLED_BY = 128
"""Difference between the exit code of a process ended by a signal and the signal number."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
END = b"\0"
"""Byte in the pipe of signal numbers that ends `interruptible`. No signal has this number."""
NESTED = ("numba.core.compiler", "importlib._bootstrap")
"""Modules that hold a lock while their functions run. Another thread would wait forever for it."""
Value = TypeVar("Value")


class _Flag:
    """A flag that one thread can wait for. Exceptions of signal handlers do not damage it.

    `threading.Event` does not permit this: it releases its lock twice if a handler interrupts
    `wait`, or never if it interrupts `set`.

    Attributes:
        is_set: Whether `set` has been called.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Set the flag. Call this only once."""
        self.is_set = True
        self._lock.release()

    def wait(self) -> None:
        """Wait until the flag is set."""
        while not self.is_set:
            self._lock.acquire(timeout=POLL)


class _Current(threading.local):
    """The work that the current thread does for the main thread, or None."""

    work: _Work | None = None


_current = _Current()


class _Work:
    """A function that runs in a thread, and its result.

    Attributes:
        cancelled: Whether the main thread was interrupted and ignores the result.
    """

    def __init__(self, function: Callable[[], Any]):
        self.function, self.cancelled = function, False
        self.released, self.finished = _Flag(), _Flag()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the function after `released` is set, and store its result or its exception."""
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
    """Call a function so that no signal handler can interrupt it, and return its result.

    If called from the main thread, the function runs in a new thread, unless the main thread is
    compiling or importing. Otherwise it runs in the calling thread. Its exceptions are propagated.

    A nested call is a point at which the work can stop: after a signal handler has raised an
    exception in the main thread, the next nested call raises `KeyboardInterrupt`.

    Args:
        function: The function.
        arguments: Arguments of the function.
        inherited: Whether SIGINT is blocked in the new thread. Processes that the function starts
            inherit this. Without a new thread, it has no effect.
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
    """Raise `KeyboardInterrupt` in a thread if the main thread no longer waits for its result."""
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
    """`KeyboardInterrupt` due to a signal other than SIGINT.

    Attributes:
        number: The signal.
    """

    number = signal.SIGTERM


def raise_terminated(number: int, _frame: object) -> None:
    """Raise `Terminated`. This signal handler makes `finally` clauses run."""
    error = Terminated()
    error.number = signal.Signals(number)
    raise error


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Return a context manager in which SIGTERM raises `Terminated` in the main thread.

    Work that starts processes requires it, so that they are ended, too. It has no effect in other
    threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None: set in C, unknown


def exit_code(error: KeyboardInterrupt) -> int:
    """Return the exit code after a signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return KILLED_BY + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def reset_interrupt_flag() -> None:
    """Let ``python -m`` end with its exit code after a `KeyboardInterrupt` that was caught.

    CPython sets a flag when the exception leaves `exec` or `eval` of a string, as in dataclasses
    and named tuples. While the flag is set, ``python -m`` ends by SIGINT instead. Another `exec`
    resets the flag.
    """
    exec("")


def report_stopped(line: str) -> None:
    """Write a line break and a message about the interrupted command to standard error."""
    print(f"\n{line}", file=sys.stderr, flush=True)


@contextmanager
def interruptible(line: str, leave: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Return a context manager in which Ctrl-C ends the process, even during compiled code.

    If the work does not end within `GRACE`, the process exits. SIGTERM has the same effect if it
    has a Python handler. Python's C signal handler writes signal numbers to a pipe, and a thread
    reads them. The thread can run because compiled code releases the interpreter lock. Use this
    only for work that does not write files. It has no effect outside the main thread.

    Args:
        line: The message on standard error.
        leave: Called before the process exits.
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

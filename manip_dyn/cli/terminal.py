"""Terminal output: colours, tables, progress bars and status lines.

On a terminal, tables, progress bars and status lines use the library rich. In pipes and files, and
without rich, tables and progress are plain text, and status lines are omitted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import IO, Any

from manip_dyn.core.interruption import interruptible

STATUS_DELAY = 2.0
"""Seconds before a status line appears."""


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal that rich supports, and rich is installed."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and bool(find_spec("rich"))


def is_coloured(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal on which colours are not disabled (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def error_line(message: str) -> str:
    """Return an error message with the prefix `manip_dyn:`, in colour if standard error has it."""
    name = "\x1b[1;31mmanip_dyn:\x1b[0m" if is_coloured(sys.stderr) else "manip_dyn:"
    return f"{name} {message}"


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    plain: Callable[[], str],
    numeric: Collection[str] = (),
) -> None:
    """Print a table with the library rich on a terminal, or plain text elsewhere.

    Args:
        columns: Column titles. If all are empty, the table has no header.
        rows: Cells of the table.
        plain: Function that returns the plain text for pipes and files.
        numeric: Titles of right-aligned columns.
    """
    if not is_terminal(sys.stdout):
        print(plain(), end="")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        side: Any = "right" if name in numeric else "left"
        style = "cyan" if index == 0 else ""
        table.add_column(name, justify=side, style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


class Bar:
    """Progress bar with the remaining time. Without a terminal or rich: one line per quarter."""

    def __init__(self, title: str):
        """Print the title and start the bar."""
        print(title, flush=True)
        self._next = 0.25
        self._bar: Any = None
        if is_terminal(sys.stdout):
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            columns = (
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
            )
            self._bar = Progress(*columns)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()

    def __call__(self, fraction: float) -> None:
        """Set the completed fraction of the work."""
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction)
        elif fraction >= self._next:
            print(f"  {100 * fraction:3.0f} %", flush=True)
            self._next = (fraction // 0.25 + 1) * 0.25

    def close(self) -> None:
        """Stop the bar; it remains on the terminal."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def status_line(
    message: str, writes: bool = False, detail: Callable[[], str] = str
) -> Iterator[None]:
    """Show a message with the elapsed time if a block of code takes longer than `STATUS_DELAY`.

    The message is shown only if standard error is a terminal.

    Args:
        message: Description of the task, such as ``planning``.
        writes: Whether the block writes files or starts processes. If so, Ctrl-C raises
            `KeyboardInterrupt` as usual. Otherwise Ctrl-C ends the process immediately, even in
            compiled code.
        detail: Function that returns an addition to the message.
    """
    ending: Any = _default_ending if writes else interruptible
    if not is_terminal(sys.stderr):
        with ending(error_line("stopped")):
            yield
        return
    from threading import Event, Thread

    done, started = Event(), time.monotonic()

    def show() -> None:
        if done.wait(STATUS_DELAY):
            return
        from rich.console import Console

        console = Console(stderr=True)
        with console.status(message) as status:
            while not done.wait(0.5):
                status.update(f"{message}, {time.monotonic() - started:.0f} s{detail()}")

    thread = Thread(target=show, daemon=True)

    def end() -> None:
        done.set()
        thread.join()

    thread.start()
    try:
        with ending(error_line("stopped"), end):
            yield
    finally:
        end()


def _default_ending(*_: Any) -> AbstractContextManager[None]:
    """Return a context manager that does not change the handling of Ctrl-C."""
    return nullcontext()

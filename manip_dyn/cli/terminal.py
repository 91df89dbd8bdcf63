"""How things are shown: colours, tables and bars on a terminal, plain text to whatever else reads.

The library rich draws. It is loaded when there is something to draw, and missed by nobody where it
is not installed: the plain text serves, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import IO, Any

from manip_dyn.core.interruptible import interruptible

PATIENCE = 2.0
"""Seconds after which it is told that something takes a while."""


def is_terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that can be drawn on, and rich is there to do it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and bool(find_spec("rich"))


def is_coloured(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that is to have colours: see no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def error_line(sentence: str) -> str:
    """Return a sentence as the command says what is wrong, for standard error."""
    name = "\x1b[1;31mmanip_dyn:\x1b[0m" if is_coloured(sys.stderr) else "manip_dyn:"
    return f"{name} {sentence}"


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    plain: Callable[[], str],
    numeric: Collection[str] = (),
) -> None:
    """Print a table that fits the terminal; elsewhere, what `plain` returns.

    Args:
        columns: Titles; without any but empty ones, the table has no head.
        rows: Cells.
        plain: Returns the text for pipes and files.
        numeric: Titles of the columns that are set flush right.
    """
    if not is_terminal(sys.stdout):
        print(plain(), end="")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        side: Any = "right" if name in numeric else "left"
        style = "cyan" if place == 0 else ""
        table.add_column(name, justify=side, style=style, overflow="fold")
    for row in rows:
        table.add_row(*(Text(each) for each in row))
    Console().print(table)


class Bar:
    """A bar with the time that is left, on a terminal; a line for each quarter elsewhere."""

    def __init__(self, title: str):
        """Say what is done."""
        print(title, flush=True)
        self._next = 0.25
        self._bar: Any = None
        if is_terminal(sys.stdout):
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            parts = (
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
            )
            self._bar = Progress(*parts)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()

    def __call__(self, fraction: float) -> None:
        """Show that a part of the work is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction)
        elif fraction >= self._next:
            print(f"  {100 * fraction:3.0f} %", flush=True)
            self._next = (fraction // 0.25 + 1) * 0.25

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def told(what: str, writes: bool = False) -> Iterator[None]:
    """Show, on a terminal, what takes longer than `PATIENCE` inside, and for how long it has.

    Ctrl-C ends it, compiled code or not; what writes files or has processes of its own ends as
    Python does.
    """
    ending: Any = _plainly if writes else interruptible
    if not is_terminal(sys.stderr):
        with ending(error_line("stopped")):
            yield
        return
    from threading import Event, Thread

    done, began = Event(), time.monotonic()

    def show() -> None:
        if done.wait(PATIENCE):
            return
        from rich.console import Console

        console = Console(stderr=True)
        with console.status(what) as status:
            while not done.wait(0.5):
                status.update(f"{what}, {time.monotonic() - began:.0f} s")

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


def _plainly(*_: Any) -> AbstractContextManager[None]:
    """Let Ctrl-C do what it does in Python."""
    return nullcontext()

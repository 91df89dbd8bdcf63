"""Planning time, measured as CPU time of the calling thread.

On a busy machine a search then takes longer, but it does not lead to a worse plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import thread_time
from typing import NamedTuple

from manip_dyn.core.cache import compile_seconds


class Progress(NamedTuple):
    """State of a search, passed to the progress callback.

    Attributes:
        elapsed: Planning time so far, s.
        stage: ``motion`` (on grids) or ``certificate``.
        duration: Duration of the fastest motion so far, s.
        basins: Number of distinct motions on the coarse grid.
    """

    elapsed: float
    stage: str
    duration: float
    basins: int


class Budget:
    """CPU time for planning, without compiling and without imports in `paused`.

    Attributes:
        seconds: Available time, s; inf without a limit.
    """

    def __init__(
        self, seconds: float | None, callback: Callable[[Progress], object] | None = None
    ):
        """Start now; `seconds` is None without a limit."""
        self.seconds = inf if seconds is None else seconds
        self._callback, self._paused = callback, 0.0
        self._begin = thread_time() - compile_seconds()

    @property
    def elapsed(self) -> float:
        """Time since the start, s."""
        return thread_time() - compile_seconds() - self._begin - self._paused

    @property
    def is_over(self) -> bool:
        """Whether the available time is used up."""
        return self.elapsed > self.seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time spent in a ``with`` block, for imports."""
        begin = self.elapsed
        try:
            yield
        finally:
            self._paused += self.elapsed - begin

    def report(self, stage: str, duration: float, basins: int) -> None:
        """Call the progress callback, if there is one."""
        if self._callback is not None:
            self._callback(Progress(self.elapsed, stage, duration, basins))


UNLIMITED = Budget(None)
"""Budget without a limit."""

"""Overruns of the last while, so that one late period is told for long enough to be seen."""

from __future__ import annotations

import time
from collections import deque

WINDOW = 10.0
"""How long an overrun is told, s of wall time: a loaded machine has one now and then."""


class RecentOverruns:
    """Counts the overruns of the last `WINDOW`, from how many there have been in all."""

    def __init__(self) -> None:
        """Begin with none."""
        self._total = 0
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, total: int, now: float | None = None) -> int:
        """Return how many were new in the last while.

        Args:
            total: How many there have been; fewer than before: they are counted anew.
            now: A time that nobody sets, s; default: that of this process.
        """
        now = time.monotonic() if now is None else now
        more, self._total = total - self._total, total
        if more > 0:
            self._seen.append((now, more))
        while self._seen and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        return sum(count for _, count in self._seen)

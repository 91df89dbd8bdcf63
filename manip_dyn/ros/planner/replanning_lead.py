"""Lead time of a departure: the time reserved for planning the next motion."""

from __future__ import annotations

from collections import deque

REMEMBERED = 4
"""Number of recent planning times."""
MARGIN = 1.5
"""Ratio of the lead to the longest recent planning time."""


class ReplanningLead:
    """Computes the lead time from recent planning times, measured by joint state stamps."""

    def __init__(self) -> None:
        """Start without recent planning times."""
        self._took: deque[float] = deque(maxlen=REMEMBERED)

    def note(self, took: float) -> None:
        """Record the time from a goal to its plan, s."""
        self._took.append(took)

    def forget_one(self) -> None:
        """Remove the oldest planning time. Call this after a result without a moving departure."""
        if self._took:
            self._took.popleft()

    def seconds(self, least: float) -> float:
        """Return the lead of the next plan (s), which is at least `least`."""
        return max(least, MARGIN * max(self._took, default=0.0))

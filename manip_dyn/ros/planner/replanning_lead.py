"""How long before a motion gives way to another one the latter begins to be planned."""

from __future__ import annotations

from collections import deque

REMEMBERED = 4
MARGIN = 1.5
"""How much longer than the slowest of the last plans the next one may take."""


class ReplanningLead:
    """Chosen by how long the last plans of this arm took, by the stamps of its states."""

    def __init__(self) -> None:
        """Begin without any."""
        self._took: deque[float] = deque(maxlen=REMEMBERED)

    def note(self, took: float) -> None:
        """Note how long it took from a goal until its plan on the way was there, s."""
        self._took.append(took)

    def forget_one(self) -> None:
        """Forget the oldest: a plan that is not on the way tells nothing, but time goes on."""
        if self._took:
            self._took.popleft()

    def seconds(self, least: float) -> float:
        """Return the lead of the next plan, s, at least so much."""
        return max(least, MARGIN * max(self._took, default=0.0))

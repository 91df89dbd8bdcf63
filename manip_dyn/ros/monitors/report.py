"""What a monitor says: one JSON object a line on standard output, for whoever started it.

These are ``ready``, ``progress`` and ``summary``.
"""

from __future__ import annotations

import json
import time
from typing import Any

PART = 0.01
"""Progress is told by hundredths."""


def say(**content: Any) -> None:
    """Print one line."""
    print(json.dumps(content), flush=True)


class Progress:
    """Says how much of a run was heard, each time that it is a hundredth more.

    Attributes:
        heard_at: When something was heard last, s of a clock that nobody sets; None before.
        fraction: How much of the run was heard.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.heard_at: float | None = None
        self._said = self.fraction = 0.0

    def heard(self) -> None:
        """Note that what is measured is there."""
        self.heard_at = time.monotonic()

    def __call__(self, fraction: float) -> None:
        """Say that a fraction of the run was heard, if that is news."""
        self.fraction = fraction
        if fraction >= self._said + PART or fraction >= 1.0 > self._said:
            self._said = fraction
            say(progress=min(fraction, 1.0))

"""What a monitor says: one JSON object a line on standard output, for whoever started it.

These are ``ready``, ``progress`` and ``summary``.
"""

from __future__ import annotations

import json
from typing import Any

PART = 0.01
"""Progress is told by hundredths."""


def say(**content: Any) -> None:
    """Print one line."""
    print(json.dumps(content), flush=True)


class Progress:
    """Says how much of a run was heard, each time that it is a hundredth more."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._said = 0.0

    def __call__(self, fraction: float) -> None:
        """Say that a fraction of the run was heard, if that is news."""
        if fraction >= self._said + PART or fraction >= 1.0 > self._said:
            self._said = fraction
            say(progress=min(fraction, 1.0))

"""When the frames of a page are due: so many a second, none of which is made up for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

RATE = 60.0
"""Frames per second."""


class Frames:
    """Waits for the next frame.

    Frames are due on a fixed schedule, so that waits that last a little longer do not add up. One
    that comes too late is drawn at once and the schedule begins anew from there: a busy machine
    draws fewer of them, and never many after one another.
    """

    def __init__(self, stop: threading.Event, now: Callable[[], float] = time.monotonic):
        """Begin; once `stop` is set nothing more is due."""
        self._stop, self._now, self._due = stop, now, now()

    def wait(self, rate: float = RATE) -> bool:
        """Wait until a frame is due, at so many a second; False: there is none any more."""
        self._due += 1.0 / rate
        early = self._due - self._now()
        if early < 0.0:
            self._due -= early
        return not self._stop.wait(max(early, 0.0))

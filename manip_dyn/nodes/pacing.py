"""A thread that keeps absolute deadlines: it does not drift, whatever the load."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class PacingStatistics(NamedTuple):
    """Mean rate (Hz) since the start, and period errors of the last cycles (s)."""

    rate: float
    p99_period_error: float
    max_period_error: float
    overruns: int


class Pacer:
    """Calls `cycle` once per period of wall time until it is stopped.

    Late cycles are caught up. One that is more than `TOLERATED_LATENESS` s (and ten periods)
    late is an overrun: the schedule starts anew from there. A period of 0 runs without waiting.
    """

    WINDOW = 5000
    TOLERATED_LATENESS = 0.1

    def __init__(self, cycle: Callable[[], None], period: float):
        """Prepare a daemon thread that calls `cycle` every `period` s."""
        self._cycle = cycle
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pacer", daemon=True)
        self._errors: deque[float] = deque(maxlen=self.WINDOW)
        self._cycles = 0
        self._overruns = 0
        self._began = time.perf_counter()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=2.0)

    def set_period(self, period: float) -> None:
        """Change the period (s) and begin new statistics."""
        self._period = period
        self._errors.clear()
        self._cycles, self._overruns, self._began = 0, 0, time.perf_counter()

    def statistics(self) -> PacingStatistics:
        """Return the statistics so far."""
        elapsed = time.perf_counter() - self._began
        errors = np.abs(np.array(self._errors)) if self._errors else np.zeros(1)
        return PacingStatistics(
            rate=self._cycles / elapsed if elapsed > 0.0 else 0.0,
            p99_period_error=float(np.percentile(errors, 99)),
            max_period_error=float(errors.max()),
            overruns=self._overruns,
        )

    def _run(self) -> None:
        deadline = previous = self._began = time.perf_counter()
        while not self._stop.is_set():
            self._cycle()
            deadline += self._period
            now = time.perf_counter()
            if self._period and now - deadline > max(self.TOLERATED_LATENESS, 10 * self._period):
                self._overruns += 1
                deadline = now
            elif deadline > now:
                self._wait(deadline - now)
            now = time.perf_counter()
            self._errors.append(now - previous - self._period)
            previous = now
            self._cycles += 1

    def _wait(self, duration: float) -> None:
        # Event.wait is coarse; long waits use it to stay stoppable, short ones sleep.
        if duration > 0.2:
            self._stop.wait(duration)
        else:
            time.sleep(duration)

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


class PeriodStatistics:
    """Collects the periods of a loop."""

    WINDOW = 5000

    def __init__(self) -> None:
        """Begin."""
        self._errors: deque[float] = deque(maxlen=self.WINDOW)
        self.begin()

    def begin(self) -> None:
        """Begin anew from now on."""
        self._errors.clear()
        self._cycles, self._overruns, self._began = 0, 0, time.perf_counter()

    def add(self, error: float, overrun: bool = False) -> None:
        """Add a cycle by the error of its period, s."""
        self._errors.append(error)
        self._cycles += 1
        self._overruns += overrun

    def read(self) -> PacingStatistics:
        """Return the statistics so far."""
        elapsed = time.perf_counter() - self._began
        errors = np.abs(np.array(self._errors)) if self._errors else np.zeros(1)
        return PacingStatistics(
            rate=self._cycles / elapsed if elapsed > 0.0 else 0.0,
            p99_period_error=float(np.percentile(errors, 99)),
            max_period_error=float(errors.max()),
            overruns=self._overruns,
        )


class Pacer:
    """Calls `cycle` once per period of wall time until it is stopped.

    Late cycles are caught up. One that is more than `TOLERATED_LATENESS` s (and ten periods)
    late is an overrun: the schedule starts anew from there. A period of 0 runs without waiting.
    """

    TOLERATED_LATENESS = 0.1

    def __init__(self, cycle: Callable[[], None], period: float):
        """Prepare a daemon thread that calls `cycle` every `period` s."""
        self._cycle = cycle
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pacer", daemon=True)
        self._statistics = PeriodStatistics()

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
        self._statistics.begin()

    def statistics(self) -> PacingStatistics:
        """Return the statistics so far."""
        return self._statistics.read()

    def _run(self) -> None:
        self._statistics.begin()
        deadline = previous = time.perf_counter()
        while not self._stop.is_set():
            self._cycle()
            deadline += self._period
            now = time.perf_counter()
            late = now - deadline
            overrun = self._period > 0.0 and late > max(self.TOLERATED_LATENESS, 10 * self._period)
            if overrun:
                deadline = now
            elif deadline > now:
                self._wait(deadline - now)
            now = time.perf_counter()
            self._statistics.add(now - previous - self._period, overrun)
            previous = now

    def _wait(self, duration: float) -> None:
        # Event.wait is coarse; long waits use it to stay stoppable, short ones sleep.
        if duration > 0.2:
            self._stop.wait(duration)
        else:
            time.sleep(duration)

"""A thread that keeps absolute deadlines: it does not drift, whatever the load."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from manip_dyn.ros.runtime.background import Background


class PacingStatistics(NamedTuple):
    """How a loop kept its periods.

    Attributes:
        rate: Mean rate since the statistics began, Hz.
        p99_period_error: 99th percentile of the period errors of the last cycles, s.
        max_period_error: The largest of them, s.
        overruns: How often the loop came too late to catch up.
        missed: Wall time that it did not catch up then, since it began, s.
    """

    rate: float
    p99_period_error: float
    max_period_error: float
    overruns: int
    missed: float = 0.0


def monotonic() -> float:
    """Return the seconds of a clock that nobody sets, and that counts while a machine sleeps."""
    return time.clock_gettime(BOOT_TIME)


BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Deadlines:
    """When the cycles of a loop are due.

    Late cycles are caught up. One that is more than `TOLERATED_LATENESS` s (and ten periods)
    late is an overrun: the schedule starts anew from there, and what lies before it is missed.
    A period of 0 never waits.

    Attributes:
        period: Time between cycles, s.
        overruns: How often the schedule had to start anew.
        missed: Time that was given up then, s.
    """

    TOLERATED_LATENESS = 0.1

    def __init__(self, period: float, now: float = 0.0):
        """Begin at a time, s."""
        self.period, self.overruns, self.missed = period, 0, 0.0
        self.begin(now)

    def begin(self, now: float) -> None:
        """Begin anew: a cycle is due at the time, s."""
        self._due = now

    def wait(self, now: float) -> float:
        """Return how long to wait for the next cycle after one that ended at a time, s."""
        self._due += self.period
        late = now - self._due
        if late <= 0.0:
            return -late
        if self.period > 0.0 and late > max(self.TOLERATED_LATENESS, 10 * self.period):
            self.overruns += 1
            self.missed += late
            self._due = now
        return 0.0


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
        self._cycles, self._overruns, self._began = 0, 0, monotonic()

    def add(self, error: float, overrun: bool = False) -> None:
        """Add a cycle by the error of its period, s."""
        self._errors.append(error)
        self._cycles += 1
        self._overruns += overrun

    def read(self) -> PacingStatistics:
        """Return the statistics so far."""
        elapsed = monotonic() - self._began
        errors = np.abs(np.array(self._errors)) if self._errors else np.zeros(1)
        return PacingStatistics(
            rate=self._cycles / elapsed if elapsed > 0.0 else 0.0,
            p99_period_error=float(np.percentile(errors, 99)),
            max_period_error=float(errors.max()),
            overruns=self._overruns,
        )


class Pacer(Background):
    """Calls `cycle` once per period of wall time until it is stopped, by `Deadlines`."""

    def __init__(self, cycle: Callable[[], None], period: float):
        """Prepare a daemon thread that calls `cycle` every `period` s."""
        super().__init__("pacer")
        self._cycle = cycle
        self._deadlines = Deadlines(period)
        self._statistics = PeriodStatistics()

    def set_period(self, period: float) -> None:
        """Change the period (s) and begin new statistics."""
        self._deadlines.period = period
        self._statistics.begin()

    def statistics(self) -> PacingStatistics:
        """Return the statistics so far."""
        return self._statistics.read()._replace(missed=self._deadlines.missed)

    def _run(self) -> None:
        self._statistics.begin()
        deadlines, previous = self._deadlines, monotonic()
        deadlines.begin(previous)
        while not self._stop.is_set():
            self._cycle()
            overruns = deadlines.overruns
            self._wait(deadlines.wait(monotonic()))
            now = monotonic()
            error = now - previous - deadlines.period
            self._statistics.add(error, deadlines.overruns > overruns)
            previous = now

    def _wait(self, duration: float) -> None:
        # Event.wait is coarse; long waits use it to stay stoppable, short ones sleep.
        if duration > 0.2:
            self._stop.wait(duration)
        elif duration > 0.0:
            time.sleep(duration)

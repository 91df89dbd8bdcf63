"""Threads of a node: a periodic loop without drift, and a worker for long computations."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.runtime.execution import unless_shut_down


class BackgroundThread:
    """A daemon thread. Subclasses implement `_run`, which must return when `_stop` is set."""

    def __init__(self, name: str):
        """Create the thread without starting it. Debuggers show `name`."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait until it has ended, at most 2 s."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        raise NotImplementedError


class PacingStatistics(NamedTuple):
    """Rate and period errors of a loop.

    Attributes:
        rate: Mean rate since the statistics began, Hz.
        p99_period_error: 99th percentile of the absolute period errors in the last
            `PeriodStatistics.WINDOW` cycles, s.
        max_period_error: Largest absolute period error in these cycles, s.
        overruns: Number of overruns since the statistics began.
        missed: Wall time lost in overruns since the loop was created, s.
    """

    rate: float
    p99_period_error: float
    max_period_error: float
    overruns: int
    missed: float = 0.0


def monotonic() -> float:
    """Return monotonic time, s. On Linux it also advances while the machine is suspended."""
    return time.clock_gettime(BOOT_TIME)


BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def tolerated_lateness(period: float) -> float:
    """Return the lateness (s) up to which a loop with this period (s) catches up."""
    return max(0.1, 10.0 * period)


class Deadlines:
    """Schedule of a loop: deadlines at a constant period from the start, without drift.

    The loop catches up after a late cycle. An overrun is a cycle that is later than
    `tolerated_lateness`. After an overrun, the schedule restarts at the current time. With period
    0 the loop never waits.

    Attributes:
        period: Time between cycles, s.
        overruns: Number of overruns.
        missed: Time lost in overruns, s.
    """

    def __init__(self, period: float, now: float = 0.0):
        """Start the schedule at time `now`, s."""
        self.period, self.overruns, self.missed = period, 0, 0.0
        self.begin(now)

    def begin(self, now: float) -> None:
        """Restart the schedule with a cycle at time `now`, s."""
        self._due = now

    def wait(self, now: float) -> float:
        """Return the time to wait (s) before the next cycle, after a cycle that ended at `now`."""
        self._due += self.period
        late = now - self._due
        if late <= 0.0:
            return -late
        if self.period > 0.0 and late > tolerated_lateness(self.period):
            self.overruns += 1
            self.missed += late
            self._due = now
        return 0.0


class PeriodStatistics:
    """Collects the period errors of a loop."""

    WINDOW = 5000

    def __init__(self) -> None:
        """Start the statistics now."""
        self._errors: deque[float] = deque(maxlen=self.WINDOW)
        self.begin()

    def begin(self) -> None:
        """Restart the statistics."""
        self._errors.clear()
        self._cycles, self._overruns, self._began = 0, 0, monotonic()

    def add(self, error: float, overrun: bool = False) -> None:
        """Record the period error of a cycle, s, and whether the cycle is an overrun."""
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


SHARE_INTERVAL = 1.0
"""Wall time between the samples of `RealTimeShare`, s."""
SHARE_INTERVALS = 5
"""Number of successive intervals that must all be slow for a persistent slowness."""
SLOW_SHARE = 0.98
"""Real-time share below which an interval is slow."""


class RealTimeShare:
    """Measures simulated time per wall time, relative to the real-time factor."""

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: deque[tuple[float, float]] = deque(maxlen=SHARE_INTERVALS + 1)

    def begin(self) -> None:
        """Discard all samples, for example because simulated time was paused."""
        self._samples.clear()

    def add(self, wall: float, simulated: float) -> None:
        """Add the wall time and the simulated time at the start of a period, s."""
        if not self._samples or wall - self._samples[-1][0] >= SHARE_INTERVAL:
            self._samples.append((wall, simulated))

    def share(self, factor: float) -> float | None:
        """Return the share for a real-time factor; None in the first `SHARE_INTERVAL`."""
        samples = list(self._samples)
        return _share(samples[0], samples[-1], factor) if len(samples) > 1 else None

    def slow(self, factor: float) -> bool:
        """Return whether the last `SHARE_INTERVALS` intervals were all slow."""
        samples = list(self._samples)
        shares = [_share(a, b, factor) for a, b in pairwise(samples)]
        return len(shares) == SHARE_INTERVALS and max(shares) < SLOW_SHARE


def _share(before: tuple[float, float], after: tuple[float, float], factor: float) -> float:
    return (after[1] - before[1]) / (factor * (after[0] - before[0]))


class PeriodicThread(BackgroundThread):
    """Thread that calls `cycle` once per period of wall time (see `Deadlines`) until stopped."""

    def __init__(self, cycle: Callable[[], None], period: float):
        """Create a daemon thread that calls `cycle` every `period` seconds."""
        super().__init__("pacer")
        self._cycle = cycle
        self._deadlines = Deadlines(period)
        self._statistics = PeriodStatistics()

    def set_period(self, period: float) -> None:
        """Change the period (s) and restart the statistics."""
        self._deadlines.period = period
        self._statistics.begin()

    def forget_lag(self) -> None:
        """Restart the schedule now, so that the loop does not catch up."""
        self._deadlines.begin(monotonic())

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
        # Event.wait is imprecise. Only long waits use it, because they must be interruptible.
        if duration > 0.2:
            self._stop.wait(duration)
        elif duration > 0.0:
            time.sleep(duration)


MAX_LEAD = 1.0
"""Largest time by which stamps may be ahead of a wall clock that was set back, s."""


class WallClockAnchor:
    """Measures how far a time that should follow the wall clock lags behind it."""

    def __init__(self, wall_ns: int = 0, time_ns: int = 0):
        """Define the lag at these two times (ns) as zero."""
        self.tie(wall_ns, time_ns)

    def tie(self, wall_ns: int, time_ns: int) -> None:
        """Define the lag at these two times (ns) as zero."""
        self._offset_ns, self._lag_ns = wall_ns - time_ns, 0

    def skip_ns(self, wall_ns: int, time_ns: int, period_ns: int) -> int:
        """Return by how much stamps must skip to follow the wall clock, ns.

        Call this method once per period. The lag is reduced by the result, which is a multiple of
        the period. Stamps skip if they lag by more than `tolerated_lateness`: by the time that was
        lost since the last call, but at least by one period. So a loop that is always slightly
        late skips single periods, and a suspended process skips the whole suspension. The result
        is negative if the wall clock was set back by more than `MAX_LEAD`.

        Args:
            wall_ns: Current wall clock, ns.
            time_ns: Current time without the skipped times, ns.
            period_ns: Period of the time, ns.
        """
        before, lag = self._lag_ns, wall_ns - time_ns - self._offset_ns
        skip = 0
        if lag < -MAX_LEAD * 1e9:
            skip = round(lag / period_ns) * period_ns
        elif lag > 1e9 * tolerated_lateness(1e-9 * period_ns):
            lost = -((before - lag) // period_ns)  # rounded up, so that the lag does not grow
            skip = min(lag // period_ns, max(lost, 1)) * period_ns
        self._offset_ns += skip
        self._lag_ns = lag - skip
        return skip


def skip_message(skip_ns: int, period_ns: int, by_wall_clock: bool = True) -> str:
    """Return a warning that the lag behind the wall clock has become too large.

    Args:
        skip_ns: Result of `WallClockAnchor.skip_ns`, not 0.
        period_ns: Period of the time, ns.
        by_wall_clock: Whether stamps follow the wall clock, instead of simulated time.
    """
    lag = tolerated_lateness(1e-9 * period_ns)
    if abs(skip_ns) > 1e9 * lag:
        return (
            f"{skip_ns * 1e-9:.3f} s of wall time passed without a step (suspended, or the clock "
            f"was set): {'stamps' if by_wall_clock else 'steps'} continue from the present"
        )
    effect = "stamps skip single periods" if by_wall_clock else "simulated time falls behind"
    return (
        f"slower than real time: a lag of more than {lag:g} s behind the wall clock accumulated "
        f"over many periods; {effect}"
    )


class Worker:
    """Runs one long computation at a time in a thread, so that no callback is delayed.

    Attributes:
        busy: Whether a result is expected.
    """

    def __init__(self, node: Node, on_done: Callable[[Any], None]):
        """Create a worker.

        Args:
            node: The node.
            on_done: Called in the executor with the result of a job, or with its `ManipDynError`.
        """
        self._node, self._on_done = node, on_done
        self._thread: threading.Thread | None = None
        self._number, self._result = 0, (0, None)
        self.busy = False
        self._guard = node.create_guard_condition(self._deliver)

    def start(self, job: Callable[[Callable[[], bool]], Any]) -> None:
        """Start a job. A running job ends first, but its result is discarded.

        Args:
            job: Function that computes the result. Its argument is a function that returns
                whether the result is still needed.
        """
        self._number += 1
        self.busy = True
        self._thread = threading.Thread(
            target=self._run, args=(job, self._number, self._thread), name="worker", daemon=True
        )
        self._thread.start()

    def forget(self) -> None:
        """Discard the result of the running job."""
        self.busy = False

    def close(self) -> None:
        """Discard the result of the running job and wait for its end, at most 2 s."""
        self.forget()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _run(
        self,
        job: Callable[[Callable[[], bool]], Any],
        number: int,
        previous: threading.Thread | None,
    ) -> None:
        def needed() -> bool:
            return self.busy and number == self._number

        if previous is not None:
            previous.join()  # planning shares compiled scratch space
        if not needed():
            return
        try:
            result = job(needed)
        except ManipDynError as error:
            result = error
        except Exception as error:  # otherwise the node would wait for ever
            result = ManipDynError(f"planning failed: {error!r}")
        self._result = (number, result)
        with suppress(InvalidHandle):  # the node has been destroyed
            unless_shut_down(self._node, self._guard.trigger)

    def _deliver(self) -> None:
        number, result = self._result
        if self.busy and number == self._number:
            self.busy = False
            self._on_done(result)

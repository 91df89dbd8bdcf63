"""Threads of a node: a periodic loop that does not drift, and a worker for long computations."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.node import Node

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.runtime.execution import unless_shut_down


class BackgroundThread:
    """A daemon thread; what it does is `_run`, which looks whether `_stop` is set."""

    def __init__(self, name: str):
        """Prepare the thread; its name is for debuggers."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        raise NotImplementedError


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


class PeriodicThread(BackgroundThread):
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


MAX_STALL = 1.0
"""A gap as long as this is a suspend, or a step of the clock, s; stamps do not wait for it."""
MAX_LAG = 5.0
"""How far stamps may be from the wall clock where many short gaps add up, s."""


class WallClockAnchor:
    """The moment at which a time that runs like the wall clock was last tied to it."""

    def __init__(self, wall_ns: int = 0, time_ns: int = 0):
        """Tie both together, ns."""
        self.tie(wall_ns, time_ns)

    def tie(self, wall_ns: int, time_ns: int) -> None:
        """Tie both together at present, ns."""
        self._apart_ns, self._lag_ns = wall_ns - time_ns, 0

    def behind_ns(self, wall_ns: int, time_ns: int) -> int:
        """Return what the time lacks, however much."""
        return wall_ns - time_ns - self._apart_ns

    def lag_ns(self, wall_ns: int, time_ns: int, period_ns: int) -> int:
        """Return what the time lacks, if that is too much by `MAX_STALL` or `MAX_LAG`; else 0.

        The wall clock may have been set back: then it is negative. What is returned is taken as
        made up: from then on the lag is measured anew.

        Args:
            wall_ns: Wall clock now.
            time_ns: The time now.
            period_ns: The lag is rounded to whole periods, so that stamps stay on their grid.
        """
        before, self._lag_ns = self._lag_ns, self.behind_ns(wall_ns, time_ns)
        lag, stall = self._lag_ns, self._lag_ns - before
        if abs(lag) <= MAX_LAG * 1e9 and abs(stall) <= MAX_STALL * 1e9:
            return 0
        self.tie(wall_ns, time_ns)
        return round(lag / period_ns) * period_ns


def lag_message(lag_ns: int, what: str) -> str:
    """Return the sentence that tells of a lag, and of what goes on from the present."""
    return (
        f"{lag_ns * 1e-9:.3f} s of wall time passed without a step (suspended, too slow, or the "
        f"clock was set): {what} go on from the present"
    )


class Worker:
    """Runs a job beside the node and hands its result over in the node's own thread.

    Attributes:
        busy: Whether a result is waited for.
    """

    def __init__(self, node: Node, on_done: Callable[[Any], None]):
        """Call `on_done` with what a job returned, or with its `ManipDynError`."""
        self._node, self._on_done = node, on_done
        self._thread: threading.Thread | None = None
        self._number, self._result = 0, (0, None)
        self.busy = False
        self._guard = node.create_guard_condition(self._deliver)

    def start(self, job: Callable[[Callable[[], bool]], Any]) -> None:
        """Begin a job; the result of one that still runs is thrown away.

        A job is given a function that tells whether its result is still wanted.
        """
        self._number += 1
        self.busy = True
        self._thread = threading.Thread(
            target=self._run, args=(job, self._number, self._thread), name="worker", daemon=True
        )
        self._thread.start()

    def forget(self) -> None:
        """Throw the result of the job that runs away."""
        self.busy = False

    def close(self) -> None:
        """Wait a little for the job that runs."""
        self.forget()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _run(
        self,
        job: Callable[[Callable[[], bool]], Any],
        number: int,
        before: threading.Thread | None,
    ) -> None:
        def wanted() -> bool:
            return self.busy and number == self._number

        if before is not None:
            before.join()  # planning shares compiled scratch space
        if not wanted():
            return
        try:
            result = job(wanted)
        except ManipDynError as error:
            result = error
        except Exception as error:  # a fault must not leave the node waiting for good
            result = ManipDynError(f"planning failed: {error!r}")
        self._result = (number, result)
        with suppress(InvalidHandle):  # the node was destroyed meanwhile
            unless_shut_down(self._node, self._guard.trigger)

    def _deliver(self) -> None:
        number, result = self._result
        if self.busy and number == self._number:
            self.busy = False
            self._on_done(result)

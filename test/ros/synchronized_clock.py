"""A clock for simulated arms in real time that waits until each state was received.

On a busy machine, commands for an arm at 50 Hz may be late, and a motion then leaves its plan. By
this clock the arm advances only after its last state was received. The behaviour of a controller
then does not depend on the load of the machine.
"""

import time
from types import SimpleNamespace

from manip_dyn.ros import runtime, stepper

LONGEST = 0.5
"""Longest wait for a subscriber, s: while a node starts, there is none."""


class SynchronizedClock:
    """Replacement of `time` for the pacing of nodes in this process.

    Attributes:
        ahead_ns: Offset of the wall clock, ns.
    """

    def __init__(self, received):
        """Create the clock from a function that returns the number of received states."""
        self._received, self._count, self._lost_ns = received, 0, 0
        self.ahead_ns = 0

    def begin(self):
        """Replace `time` in the modules that pace nodes."""
        runtime.threads.time = SimpleNamespace(sleep=self._sleep, clock_gettime=self._gettime)
        stepper.time = SimpleNamespace(time_ns=self.time_ns, sleep=time.sleep)

    def end(self):
        """Restore `time`."""
        runtime.threads.time = stepper.time = time

    def time_ns(self):
        """Return the wall clock for stamps of arms, ns."""
        return time.time_ns() - self._lost_ns + self.ahead_ns

    def _gettime(self, which):
        return time.clock_gettime(which) - 1e-9 * self._lost_ns

    def _sleep(self, duration):
        began = time.monotonic_ns()
        time.sleep(duration)
        longest = time.monotonic() + LONGEST
        while self._received() == self._count and time.monotonic() < longest:
            time.sleep(1e-3)
        self._count = self._received()
        self._lost_ns += time.monotonic_ns() - began - round(1e9 * duration)

"""A clock for arms in real time that nobody falls behind: it stands still until they are heard.

A machine that is too busy for an arm at 50 Hz beside its controller, its tests and others makes
late commands of good ones, and a motion that leaves its plan. By this clock an arm moves on when
its state was heard, whatever that takes: what a controller does of it is then the same everywhere.
"""

import time
from types import SimpleNamespace

from manip_dyn.ros import stepper
from manip_dyn.ros.runtime import threads as pacing

LONGEST = 0.5
"""For how long an arm waits to be heard, s: while a node is started nobody listens."""


class PatientClock:
    """What the pacing of nodes in this process takes for time.

    Attributes:
        ahead_ns: By how much the wall clock is set ahead.
    """

    def __init__(self, heard):
        """Take what returns how many states were heard so far."""
        self._heard, self._count, self._lost_ns = heard, 0, 0
        self.ahead_ns = 0

    def begin(self):
        """Take the place of time."""
        pacing.time = SimpleNamespace(sleep=self._sleep, clock_gettime=self._gettime)
        stepper.time = SimpleNamespace(time_ns=self.time_ns, sleep=time.sleep)

    def end(self):
        """Let time pass again."""
        pacing.time = stepper.time = time

    def time_ns(self):
        """Return the wall clock, to which stamps of arms are tied."""
        return time.time_ns() - self._lost_ns + self.ahead_ns

    def _gettime(self, which):
        return time.clock_gettime(which) - 1e-9 * self._lost_ns

    def _sleep(self, duration):
        began = time.monotonic_ns()
        time.sleep(duration)
        longest = time.monotonic() + LONGEST
        while self._heard() == self._count and time.monotonic() < longest:
            time.sleep(1e-3)
        self._count = self._heard()
        self._lost_ns += time.monotonic_ns() - began - round(1e9 * duration)

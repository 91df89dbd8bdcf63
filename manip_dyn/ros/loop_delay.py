"""Delay of a control loop over topics, and the end of its commands.

The delay is the time from a joint state to the effect of its command.

A simulated arm publishes the effort that acts after each state. If this effort changes to that of
an earlier command, the command has taken effect: its delay is the time between both states, minus
the time since the previous state. All times are stamps, so that clocks and the real-time factor do
not matter. An arm that publishes measured efforts gives no result.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.joints import Validity

WINDOW = 0.05
"""Time over which delays are averaged by their median, s."""
FEWEST = 5
"""Smallest number of delays of a median."""
EXPIRY = 0.2
"""Time without efforts in joint states after which a result expires, s."""


class CommandEnd:
    """Computes how long the command for a joint state is valid.

    A command ends a number of control periods after its state, plus the delay of the control loop.
    The safe command then acts until the next command: the arm cannot distinguish a late commander
    from a dead one.
    """

    def __init__(self, periods: int, period: float):
        """Set the number of periods, 0 for commands without an end, and the control period, s."""
        self._periods, self._period_ns = periods, round(1e9 * period)

    def duration_ns(self, delay: float) -> int | None:
        """Return the time (ns) after a state at which its command ends, or None for never.

        Args:
            delay: Delay of the control loop, s.
        """
        if not self._periods:
            return None
        return self._periods * self._period_ns + round(1e9 * delay)

    def validity(self, stamp_ns: int, delay: float, margin: float) -> Validity | None:
        """Return the validity of a command, or None for a command without an end.

        A command that arrives after the delay margin is dropped, because feedback with such a
        delay is unstable.

        Args:
            stamp_ns: Stamp of the state that the command answers, ns.
            delay: Delay of the control loop, s.
            margin: Delay above which the loop is unstable, s.
        """
        duration = self.duration_ns(delay)
        if duration is None:
            return None
        deadline = round(1e9 * margin) + self._period_ns
        return Validity(stamp_ns, duration, min(deadline, duration))


LOST = 1.0
"""Smallest time without the effect of a command after which a control loop has failed, s."""


def excess(delay: float | None, bound: float, margin: float, gains: str) -> str:
    """Describe a delay of a control loop that exceeds a bound; return "" otherwise.

    Args:
        delay: Delay, s; None if it is unknown.
        bound: The bound, s.
        margin: Delay above which the loop is unstable, s.
        gains: Names of the gains that determine the margin.
    """
    if delay is None or delay <= bound:
        return ""
    return (
        f"efforts act {delay:.3g} s after their states; with {gains}, the loop is unstable for "
        f"delays above {margin:.3g} s"
    )


class SentEfforts(NamedTuple):
    """Efforts of commands.

    Attributes:
        first_ns: Stamp of the first state that was answered with these efforts, ns.
        stamp_ns: Stamp of the newest such state, ns.
        repeated: Whether they answered several states. Such efforts give no delay.
    """

    first_ns: int
    stamp_ns: int
    repeated: bool


class LoopDelay:
    """Measures the delay of a control loop from the efforts in joint states.

    Attributes:
        seconds: Median delay in the last `WINDOW` s of stamps; None before the first result.
        age: Time since the oldest command that is newer than the acting one, s. The present delay
            is at least as long.
        ineffective: Time without an effective command, s: the number of states since the last one
            in which a command acted, times the period. 0 before the first effect.
        is_known: Whether efforts in joint states have shown the effect of a command. A result
            expires after `WINDOW` if joint states no longer contain efforts.
    """

    def __init__(self, robot: Robot, period: float):
        """Set the arm, whose effort limits clip the commands, and the control period, s."""
        self._limits, self._period = robot.tau_max, period
        self._sent: dict[tuple[float, ...], SentEfforts] = {}  # in order of the newest stamps
        self._delays: deque[tuple[int, float]] = deque()
        self._pending: deque[int] = deque()  # stamps of commands with other efforts than before
        self._effect_ns = self._newest_ns = 0
        self._first_ns: int | None = None
        self._acting: tuple[float, ...] = ()
        self.is_known = False
        self.seconds: float | None = None
        self._bound = math.inf
        self.age = self.ineffective = 0.0

    @property
    def bound(self) -> float:
        """Median delay or, before the first one, an upper bound, s; infinite before any effect.

        The bound is the smallest time from the first command with certain efforts to their effect,
        plus the time without an effective command. Repeated efforts, which give no delay, give a
        bound.
        """
        return self._bound + self.ineffective if self.seconds is None else self.seconds

    def restart(self) -> None:
        """Discard all commands and delays."""
        self._sent.clear()
        self._delays.clear()
        self._pending.clear()
        self._first_ns = None
        self.seconds, self._bound, self.is_known = None, math.inf, False
        self.age = self.ineffective = 0.0

    def unknown(self) -> str:
        """Return why the delay is unknown after `LOST` s of commands, or ""."""
        if self.is_known or self._first_ns is None:
            return ""
        late = self._newest_ns - self._first_ns > 1e9 * LOST
        return "no effort in joint states equals that of a command" if late else ""

    def failure(self, margin: float, gains: str) -> str:
        """Describe an unstable loop or commands without effect; return "" for a working loop.

        Args:
            margin: Delay above which the loop is unstable, s.
            gains: Names of the gains that determine the margin.
        """
        late = excess(self.seconds, margin, margin, gains)
        if not late and self.ineffective > max(LOST, 2.0 * margin):
            return f"no command has taken effect for {self.ineffective:.2g} s"
        return late

    def sent(self, stamp_ns: int, efforts: Vector | Matrix) -> None:
        """Record the efforts (n,) of a command, or all its efforts (k, n).

        Args:
            stamp_ns: Stamp of the state that the command answers, ns.
            efforts: The efforts, N m or N.
        """
        rows = np.clip(np.atleast_2d(efforts), -self._limits, self._limits)
        if self._first_ns is None and rows.any():  # zeros would not show an effect
            self._first_ns = stamp_ns
        for key in map(tuple, rows.tolist()):
            before = self._sent.pop(key, None)
            repeated = before is not None and (before.repeated or before.stamp_ns != stamp_ns)
            first_ns = stamp_ns if before is None else before.first_ns
            self._sent[key] = SentEfforts(first_ns, stamp_ns, repeated)
        if before is None:
            self._pending.append(stamp_ns)
        while self._pending and stamp_ns - self._pending[0] > 1e9 * LOST:
            self._pending.popleft()
        oldest = next(iter(self._sent))
        while stamp_ns - self._sent[oldest].stamp_ns > 1e9 * LOST:
            del self._sent[oldest]
            oldest = next(iter(self._sent))

    def received(self, stamp_ns: int, effort: Sequence[float] | None) -> None:
        """Look for the command that has the efforts (n,) of a state with a new stamp, ns."""
        interval, self._newest_ns = 1e-9 * (stamp_ns - self._newest_ns), stamp_ns
        if effort is None:
            if self.is_known and stamp_ns - self._effect_ns > 1e9 * EXPIRY:
                self.restart()
            return
        before, self._acting = self._acting, tuple(effort)
        sent = self._sent.get(self._acting)
        if sent is not None and stamp_ns - sent.stamp_ns >= 1e9 * LOST:  # a gap of the stamps
            sent = None
        self._wait(stamp_ns, sent)
        if sent is not None and any(effort):  # drivers without measured efforts publish zeros
            self.is_known, self.ineffective, self._effect_ns = True, 0.0, stamp_ns
        elif sent is None and self.is_known:
            self.ineffective += self._period
        if sent is None or sent.stamp_ns >= stamp_ns:
            return
        if before in ((), self._acting) or not any(effort):  # a brake may hold the arm like this
            return
        longest = max(1e-9 * (stamp_ns - sent.first_ns) - self._period, 0.0)
        self._bound = min(self._bound, longest)
        if sent.repeated:
            return
        delay = max(1e-9 * (stamp_ns - sent.stamp_ns) - interval, 0.0)
        self._delays.append((stamp_ns, delay))
        while len(self._delays) > FEWEST and self._delays[0][0] < stamp_ns - round(1e9 * WINDOW):
            self._delays.popleft()
        if len(self._delays) >= FEWEST:
            self.seconds = float(np.median([delay for _, delay in self._delays]))

    def _wait(self, stamp_ns: int, acting: SentEfforts | None) -> None:
        """Update the age of the oldest command that is newer than the acting one."""
        while acting is not None and self._pending and self._pending[0] <= acting.stamp_ns:
            self._pending.popleft()
        self.age = 1e-9 * (stamp_ns - self._pending[0]) if self._pending else 0.0

"""Commands that were sent for the arm as it is now, told by the wall clock of their senders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation import EffortLaw
from manip_dyn.simulation.commanded import CommandedArm

SETTLE = 0.05
"""Wall time after a reset in which commands still answer what the arm was before it, s."""


class Passing(Protocol):
    """How time passes.

    Attributes:
        paused: Whether it stands still until it is told otherwise.
    """

    paused: bool

    @property
    def lockstep(self) -> bool:
        """Whether it only passes when it is told to."""


class FreshCommands:
    """A commanded arm that takes no command from before a reset, and none that a pause made old.

    Attributes:
        arm: The arm.
        handover: Why the safe command has taken over, as a sentence; empty if it has not.
    """

    def __init__(self, arm: CommandedArm):
        """Take the arm."""
        self.arm, self.handover = arm, ""
        self._since_ns, self._sent_ns = time.time_ns(), 0
        self._was_paused = False
        self._passing: Passing | None = None

    def listen(self, passing: Passing) -> None:
        """Expect commands from now on, while time passes as `passing` says."""
        self._passing = passing

    @property
    def time_ns(self) -> int:
        """Simulated time."""
        return self.arm.time_ns

    def reset(self) -> None:
        """Go back to the start; what is sent before `SETTLE` is over is from before.

        Where time stands still, a controller answers the state of the start, which nobody hears
        before then.
        """
        self.arm.reset()
        self._since_ns = time.time_ns()
        if self._passing is not None:
            self._since_ns += round(1e9 * SETTLE)
            if self._passing.paused or self._passing.lockstep:
                time.sleep(SETTLE)
        self._was_paused, self.handover = False, ""

    def check(self, sent_ns: int) -> None:
        """Raise `ManipDynError` if a command was sent, ns of the wall clock, before a reset."""
        if sent_ns < self._since_ns:
            raise ManipDynError(
                f"a command was sent {1e-9 * (self._since_ns - sent_ns):.3f} s before the reset "
                "was done; expected one for the arm as it is now"
            )

    def command(self, law: EffortLaw, sent_ns: int) -> None:
        """Let efforts act that were sent at `sent_ns`, ns of the wall clock."""
        self.check(sent_ns)
        self.arm.command(law)
        self._sent_ns, self.handover = sent_ns, ""
        self.stand_still()

    def stand_still(self) -> None:
        """Note that time stands still, if it does; to be called now and then meanwhile."""
        self._was_paused = self._was_paused or self._paused

    def advance(self, duration_ns: int) -> None:
        """Move on, see `Simulation.advance`."""
        if self._was_paused and not self._paused:
            self._was_paused = False
            self._end_pause()
        before = self.arm.timed_out
        self.arm.advance(duration_ns)
        if self.arm.timed_out and not before:
            self.handover = f"no command for {self.arm.timeout:g} s"

    @property
    def _paused(self) -> bool:
        return self._passing is not None and self._passing.paused

    def _end_pause(self) -> None:
        if self._passing is not None and self._passing.lockstep:
            return  # the command answers the state of the pause, however long it was
        age = 1e-9 * (time.time_ns() - self._sent_ns)
        arm = self.arm
        waited = arm.commanded and not arm.timed_out and not arm.holding
        if waited and age > arm.timeout > 0.0:
            arm.time_out()
            self.handover = f"the last command was {age:.1f} s old when the pause ended"


def sent_at(info: Mapping[str, Any]) -> int:
    """Return when a message was sent, ns of the wall clock, from what rclpy tells of it."""
    return info.get("source_timestamp") or info.get("received_timestamp") or time.time_ns()

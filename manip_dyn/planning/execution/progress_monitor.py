"""Progress monitor, which stops an arm that does not reach its goal."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

MAX_RETURNS = 30
"""Maximum number of consecutive return motions that miss the goal."""
MAX_FAILED, SLOWER = 2, 0.5
"""Maximum number of consecutive attempts to follow the path without progress, and the factor of
the rate after a failed attempt."""
LONG, NEARER = 5.0, 0.95
"""An arm is stopped if its distance from the goal does not decrease to the fraction `NEARER`
within the time `LONG`, s."""
STANDING = 0.01
"""Lowest mean rate over the time `LONG` at which an arm follows its path."""
END = "; stopping and holding (check the load)"


class ProgressMonitor:
    """Monitors the progress of an arm towards its goal.

    Attributes:
        reason: Why the arm must stop, or "".
        failed: Number of consecutive attempts to follow the path without progress.
    """

    def __init__(self, robot: Robot):
        """Initialize the monitor without observations."""
        self._robot, self.reason = robot, ""
        self.reset()

    def reset(self) -> None:
        """Restart the monitor. Call this after an arrival at the goal."""
        self._returns, self.failed = 0, 0
        self._nearest, self._since = np.inf, 0.0
        self._followed: tuple[float, float] | None = None

    @property
    def stopped(self) -> bool:
        """Whether the arm must stop or has stopped."""
        return bool(self.reason)

    def note_stop(self, joint: int, off: float) -> None:
        """Record that the arm stops because a joint is `off` rad or m from the plan."""
        name, unit = self._robot.joint_names[joint], self._robot.unit(joint)
        self.reason = f"joint '{name}' was {off:.3g} {unit} from the plan; stopping and holding"

    def note_attempt(self, succeeded: bool, time: float) -> None:
        """Record an attempt to follow the rest of the path, which ended at a plan time (s)."""
        self.failed = 0 if succeeded else self.failed + 1
        self._nearest, self._followed = np.inf, None
        if self.failed >= MAX_FAILED:
            self.reason = (
                f"the arm left the path {MAX_FAILED} times at {time:.3f} s of the plan{END}"
            )

    @property
    def slower(self) -> float:
        """Factor of the rate for the next attempt to follow the rest of the path."""
        return SLOWER**self.failed

    def note_progress(self, t: float, time: float) -> None:
        """Record that a deviating arm is at a plan time (s) at time `t`, s."""
        since, before = self._followed or (t, time)
        if t - since > LONG and abs(time - before) < STANDING * (t - since):
            self.reason = (
                f"the arm has not moved along its path for {LONG:g} s, at {time:.3f} s of the "
                "plan; stopping and holding (check the drives and the load)"
            )
        if self._followed is None or t - since > LONG:
            self._followed = t, time

    def note_return(self) -> None:
        """Count a return motion."""
        self._returns += 1
        self._nearest, self._followed = np.inf, None
        if self._returns > MAX_RETURNS:
            self.reason = f"{MAX_RETURNS} return motions did not reach the goal{END}"

    def note(self, t: float, saturated: bool, q: Vector, goal: Vector) -> None:
        """Record a position after the end of a motion, before the arrival.

        Args:
            t: Time, s.
            saturated: Whether the efforts are at their limits.
            q: Measured positions (n,), rad or m.
            goal: Goal positions (n,), rad or m.
        """
        off = np.abs(q - goal)
        i = int(off.argmax())
        if off[i] < NEARER * self._nearest:
            self._nearest, self._since = float(off[i]), t
        elif t - self._since > LONG and not self.stopped:
            name, unit = self._robot.joint_names[i], self._robot.unit(i)
            cause = ", with efforts at their limits" if saturated else ""
            end = END if saturated else "; holding (check friction and tolerance)"
            self.reason = (
                f"joint '{name}' is {off[i]:.3g} {unit} from the goal and not approaching it"
                f"{cause}{end}"
            )

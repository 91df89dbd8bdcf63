"""Progress monitor, which stops an arm that does not reach its goal."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

MAX_RETURNS = 30
"""Maximum number of consecutive return motions that miss the goal."""
LONG, NEARER = 5.0, 0.95
"""An arm with saturated efforts is stopped if its distance from the goal does not decrease to the
fraction `NEARER` within the time `LONG`, s."""
END = "; stopping and holding (check the load)"


class ProgressMonitor:
    """Monitors the progress of an arm towards its goal.

    Attributes:
        reason: Why the arm must stop, or "".
    """

    def __init__(self, robot: Robot):
        """Initialize the monitor without observations."""
        self._robot, self.reason = robot, ""
        self.reset()

    def reset(self) -> None:
        """Restart the monitor. Call this after an arrival at the goal."""
        self._returns, self._nearest, self._since = 0, np.inf, 0.0

    @property
    def stopped(self) -> bool:
        """Whether the arm must stop or has stopped."""
        return bool(self.reason)

    def note_return(self) -> None:
        """Count a return motion."""
        self._returns += 1
        self._nearest = np.inf
        if self._returns > MAX_RETURNS:
            self.reason = f"{MAX_RETURNS} return motions did not reach the goal{END}"

    def note(self, t: float, saturated: bool, q: Vector, goal: Vector) -> None:
        """Record a position after the end of a motion.

        Args:
            t: Time, s.
            saturated: Whether the efforts are at their limits.
            q: Measured positions (n,), rad or m.
            goal: Goal positions (n,), rad or m.
        """
        off = np.abs(q - goal)
        i = int(off.argmax())
        if not saturated or off[i] < NEARER * self._nearest:
            self._nearest, self._since = float(off[i]), t
        elif saturated and t - self._since > LONG and not self.stopped:
            name, unit = self._robot.joint_names[i], self._robot.unit(i)
            self.reason = (
                f"joint '{name}' is {off[i]:.3g} {unit} from the goal and not approaching it, "
                f"with efforts at their limits{END}"
            )

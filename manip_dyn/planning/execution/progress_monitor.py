"""When an arm is stopped that does not come to its goal, instead of trying for good."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

MAX_RETURNS = 30
"""New motions to a goal, none of which ends there."""
LONG, NEARER = 5.0, 0.95
"""For how long, s, an arm whose efforts are at their limits may come no nearer to its goal than to
this share of its distance before, after the end of its motion."""
END = "; stopping and holding (is the load what the plan knows of?)"


class ProgressMonitor:
    """Looks how an arm gets on.

    Attributes:
        reason: Why it is not led to its goal any more, once that is so.
    """

    def __init__(self, robot: Robot):
        """Begin with nothing."""
        self._robot, self.reason = robot, ""
        self.reset()

    def reset(self) -> None:
        """Begin anew: the arm is at the goal."""
        self._returns, self._nearest, self._since = 0, np.inf, 0.0

    @property
    def gone(self) -> bool:
        """Whether the arm is to be stopped, or was."""
        return bool(self.reason)

    def note_return(self) -> None:
        """Count a new motion to the goal."""
        self._returns += 1
        self._nearest = np.inf
        if self._returns > MAX_RETURNS:
            self.reason = f"{MAX_RETURNS} new motions did not lead there{END}"

    def note(self, t: float, saturated: bool, q: Vector, goal: Vector) -> None:
        """Note where the arm (n,) is at `t` s, after the end of its motion to the goal (n,)."""
        off = np.abs(q - goal)
        i = int(off.argmax())
        if not saturated or off[i] < NEARER * self._nearest:
            self._nearest, self._since = float(off[i]), t
        elif saturated and t - self._since > LONG and not self.gone:
            name, unit = self._robot.joint_names[i], self._robot.unit(i)
            self.reason = (
                f"joint '{name}' is {off[i]:.3g} {unit} from it and comes no nearer, with efforts "
                f"at their limits{END}"
            )

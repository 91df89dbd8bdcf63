"""When it is told that an arm does not come to its goal, instead of trying for good."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

MOST_RETURNS = 10
"""New motions to a goal, none of which ends there, after which the arm is stopped."""
LONG = 5.0
"""For how long efforts are at their limits beyond the end of a motion before that is told, s."""


class Patience:
    """Counts what was tried.

    Attributes:
        reason: Why the arm does not come to its goal, once that is so.
        gone: Whether no new motion is made any more.
    """

    def __init__(self, robot: Robot):
        """Begin with nothing."""
        self._robot, self._returns = robot, 0
        self.reason, self.gone = "", False

    def reset(self) -> None:
        """Begin anew: the arm is at the goal."""
        self._returns = 0

    def tries_again(self, q: Vector, goal: Vector) -> bool:
        """Count a new motion to the goal (n,); return whether it is to be done."""
        self._returns += 1
        if self._returns <= MOST_RETURNS:
            return True
        self._tell(q, goal, f"{MOST_RETURNS} new motions did not lead there; stopping and holding")
        self.gone = True
        return False

    def wait(self, since: float, saturated: bool, q: Vector, goal: Vector) -> None:
        """Note that the arm is not at the goal `since` s after the end of its motion."""
        if saturated and since > LONG and not self.reason:
            self._tell(q, goal, "its efforts are at their limits; trying on")

    def _tell(self, q: Vector, goal: Vector, why: str) -> None:
        off = np.abs(q - goal)
        i = int(off.argmax())
        self.reason = (
            f"joint '{self._robot.joint_names[i]}' is {off[i]:.3g} {self._robot.unit(i)} from the "
            f"goal, {why} (is the load what the plan knows of?)"
        )

"""One joint's bang-bang motion in feedback form: driven to its braking curve, braked along it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from manip_dyn.planning.braking import BrakingCurve, Crossing
from manip_dyn.planning.joint_motion import JointMotion
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector


@dataclass(frozen=True, eq=False)
class Move:
    """What the moving joint does: driven to the switch, braked along the curve to rest.

    Attributes:
        curve: The braking curve to the goal.
        switch: Where the driven joint meets it.
        accelerated: Position and velocity (2,) of the driven joint by time, s.
    """

    curve: BrakingCurve
    switch: Crossing
    accelerated: Callable[[float], Vector] = field(repr=False)

    @classmethod
    def of(cls, robot: Robot, joint: int, start: float, goal: Vector) -> Move:
        """Return the move of `joint` from `start` to `goal` (n,), where the others rest."""
        curve = BrakingCurve(JointMotion(robot, joint, goal), start, float(goal[joint]))
        return cls(curve, *curve.meet(start, 0.0))

    @property
    def joint(self) -> int:
        """Index of the joint."""
        return self.curve.motion.joint

    @cached_property
    def t_final(self) -> float:
        """Time of arrival at rest, s."""
        return self.switch.time + self.curve.time_to_rest(self.switch.position)

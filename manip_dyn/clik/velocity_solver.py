"""One velocity of the CLIK law at a time, for loops of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.joint_velocity import joint_velocity
from manip_dyn.clik.law.settings import ClikSettings, checked_settings
from manip_dyn.clik.law.workspace import memory_of
from manip_dyn.clik.task.pose import DESIRED, ROTATION, TWIST, checked_pose
from manip_dyn.clik.tracking.program import velocity_of
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.compiled.late import compile_late
from manip_dyn.robot import Robot


class JointVelocity(NamedTuple):
    """Joint velocities (n,), rad/s or m/s, and what the speed limits left of them, 1 or less."""

    velocity: Vector
    scale: float


class VelocitySolver:
    """The CLIK law of one robot, called from Python.

    Attributes:
        in_place: Jitted ``in_place(q, desired, memory, v) -> scale``: q (n,), desired pose and
            twist (18,) as in `clik.task.pose`, `memory` as below, velocities into v (n,).
            Nothing is checked or allocated.
        memory: Its constants and scratch memory; one solver serves one thread.
    """

    def __init__(self, robot: Robot, settings: ClikSettings | None = None, step: float = 1e-3):
        """Take the robot and the law's constants; `step`, s, is how long a velocity will hold.

        All that a call may ever need is compiled now.
        """
        positive("step", step, "s")
        self.robot = robot
        self.settings = checked_settings(settings)
        self.in_place: Callable[..., float] = velocity_of(robot)
        self.memory = memory_of(robot, self.settings, step)
        self.in_place(np.zeros(robot.n), np.zeros(DESIRED), self.memory, np.empty(robot.n))
        compile_late(joint_velocity)

    def __call__(
        self, q: ArrayLike, pose: tuple[ArrayLike, ArrayLike], twist: ArrayLike = (0.0,) * 6
    ) -> JointVelocity:
        """Return the velocities at `q` (n,) for a desired pose and twist (6,), base frame."""
        joints = finite_vector("q", q, self.robot.n)
        goal = checked_pose("pose", pose)
        desired, v = np.empty(DESIRED), np.empty(self.robot.n)
        desired[:ROTATION], desired[ROTATION:TWIST] = goal.position, goal.rotation.ravel()
        desired[TWIST:] = finite_vector("twist", twist, 6)
        return JointVelocity(v, float(self.in_place(joints, desired, self.memory, v)))

"""This package's dynamics: as compiled kernels, or the same equations over floats."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot


class Dynamics(Protocol):
    """Functions of joint vectors (n,), without dry friction."""

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame (4, 4)."""


class ByEquations:
    """The equations over floats: nothing is compiled."""

    def __init__(self, robot: Robot):
        """Take a robot."""
        self._equations = Equations(robot, robot.tip_frame)

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        return np.array(self._equations.mass_matrix(q.tolist()))

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""
        return np.array(self._equations.inverse_dynamics(q.tolist(), v.tolist(), a.tolist()))

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""
        return np.array(self._equations.forward_dynamics(q.tolist(), v.tolist(), tau.tolist()))

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame (4, 4)."""
        return np.array(self._equations.forward_kinematics(q.tolist()))


def our_dynamics(robot: Robot, compiled: bool) -> Dynamics:
    """Return the compiled kernels of a robot, or its equations over floats."""
    kernels: Dynamics = customize(robot).unchecked if compiled else ByEquations(robot)
    return kernels

"""`customize`: a robot's equations of motion as callable kernels.

The functions run pinocchio's algorithms; the signature is the one that customized
straight-line kernels share.
"""

from __future__ import annotations

from manip_dyn.robot import Reference, Robot
from manip_dyn.validate import Vector, finite_vector


class Kernels:
    """Checked functions of joint positions q, velocities v, accelerations a and efforts tau.

    Each is an array of shape (n,) in rad or m (and per s, per s^2; N m or N). Results are new
    arrays. A wrong shape or a non-finite number raises `ManipDynError`.
    """

    def __init__(self, robot: Robot):
        """Make the kernels of `robot`; `unchecked` are the same functions without checks."""
        self.robot = robot
        self.unchecked = Reference(robot)

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,) under the efforts `tau`."""
        return self.unchecked.forward_dynamics(*self._checked(q=q, v=v, tau=tau))

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,) that give the accelerations `a`."""
        return self.unchecked.inverse_dynamics(*self._checked(q=q, v=v, a=a))

    def mass_matrix(self, q: Vector) -> Vector:
        """Return the joint-space inertia matrix (n, n)."""
        return self.unchecked.mass_matrix(*self._checked(q=q))

    def forward_kinematics(self, q: Vector) -> Vector:
        """Return the pose of the tip in the base frame, a homogeneous matrix (4, 4)."""
        return self.unchecked.forward_kinematics(*self._checked(q=q))

    def jacobian(self, q: Vector) -> Vector:
        """Return the geometric Jacobian (6, n) of the tip: linear, then angular, base frame."""
        return self.unchecked.jacobian(*self._checked(q=q))

    def forward_dynamics_derivatives(
        self, q: Vector, v: Vector, tau: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the accelerations by q, by v and by tau."""
        return self.unchecked.forward_dynamics_derivatives(*self._checked(q=q, v=v, tau=tau))

    def energy(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return kinetic and potential energy in J; gravity's is zero at the base origin."""
        return self.unchecked.energy(*self._checked(q=q, v=v))

    def _checked(self, **arguments: Vector) -> list[Vector]:
        return [finite_vector(name, value, self.robot.n) for name, value in arguments.items()]


def customize(robot: Robot) -> Kernels:
    """Return the kernels of `robot`."""
    return Kernels(robot)

"""`customize`: a robot's equations of motion as compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np

from manip_dyn.codegen.build import compiled_module
from manip_dyn.codegen.trace import trace_derivatives, trace_kernels
from manip_dyn.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector


class InPlace:
    """Jitted functions that write into the caller's array ``out``, allocate and check nothing.

    Arguments are contiguous float64 arrays (n,); other numba code can call them. Compiled at
    the first call, from the cache afterwards.
    """

    def __init__(self, robot: Robot):
        """Generate (or find in the cache) the functions of `robot`."""
        self._robot = robot
        module = compiled_module(robot, trace_kernels)
        self.forward_dynamics = module.forward_dynamics
        self.inverse_dynamics = module.inverse_dynamics
        self.mass_matrix = module.mass_matrix
        self.forward_kinematics = module.forward_kinematics
        self.jacobian = module.jacobian
        self.energy = module.energy

    @cached_property
    def forward_dynamics_derivatives(self) -> Callable[..., None]:
        """Derivatives (3, n, n) of the accelerations by q, v and tau; generated on demand."""
        return compiled_module(self._robot, trace_derivatives).forward_dynamics_derivatives

    def compile(self) -> None:
        """Compile all functions but the derivatives now, or load them from the cache.

        For loops with deadlines: afterwards no first call is slow.
        """
        vector, matrix = "float64[::1]", "float64[:,::1]"
        for function, arguments, out in (
            (self.forward_dynamics, 3, vector),
            (self.inverse_dynamics, 3, vector),
            (self.mass_matrix, 1, matrix),
            (self.forward_kinematics, 1, matrix),
            (self.jacobian, 1, matrix),
            (self.energy, 2, vector),
        ):
            function.compile(f"void({', '.join([vector] * arguments + [out])})")


class Unchecked:
    """The kernels with results in new arrays, for callers that know their arguments are good."""

    def __init__(self, robot: Robot):
        """Generate (or find in the cache) the functions of `robot`."""
        self.in_place = InPlace(robot)
        self._n = robot.n

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""
        out = np.empty(self._n)
        self.in_place.forward_dynamics(q, v, tau, out)
        return out

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""
        out = np.empty(self._n)
        self.in_place.inverse_dynamics(q, v, a, out)
        return out

    def mass_matrix(self, q: Vector) -> Vector:
        """Return the joint-space inertia matrix (n, n)."""
        out = np.empty((self._n, self._n))
        self.in_place.mass_matrix(q, out)
        return out

    def forward_kinematics(self, q: Vector) -> Vector:
        """Return the pose of the tip (4, 4)."""
        out = np.empty((4, 4))
        self.in_place.forward_kinematics(q, out)
        return out

    def jacobian(self, q: Vector) -> Vector:
        """Return the geometric Jacobian of the tip (6, n)."""
        out = np.empty((6, self._n))
        self.in_place.jacobian(q, out)
        return out

    def forward_dynamics_derivatives(
        self, q: Vector, v: Vector, tau: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the accelerations by q, v and tau."""
        out = np.empty((3, self._n, self._n))
        self.in_place.forward_dynamics_derivatives(q, v, tau, out)
        return out[0], out[1], out[2]

    def energy(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return kinetic and potential energy, J."""
        out = np.empty(2)
        self.in_place.energy(q, v, out)
        return float(out[0]), float(out[1])


class Kernels:
    """Checked functions of joint positions q, velocities v, accelerations a and efforts tau.

    Each is an array of shape (n,) in rad or m (and per s, per s^2; N m or N). Results are new
    arrays. A wrong shape or a non-finite number raises `ManipDynError`.

    Attributes:
        robot: The robot.
        unchecked: The same functions without checks.
        in_place: Jitted functions that write into ``out``.
    """

    def __init__(self, robot: Robot):
        """Make the kernels of `robot`."""
        self.robot = robot
        self.unchecked = _unchecked(robot)
        self.in_place = self.unchecked.in_place

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,) under the efforts `tau`."""
        return self.unchecked.forward_dynamics(*self._checked(q=q, v=v, tau=tau))

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,) that give the accelerations `a`."""
        return self.unchecked.inverse_dynamics(*self._checked(q=q, v=v, a=a))

    def mass_matrix(self, q: Vector) -> Vector:
        """Return the joint-space inertia matrix (n, n), rotor inertias included."""
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
        """Return kinetic and potential energy in J.

        Gravity's is zero at the base origin and leaves out links that are fixed to the base.
        """
        return self.unchecked.energy(*self._checked(q=q, v=v))

    def _checked(self, **arguments: Vector) -> list[Vector]:
        return [finite_vector(name, value, self.robot.n) for name, value in arguments.items()]


@lru_cache(maxsize=64)
def _unchecked(robot: Robot) -> Unchecked:
    """Return the one set of functions of a robot: they have no state, so all callers share it."""
    return Unchecked(robot)


def customize(robot: Robot) -> Kernels:
    """Return the kernels of `robot`, generated at its first use and cached on disk."""
    if not isinstance(robot, Robot):
        raise ManipDynError(f"robot is {robot!r}; expected a Robot from load_robot")
    return Kernels(robot)

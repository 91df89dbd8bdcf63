"""`customize`: a robot's equations of motion as compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen.batches import Batch
from manip_dyn.codegen.generation.kernel_modules import kernel_module
from manip_dyn.codegen.interfaces import Checked, InPlace, describe, unchecked_call
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.solvers import box_minimum
from manip_dyn.robot import Robot, check_inertia_tensor
from manip_dyn.robot.model import checked_robot

if TYPE_CHECKING:
    from manip_dyn.codegen.generation.taylor_series import Taylor
    from manip_dyn.codegen.operation_counts import Report


def holding_friction(static: Vector, mass: Matrix, drive: Vector, resting: Vector) -> Vector:
    """Return the unique friction efforts (n,) of joints at rest; 0 for the other joints.

    Either a joint does not accelerate, or its friction has the static level and opposes the
    direction in which the joint begins to slide. The efforts f minimize f^T A f / 2 - f^T a for
    |f| <= Fs. A contains the rows and columns of M^-1 of the resting joints, and a their
    accelerations without friction (Moreau, "Unilateral contact and dry friction in finite freedom
    dynamics", 1988).

    Args:
        static: Static friction Fs (n,), N m or N.
        mass: Mass matrix M (n, n).
        drive: Efforts minus bias and friction of sliding joints (n,).
        resting: Mask of the joints at rest (n,).
    """
    friction = np.zeros_like(drive)
    joints = np.flatnonzero(resting)
    if joints.size:
        inverse = np.linalg.inv(mass)
        force, limit = np.zeros(joints.size), np.ascontiguousarray(static[joints])
        mobility = np.ascontiguousarray(inverse[np.ix_(joints, joints)])
        box_minimum(mobility, -(inverse @ drive)[joints], -limit, limit, force)
        friction[joints] = force
    return friction


NO_PAYLOAD, NO_WRENCH = np.zeros(10), np.zeros(6)


class Unchecked:
    """All kernels as attributes that return new arrays and do not check their arguments.

    Call it as ``unchecked.forward_dynamics(q, v, tau)``.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Initialize with the jitted kernels of a robot with n joints."""
        self.in_place = in_place
        self._n = n

    def __repr__(self) -> str:
        """Return the name of the robot and its number of joints."""
        return repr(self.in_place).replace("InPlace", "Unchecked")

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return a kernel that allocates its result."""
        if name not in BY_NAME:
            raise AttributeError(f"There is no kernel '{name}'.")
        call = unchecked_call(self.in_place, BY_NAME[name])
        describe(call, name, self.in_place, "Unchecked")
        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        """Return the names of the kernels, and `in_place`."""
        return [*BY_NAME, "in_place"]


class Kernels:
    """Checked kernels of a robot: dynamics, kinematics, derivatives and Taylor series.

    Arguments are joint positions q, velocities v, accelerations a and efforts tau, all (n,). Units
    are rad or m for q, rad/s or m/s for v, rad/s^2 or m/s^2 for a, and N m or N for tau. Results
    are new arrays. A wrong shape or a number that is not finite raises `ManipDynError`.

    A `payload` (10,) is fixed to the tool (`robot.tip`). It contains the mass, the centre of mass
    (3) and the moments of inertia about it, ixx, iyy, izz, ixy, ixz, iyz, in the tool's axes. A
    `wrench` (6,) is an external force and moment at the tool's origin, in base axes.

    The methods `forward_dynamics` and `inverse_dynamics` include the dry friction of the joints,
    see `manip_dyn.robot.model.Friction`. All other functions omit it, including those of
    `in_place`, `unchecked` and `batch`.

    Attributes:
        robot: The robot.
        frame: Name of the link whose pose and Jacobian are computed.
        in_place: Jitted functions without checks that write into ``out``.
        unchecked: Functions without checks that return new arrays.
        batch: Checked functions for m states, one per column of the arguments.
    """

    def __init__(self, robot: Robot, frame: str):
        """Initialize the kernels of `robot` and the kinematics of its link `frame`."""
        self.robot = robot
        self.frame, self._has_friction = frame, robot.has_dry_friction
        self.in_place = InPlace(robot, robot.frame(frame))
        self.unchecked = Unchecked(self.in_place, robot.n)
        self._checked = Checked(self.in_place, robot.n)
        self.batch = Batch(self.in_place, robot.n)

    def __repr__(self) -> str:
        """Return the names of the robot and the frame, and the number of joints."""
        return f"Kernels(robot '{self.robot.name}', {self.robot.n} joints, frame '{self.frame}')"

    def __reduce__(self):
        """Pickle the robot and the frame; unpickling calls `customize`."""
        return customize, (self.robot, self.frame)

    # ------------------------------------------------------------------ kinematics
    def forward_kinematics(self, q: ArrayLike) -> Matrix:
        """Return the pose of the frame in the base frame, a homogeneous matrix (4, 4)."""
        return self._checked.forward_kinematics(q)

    def jacobian(self, q: ArrayLike) -> Matrix:
        """Return the geometric Jacobian (6, n) of the frame in base axes: linear, then angular."""
        return self._checked.jacobian(q)

    def jacobian_rate(self, q: ArrayLike, v: ArrayLike) -> Matrix:
        """Return the time derivative (6, n) of the Jacobian."""
        return self._checked.jacobian_rate(q, v)

    def jacobian_derivatives(self, q: ArrayLike) -> Tensor:
        """Return the derivatives (6, n, n) of the Jacobian with respect to q (last axis)."""
        return self._checked.jacobian_derivatives(q)

    # -------------------------------------------------------------------- dynamics
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        payload: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
    ) -> Vector:
        """Return the accelerations (n,) for the efforts `tau`.

        Joints with zero velocity are at rest. Dry friction prevents their motion up to the static
        friction.
        """
        if payload is None and wrench is None:
            if self._has_friction:
                tau = self._without_friction(q, v, tau)
            return self._checked.forward_dynamics(q, v, tau)
        load = _load(payload, wrench)
        if self._has_friction:
            tau = self._without_friction(q, v, tau, load)
        return self._checked.forward_dynamics_loaded(q, v, tau, *load)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        payload: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
    ) -> Vector:
        """Return the efforts (n,) for the accelerations `a`.

        Dry friction of joints with zero velocity is omitted, because it may have any value up to
        the static friction. For an arm at rest and `a` = 0, the result is the centre of the range
        of holding efforts. A joint that begins to slide also needs the static friction.
        """
        if payload is None and wrench is None:
            effort = self._checked.inverse_dynamics(q, v, a)
        else:
            effort = self._checked.inverse_dynamics_loaded(q, v, a, *_load(payload, wrench))
        return effort + self._sliding_friction(v) if self._has_friction else effort

    def _sliding_friction(self, v: ArrayLike) -> Vector:
        velocity = np.asarray(v, dtype=np.float64)
        return self.robot.friction.sliding(velocity, np.abs(velocity))

    def _without_friction(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        load: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Vector:
        """Return the efforts `tau` minus dry friction; `load` is a payload and a wrench."""
        drive = finite_vector("tau", tau, self.robot.n) - self._sliding_friction(v)
        static = self.robot.static_friction
        resting = (np.asarray(v) == 0.0) & (static > 0.0)
        if not resting.any():
            return drive
        still = np.zeros(self.robot.n)
        if load is None:
            bias, mass = self._checked.inverse_dynamics(q, v, still), self.mass_matrix(q)
        else:
            bias = self._checked.inverse_dynamics_loaded(q, v, still, *load)
            mass = self.mass_matrix(q, load[0])
        return drive - holding_friction(static, mass, drive - bias, resting)

    def mass_matrix(self, q: ArrayLike, payload: ArrayLike | None = None) -> Matrix:
        """Return the joint-space inertia matrix (n, n), including rotor inertias."""
        if payload is None:
            return self._checked.mass_matrix(q)
        return self._checked.mass_matrix_loaded(q, checked_payload(payload))

    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[float, float]:
        """Return kinetic and potential energy in J.

        The kinetic energy includes rotors (armature), and the potential energy includes springs.
        The potential energy of gravity is zero at the base origin, and excludes links that are
        fixed to the base.
        """
        kinetic, potential = self._checked.energy(q, v)
        return float(kinetic), float(potential)

    # ----------------------------------------------------------------- derivatives
    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the accelerations with respect to q, v and tau."""
        by_q, by_v, by_tau = self._checked.forward_dynamics_derivatives(q, v, tau)
        return by_q, by_v, by_tau

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the efforts with respect to q, v and a.

        The last one is the mass matrix.
        """
        by_q, by_v, by_a = self._checked.inverse_dynamics_derivatives(q, v, a)
        return by_q, by_v, by_a

    def forward_dynamics_adjoint(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, adjoint: ArrayLike
    ) -> tuple[Vector, Vector, Vector]:
        """Return the gradients (n,) of a weighted sum of the accelerations.

        The gradients are with respect to q, v and tau; `adjoint` (n,) contains the weights.
        """
        by_q, by_v, by_tau = self._checked.forward_dynamics_adjoint(q, v, tau, adjoint)
        return by_q, by_v, by_tau

    def forward_dynamics_second_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, adjoint: ArrayLike
    ) -> Tensor:
        """Return the second derivatives (3, n, 3, n) of a weighted sum of the accelerations.

        Axes 0 and 2 select q, v or tau, and axes 1 and 3 the joint. `adjoint` (n,) contains the
        weights.
        """
        return self._checked.forward_dynamics_second_derivatives(q, v, tau, adjoint)

    def switching_rates(
        self, q: ArrayLike, v: ArrayLike, p_q: ArrayLike, p_v: ArrayLike
    ) -> Vector:
        """Return the rates of the switching functions M^-1 p_v and the gradients of these rates.

        `p_q` and `p_v` are the costates of the minimum-time problem. Each row of the
        result (n, 1 + 4 n) contains a rate and its derivatives with respect to q, v, p_q and p_v.
        """
        return self._checked.switching_rates(q, v, p_q, p_v)

    # ---------------------------------------------------------------------- motion
    @cached_property
    def right_hand_side(self) -> Callable[..., None]:
        """The right-hand side of the motion for integrators: jitted ``rhs(t, y, p, out)``.

        The state y (2 n,) is (q, v), and p are the efforts (n,). The function writes the time
        derivative of y into `out` (2 n,). It does not check sizes; `md.integrate` does.
        """
        rhs = self._motion_module.right_hand_side
        rhs.sizes = 2 * self.robot.n, self.robot.n
        return rhs

    @cached_property
    def right_hand_side_with_work(self) -> Callable[..., None]:
        """The right-hand side for states (q, v, work); work (J) is that of efforts and damping."""
        return self._motion_module.right_hand_side_with_work

    @cached_property
    def linearization(self) -> Callable[..., None]:
        """The derivatives of `right_hand_side`: jitted ``function(t, y, p, out, by_time)``.

        The function writes M da/dq, M da/dv and M into `out` (n, 3 n), and zeros into `by_time`
        (n,), as required by `md.Jacobian` with ``positions=n, mass=True``.
        """
        return self._linear_module.linearization

    @cached_property
    def linearization_with_work(self) -> Callable[..., None]:
        """The derivatives of `right_hand_side_with_work`, with `out` (n + 1, 3 n + 1)."""
        return self._linear_module.linearization_with_work

    @cached_property
    def _motion_module(self) -> ModuleType:
        return kernel_module(self.robot, self.robot.frame(self.frame), "motion")

    @cached_property
    def _linear_module(self) -> ModuleType:
        return kernel_module(self.robot, self.robot.frame(self.frame), "linear")

    # ---------------------------------------------------------------------- series
    def taylor(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, order: int) -> Matrix:
        """Return the Taylor coefficients (order + 1, n) of the motion q(t) at t0.

        Row k is the coefficient of (t - t0)^k. `tau` is constant, (n,), or a polynomial in
        t - t0 with the rows of an array (m, n) as coefficients.
        """
        return self.series.coefficients(q, v, tau, order)

    @cached_property
    def series(self) -> Taylor:
        """The compiled recurrences for the Taylor coefficients of the motion."""
        from manip_dyn.codegen.generation.taylor_series import Taylor

        return Taylor(self.robot)

    @cached_property
    def series_with_work(self) -> Taylor:
        """The recurrences with the work (J) of efforts and damping as the last state."""
        from manip_dyn.codegen.generation.taylor_series import Taylor

        return Taylor(self.robot, "motion_and_work")

    # ---------------------------------------------------------------------- counts
    def report(self) -> Report:
        """Return the operation counts of straight-line kernels before and after customization."""
        from manip_dyn.codegen.operation_counts import operation_report

        return operation_report(self.robot, self.frame)


def _load(payload: ArrayLike | None, wrench: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    return (
        NO_PAYLOAD if payload is None else checked_payload(payload),
        NO_WRENCH if wrench is None else wrench,
    )


def checked_payload(payload: ArrayLike) -> Vector:
    """Return a payload (10,) as an array, or raise an error if it is not a valid rigid body."""
    checked = finite_vector("payload", payload, len(NO_PAYLOAD))
    mass, xx, yy, zz, xy, xz, yz = checked[0], *checked[4:]
    if mass < 0.0:
        raise ManipDynError(f"payload must have a mass of at least 0 kg, got {mass:g} kg.")
    check_inertia_tensor("payload", np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return checked


@lru_cache(maxsize=64)
def _kernels(robot: Robot, frame: str) -> Kernels:
    """Return the kernels of a robot; callers can share them because they are stateless."""
    return Kernels(robot, frame)


def customize(robot: Robot, frame: str | None = None) -> Kernels:
    """Return the kernels of `robot`, generated on first use and cached on disk.

    Args:
        robot: A robot returned by `load_robot`.
        frame: Name of the link for pose and Jacobian. Default: the tool, `robot.tip`.

    Raises:
        ManipDynError: If `robot` is not a `Robot`, or has no link `frame`.
    """
    checked_robot(robot)
    if frame is not None and not isinstance(frame, str):
        raise ManipDynError(f"frame must be the name of a link, got {frame!r}.")
    return _kernels(robot, robot.tip if frame is None else frame)

"""Equations of motion of one robot: rigid-body algorithms for any scalar type.

Joint vectors are lists of n scalars. With floats, the equations are a slow reference
implementation. With expressions, they define the generated kernels. Methods with arguments of
type `Scalar`, and the adjoint and its derivatives, require expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manip_dyn.codegen.rigid_body import bodies, dynamics, vectors
from manip_dyn.codegen.rigid_body.bodies import (
    JointPose,
    Rigid,
    base_parameter_mask,
    rigid_bodies,
    with_base_parameters,
)
from manip_dyn.codegen.rigid_body.dynamics import (
    Factors,
    Sensitivities,
    factorized,
    inverse_dynamics_sensitivities,
    inverted,
    solved,
)
from manip_dyn.codegen.rigid_body.graph import Scalar, derivatives, gradient, rates, substitute
from manip_dyn.robot import Frame, Robot

Matrix = list[list[Any]]
LONGEST_MASS_ENERGY = 12
"""Maximum number of joints for which the kinetic energy is computed from the mass matrix."""


class Equations:
    """The equations of one robot, with the kinematics of one of its frames."""

    def __init__(self, robot: Robot, frame: Frame):
        """Initialize with the parameters of a robot and one of its frames."""
        self.n = robot.n
        self.bodies, self.frame = robot.bodies, frame
        self.couplings = robot.couplings if robot.has_mimic_joints else ()
        # Mimic joints couple branches of the tree, so that the mass matrix is dense.
        dense = range(-1, robot.n - 1)
        self.parents = list(dense if self.couplings else (body.parent for body in robot.bodies))
        self.rigid = with_base_parameters(robot.bodies, rigid_bodies(robot.bodies))
        self.tip_frame = robot.tip_frame
        self.gravity, self.armature = robot.gravity.tolist(), robot.armature.tolist()
        self.damping, self.stiffness = robot.damping.tolist(), robot.stiffness.tolist()
        self.rest = robot.rest.tolist()

    # ------------------------------------------------------------------ kinematics
    def forward_kinematics(self, q: Sequence[Any]) -> Matrix:
        """Return the pose of the frame in the base frame, a homogeneous matrix (4, 4), m."""
        rotation, origin = bodies.frame_pose(self.frame, self._world(q))
        rows = [[*row, coordinate] for row, coordinate in zip(rotation, origin, strict=True)]
        return [*rows, [0.0, 0.0, 0.0, 1.0]]

    def jacobian(self, q: Sequence[Any]) -> Matrix:
        """Return the geometric Jacobian (6, n) of the frame in base axes: linear, then angular."""
        return self._of_joints(bodies.jacobian(self.bodies, self.frame, self._world(q)))

    def kinematics(self, q: Sequence[Any]) -> list[Any]:
        """Return position (3), rotation by rows (9) and Jacobian by rows (6 n) in one list.

        Closed-loop inverse kinematics needs all of them at the same positions.
        """
        world = self._world(q)
        rotation, origin = bodies.frame_pose(self.frame, world)
        rows = self._of_joints(bodies.jacobian(self.bodies, self.frame, world))
        return [*origin, *(x for row in (*rotation, *rows) for x in row)]

    def jacobian_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
        """Return the time derivative (6, n) of the Jacobian."""
        return _folded(rates(self._lifted(q, self.jacobian(q)), q, v), self.n)

    def jacobian_derivatives(self, q: Sequence[Scalar]) -> list[Matrix]:
        """Return the derivatives (6, n, n) of the Jacobian with respect to q (last axis)."""
        return _folded(derivatives(self._lifted(q, self.jacobian(q)), q), self.n)

    # -------------------------------------------------------------------- dynamics
    def forward_dynamics(self, q, v, tau) -> list[Any]:
        """Return the accelerations (n,), rad/s^2 or m/s^2, for the efforts `tau`."""
        return self._accelerations(q, v, tau, self.rigid)

    def inverse_dynamics(self, q, v, a) -> list[Any]:
        """Return the efforts (n,), N m or N, for the accelerations `a`."""
        return self._efforts(q, v, a, self.rigid)

    def mass_matrix(self, q) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        return self._mass_matrix(q, self.rigid)

    def energy(self, q, v) -> list[Any]:
        """Return kinetic and potential energy, J, with those of rotors and springs.

        The potential energy of gravity is zero at the base origin.
        """
        kinetic = self._kinetic_energy(q, v)
        potential = 0.0 * q[0]
        for body, (rotation, origin) in zip(self.bodies, self._world(q), strict=True):
            center = vectors.add(origin, vectors.times(rotation, body.com.tolist()))
            potential -= body.mass * vectors.dot(self.gravity, center)
        return [kinetic, self._with_springs(potential, q)]

    def motion(self, y, tau) -> list[Any]:
        """Return the rate (2 n,) of the state y = (q, v)."""
        q, v = y[: self.n], y[self.n : 2 * self.n]
        return [*v, *self.forward_dynamics(q, v, tau)]

    def motion_and_work(self, y, tau) -> list[Any]:
        """Return the rates (2 n + 1,) of q, v and the work of efforts and damping."""
        v = y[self.n : 2 * self.n]
        power = [tau[i] - self.damping[i] * v[i] for i in range(self.n)]
        return [*self.motion(y, tau), vectors.dot(v, power)]

    def linear_motion(self, y, tau) -> Matrix:
        """Return the matrix (n, 3 n) of M da/dq, M da/dv and M for the state y = (q, v).

        M da/dq and M da/dv are the negative derivatives of the inverse dynamics at fixed a.
        """
        q, v = y[: self.n], y[self.n : 2 * self.n]
        by_q, by_v, mass = self._sensitivities(q, v, self.forward_dynamics(q, v, tau))
        return [[*(-slope for slope in (*by_q[i], *by_v[i])), *mass[i]] for i in range(self.n)]

    def linear_motion_and_work(self, y, tau) -> Matrix:
        """Return the matrix (n + 1, 3 n + 1) of `linear_motion` with a row and column for work.

        A column of zeros precedes M. The last row contains the derivatives of the power of efforts
        and damping.
        """
        n, zero = self.n, 0.0 * y[0]
        rows = [[*row[: 2 * n], zero, *row[2 * n :]] for row in self.linear_motion(y, tau)]
        by_v = [tau[i] - 2.0 * self.damping[i] * y[n + i] for i in range(n)]
        return [*rows, [*[zero] * n, *by_v, *[zero] * (n + 1)]]

    # -------------------------------------------------- dynamics with some joints locked
    def locked_joint_motion(self, y, drive) -> list[Any]:
        """Return the rate (2 n,) of the state y = (q, v) while some joints are locked.

        `drive` is (tau, driven): efforts (n,), and 1 for a driven joint, 0 for a locked one (n,).
        """
        q, v = y[: self.n], y[self.n : 2 * self.n]
        return [*v, *self._locked_accelerations(q, v, drive)]

    def locked_joint_efforts(self, y, drive) -> list[Any]:
        """Return the efforts (n,) of driven joints and the constraint efforts of locked joints."""
        q, v = y[: self.n], y[self.n : 2 * self.n]
        return self.inverse_dynamics(q, v, self._locked_accelerations(q, v, drive))

    # ---------------------------------------------- dynamics with a load at the tool
    def forward_dynamics_loaded(self, q, v, tau, payload, wrench) -> list[Any]:
        """Return the accelerations (n,), rad/s^2 or m/s^2, with a payload and a wrench."""
        pushed = vectors.add(tau, self._wrench_efforts(q, wrench))
        return self._accelerations(q, v, pushed, self._rigid_with(payload))

    def inverse_dynamics_loaded(self, q, v, a, payload, wrench) -> list[Any]:
        """Return the efforts (n,), N m or N, with a payload and a wrench at the tool."""
        efforts = self._efforts(q, v, a, self._rigid_with(payload))
        return vectors.subtract(efforts, self._wrench_efforts(q, wrench))

    def mass_matrix_loaded(self, q, payload) -> Matrix:
        """Return the joint-space inertia matrix (n, n) with a payload."""
        return self._mass_matrix(q, self._rigid_with(payload))

    # ------------------------------------------------- dynamics with variable inertial parameters
    def motion_with_inertias(self, y, tau, inertias) -> list[Any]:
        """Return the rates (2 n + 1,) of (q, v, work) for base parameters of the bodies.

        `inertias` (10 n,) contains `Rigid.numbers` of the bodies; entries that are not base
        parameters are ignored.
        """
        zero, rigid = 0.0 * y[0], []
        for i, body in enumerate(self.bodies):
            mask = base_parameter_mask(body.prismatic)
            parameters = inertias[10 * i : 10 * i + 10]
            numbers = [x if used else zero for x, used in zip(parameters, mask, strict=True)]
            rigid.append(Rigid.of_numbers(numbers))
        q, v = y[: self.n], y[self.n : 2 * self.n]
        power = [tau[i] - self.damping[i] * v[i] for i in range(self.n)]
        return [*v, *self._accelerations(q, v, tau, rigid), vectors.dot(v, power)]

    def energy_with_inertias(self, q, v, inertias) -> list[Any]:
        """Return kinetic and potential energy, J, for inertial parameters of the bodies.

        `inertias` (10 n,) contains `Rigid.numbers` of the bodies. The energies include those of
        rotors and springs.
        """
        count = len(self.bodies)
        rigid = [Rigid.of_numbers(inertias[10 * i : 10 * i + 10]) for i in range(count)]
        kinetic = dynamics.kinetic_energy(self.bodies, rigid, self._poses(q), self._rates(v))
        rotors = vectors.dot([0.5 * inertia for inertia in self.armature], [x * x for x in v])
        potential = 0.0 * q[0]
        for body, (rotation, origin) in zip(rigid, self._world(q), strict=True):
            moment = vectors.add(
                vectors.scale(body.mass, origin), vectors.times(rotation, body.moment)
            )
            potential -= vectors.dot(self.gravity, moment)
        return [kinetic + rotors, self._with_springs(potential, q)]

    # ----------------------------------------------------------------- derivatives
    def inverse_dynamics_derivatives(self, q, v, a) -> list[Matrix]:
        """Return the derivatives (3, n, n) of the efforts with respect to q, v and a."""
        return list(self._sensitivities(q, v, a))

    def forward_dynamics_derivatives(self, q, v, tau) -> list[Matrix]:
        """Return the derivatives (3, n, n) of the accelerations with respect to q, v and tau.

        From M a + h(q, v) = tau: da/dx = -M^-1 dID/dx at fixed a, where ID denotes the inverse
        dynamics. Carpentier, Mansard (2018).
        """
        sensitivities = self._sensitivities(q, v, self.forward_dynamics(q, v, tau))
        inverse = inverted(self._factors(q, self.rigid))
        by_q, by_v = (
            [
                [-vectors.dot(row, column) for column in vectors.transposed(matrix)]
                for row in inverse
            ]
            for matrix in sensitivities[:2]
        )
        return [by_q, by_v, inverse]

    def forward_dynamics_adjoint(self, q, v, tau, adjoint) -> Matrix:
        """Return the gradients (3, n) of adjoint . a with respect to q, v and tau.

        With mu = M^-1 adjoint, these are the gradients of -mu . ID(q, v, a) with respect to q and
        v at fixed a and mu, and mu itself. ID denotes the inverse dynamics.
        """
        graph = q[0].graph
        a = [graph.input(f"fixed a {i}") for i in range(self.n)]
        mu = [graph.input(f"fixed mu {i}") for i in range(self.n)]
        slopes = gradient(vectors.dot(mu, self.inverse_dynamics(q, v, a)), [*q, *v])
        actual_a = self.forward_dynamics(q, v, tau)
        actual_mu = solved(self._factors(q, self.rigid), adjoint)
        slopes = substitute([-slope for slope in slopes], [*a, *mu], [*actual_a, *actual_mu])
        return [slopes[: self.n], slopes[self.n :], actual_mu]

    def forward_dynamics_second_derivatives(self, q, v, tau, adjoint) -> list[list[Matrix]]:
        """Return the second derivatives (3, n, 3, n) of adjoint . a with respect to q, v, tau."""
        slopes = self._lifted(q, self.forward_dynamics_adjoint(q, v, tau, adjoint))
        rows = derivatives(slopes, [*q, *v, *tau])
        return _folded([_folded(row, self.n) for row in rows], self.n)

    def switching_rates(self, q, v, p_q, p_v) -> Matrix:
        """Return the rates of the switching functions and the gradients of these rates.

        The switching functions are S = M^-1 p_v for the costates (p_q, p_v) of the minimum-time
        problem. Their rates dS/dt do not depend on the efforts. Each row of the result (n, 1 + 4
        n) contains a rate and its derivatives with respect to q, v, p_q and p_v.
        """
        still = [0.0 * velocity for velocity in v]
        _, by_v, switching = self.forward_dynamics_adjoint(q, v, still, p_v)
        falls = [-(p + slope) for p, slope in zip(p_q, by_v, strict=True)]
        first = rates(self._lifted(q, [switching]), [*q, *p_v], [*v, *falls])
        gradients = derivatives(first, [*q, *v, *p_q, *p_v])
        return [[rate, *row] for rate, row in zip(first, gradients, strict=True)]

    # ---------------------------------------------------------------------- internal
    def _world(self, q) -> list:
        return bodies.world_poses(self.bodies, self._poses(q))

    def _poses(self, q) -> list[JointPose]:
        """Return the poses of the bodies in their parents' frames."""
        if self.couplings:
            q = [c.ratio * q[c.joint] + c.offset for c in self.couplings]
        return bodies.joint_poses(self.bodies, q)

    def _rates(self, v) -> list[Any]:
        """Return the velocities or accelerations of the joints of all bodies."""
        return [c.ratio * v[c.joint] for c in self.couplings] if self.couplings else v

    def _projected(self, efforts: Sequence[Any]) -> list[Any]:
        """Return the efforts (n,) of the independent joints for the efforts of all bodies."""
        if not self.couplings:
            return list(efforts)
        sums: list[Any] = [None] * self.n
        for c, effort in zip(self.couplings, efforts, strict=True):
            term = c.ratio * effort
            sums[c.joint] = term if sums[c.joint] is None else sums[c.joint] + term
        return sums

    def _of_joints(self, matrix: Matrix) -> Matrix:
        """Return a matrix with a column per joint for one with a column per body."""
        return [self._projected(row) for row in matrix]

    def _square(self, matrix: Matrix) -> Matrix:
        """Return the matrix (n, n) of the independent joints for that of all bodies."""
        columns = vectors.transposed(self._of_joints(matrix))
        return vectors.transposed(self._of_joints(columns))

    def _efforts(self, q, v, a, rigid: Sequence[Rigid]) -> list[Any]:
        state = self._poses(q), self._rates(v), self._rates(a)
        of_bodies = dynamics.inverse_dynamics(self.bodies, rigid, *state, self.gravity)
        efforts = self._projected(of_bodies)
        passive = self._passive(q, v)
        return [efforts[i] + self.armature[i] * a[i] - passive[i] for i in range(self.n)]

    def _passive(self, q, v) -> list[Any]:
        """Return the efforts of dampers and springs."""
        return [
            -(self.damping[i] * v[i]) - self.stiffness[i] * (q[i] - self.rest[i])
            for i in range(self.n)
        ]

    def _with_springs(self, energy, q) -> Any:
        """Return an energy plus the energy of the springs."""
        for position, rest, stiffness in zip(q, self.rest, self.stiffness, strict=True):
            energy += 0.5 * stiffness * ((position - rest) * (position - rest))
        return energy

    def _accelerations(self, q, v, tau, rigid: Sequence[Rigid]) -> list[Any]:
        """Return M^-1 (tau - bias), from factors of M or by the articulated-body method.

        Expressions use the variant with fewer operations: factors for arms, articulated bodies for
        long chains. Floats and robots with mimic joints always use factors.
        """
        resting = [0.0 * velocity for velocity in v]
        bias = self._efforts(q, v, resting, rigid)
        resultant = vectors.subtract(tau, bias)
        factored = solved(self._factors(q, rigid), resultant)
        if self.couplings or not isinstance(q[0], Scalar):
            return factored
        articulated = dynamics.solve_by_articulated_bodies(
            self.bodies, rigid, self._poses(q), self.armature, resultant
        )
        graph = q[0].graph
        return min(factored, articulated, key=lambda values: graph.count(values).total())

    def _locked_accelerations(self, q, v, drive) -> list[Any]:
        """Solve M_dd a_d = tau_d - h_d for the driven joints d; locked joints have a = 0.

        The rows and columns of locked joints in M are those of the identity.
        """
        tau, driven = drive[: self.n], drive[self.n : 2 * self.n]
        mass, bias = self.mass_matrix(q), self.inverse_dynamics(q, v, [0.0 * x for x in v])
        for i in range(self.n):
            for j in range(self.n):
                mass[i][j] = driven[i] * mass[i][j] * driven[j]
            mass[i][i] = mass[i][i] + (1.0 - driven[i])
        resultant = [driven[i] * (tau[i] - bias[i]) for i in range(self.n)]
        return solved(factorized(mass, self.parents), resultant)

    def _mass_matrix(self, q, rigid: Sequence[Rigid]) -> Matrix:
        if not self.couplings:
            return dynamics.mass_matrix(self.bodies, rigid, self._poses(q), self.armature)
        rotorless = [0.0] * len(self.bodies)
        matrix = dynamics.mass_matrix(self.bodies, rigid, self._poses(q), rotorless)
        reduced = self._square(matrix)
        for i, inertia in enumerate(self.armature):
            reduced[i][i] = reduced[i][i] + inertia
        return reduced

    def _kinetic_energy(self, q, v) -> Any:
        """Return the kinetic energy from the mass matrix, or body by body for long chains."""
        if self.n <= LONGEST_MASS_ENERGY:
            return 0.5 * vectors.dot(v, [vectors.dot(row, v) for row in self.mass_matrix(q)])
        rotors = vectors.dot([0.5 * inertia for inertia in self.armature], [x * x for x in v])
        poses, rates = self._poses(q), self._rates(v)
        return rotors + dynamics.kinetic_energy(self.bodies, self.rigid, poses, rates)

    def _factors(self, q, rigid: Sequence[Rigid]) -> Factors:
        return factorized(self._mass_matrix(q, rigid), self.parents)

    def _sensitivities(self, q, v, a) -> Sensitivities:
        state = self._poses(q), self._rates(v), self._rates(a)
        result = inverse_dynamics_sensitivities(self.bodies, self.rigid, *state, self.gravity)
        if self.couplings:
            result = Sensitivities(*(self._square(matrix) for matrix in result))
        for i in range(self.n):
            result.by_position[i][i] += self.stiffness[i]
            result.by_velocity[i][i] += self.damping[i]
            result.by_acceleration[i][i] += self.armature[i]
        return result

    def _rigid_with(self, payload: Sequence[Any]) -> list[Rigid]:
        """Return the bodies with a payload at the tool.

        The payload contains mass, centre of mass (3) and inertia about it, ixx, iyy, izz, ixy,
        ixz, iyz, in the tool's axes.
        """
        mass, center, (xx, yy, zz, xy, xz, yz) = payload[0], payload[1:4], payload[4:10]
        still = [0.0 * mass] * 3
        about_center = Rigid(mass, still, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        tip = self.tip_frame
        pose = JointPose(tip.rotation.tolist(), 1.0, 0.0, tip.translation.tolist())
        rigid = list(self.rigid)
        rigid[tip.body] = rigid[tip.body].plus(about_center.moved(center).seen_from(pose))
        return rigid

    def _wrench_efforts(self, q, wrench: Sequence[Any]) -> list[Any]:
        """Return the joint efforts (n,) of a force and moment (6,) on the tool, in base axes."""
        jacobian = bodies.jacobian(self.bodies, self.tip_frame, self._world(q))
        columns = vectors.transposed(self._of_joints(jacobian))
        return [vectors.dot(wrench, column) for column in columns]

    def _lifted(self, q: Sequence[Scalar], rows: Matrix) -> list[Scalar]:
        return [q[0].graph.lift(value) for row in rows for value in row]


def _folded(values: Sequence[Any], n: int) -> list[list[Any]]:
    """Return the values in rows of n."""
    return [list(values[i : i + n]) for i in range(0, len(values), n)]

"""Pinocchio models of robots, and `Oracle`, the reference for all kernels.

Pinocchio's algorithms omit damping and springs, which `Oracle` adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot.extras import Extras, Payload
from manip_dyn.robot.model import Robot, bodies_of, body_axes
from manip_dyn.robot.urdf import Description


def pinocchio_model(
    description: Description, extras: Extras, mass_scale: float
) -> pinocchio.Model:
    """Create the pinocchio model of a robot with payload and gravity.

    Args:
        description: The URDF.
        extras: Content of the YAML file.
        mass_scale: Factor for all masses and inertias, including the payload.

    Raises:
        ManipDynError: If pinocchio cannot read the URDF.
    """
    try:
        model = pinocchio.buildModelFromXML(description.text(continuous_as_revolute=True))
    except (ValueError, RuntimeError) as error:
        raise ManipDynError(
            f"robot '{description.name}' cannot be read by pinocchio: {error}."
        ) from error
    if extras.payload is not None and extras.payload.link in description.links():
        _attach(model, extras.payload)
    model.gravity.linear = extras.gravity
    _scale(model, mass_scale)
    return model


def with_payloads(robot: Robot, payloads: Sequence[Payload]) -> Robot:
    """Return a robot with rigid bodies fixed to its links. Its URDF is unchanged.

    Raises:
        ManipDynError: If a link does not exist.
    """
    model = robot.model.copy()
    for payload in payloads:
        robot.frame(payload.link)  # checks the link
        _attach(model, payload)
    return replace(robot, model=model, bodies=bodies_of(model))


def _attach(model: pinocchio.Model, payload: Payload) -> None:
    frame = model.frames[model.getFrameId(payload.link, pinocchio.BODY)]
    inertia = pinocchio.Inertia(payload.mass, payload.com, payload.inertia)
    model.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)


def _scale(model: pinocchio.Model, factor: float) -> None:
    for i, body in enumerate(model.inertias):
        if factor != 1.0:
            model.inertias[i] = pinocchio.Inertia(
                factor * body.mass, body.lever, factor * body.inertia
            )


class Oracle:
    """Reference dynamics and kinematics of one robot by pinocchio, without dry friction.

    Units and the order of the joints are those of `Robot`. With mimic joints, the joint velocities
    of all b bodies are G v. The efforts are tau = G^T tau_b, where G (b, n) is `Robot.ratios` and
    tau_b (b,) are the efforts of the joints of all bodies. The class is not thread-safe.
    """

    def __init__(self, robot: Robot):
        """Allocate pinocchio's workspace for `robot`."""
        self._robot = robot
        self._model = robot.model
        self._data = robot.model.createData()
        self._tip = robot.model.getFrameId(robot.tip, pinocchio.BODY)
        self._ratios = robot.ratios
        self._passive = bool(np.any(robot.damping) or np.any(robot.stiffness))

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the joint accelerations (n,) for the efforts `tau` (n,)."""
        if self._passive:
            tau = tau + self._passive_effort(q, v)
        if self._robot.has_mimic_joints:
            bias = self._project(self._rnea(q, v, np.zeros(self._robot.n)))
            return np.array(np.linalg.solve(self.mass_matrix(q), tau - bias))
        return pinocchio.aba(self._model, self._data, q, v, tau).copy()

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,) for the accelerations `a` (n,)."""
        tau = self._project(self._rnea(q, v, a))
        return tau - self._passive_effort(q, v) if self._passive else tau

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n), including rotor inertias."""
        positions, bodies = self._robot.body_positions(q), len(self._robot.bodies)
        mass = pinocchio.crba(self._model, self._data, positions, pinocchio.Convention.WORLD)
        return self._project(self._project(mass.reshape(bodies, bodies).T).T)

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame as a homogeneous matrix (4, 4)."""
        return self.frame_pose(self._robot.tip, q)

    def frame_pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame as a homogeneous matrix (4, 4)."""
        frame = self._model.getFrameId(link, pinocchio.BODY)
        pinocchio.forwardKinematics(self._model, self._data, self._robot.body_positions(q))
        return pinocchio.updateFramePlacement(self._model, self._data, frame).homogeneous

    def jacobian(self, q: Vector) -> Matrix:
        """Return the geometric Jacobian (6, n): three rows for the linear velocity, then angular.

        Both velocities are in the base frame. The linear velocity is that of the tip's origin.
        """
        jacobian = pinocchio.computeFrameJacobian(
            self._model,
            self._data,
            self._robot.body_positions(q),
            self._tip,
            pinocchio.LOCAL_WORLD_ALIGNED,
        )
        return jacobian.reshape(6, len(self._robot.bodies)) @ self._ratios

    def forward_dynamics_derivatives(
        self, q: Vector, v: Vector, tau: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the accelerations with respect to q, v and tau."""
        robot = self._robot
        if robot.has_mimic_joints:
            a, inverse = (
                self.forward_dynamics(q, v, tau),
                np.array(np.linalg.inv(self.mass_matrix(q))),
            )
            by_q, by_v, _ = self.inverse_dynamics_derivatives(q, v, a)
            return -inverse @ by_q, -inverse @ by_v, inverse
        tau = tau + self._passive_effort(q, v)
        by_q, by_v, by_tau = (
            matrix.reshape(robot.n, robot.n)
            for matrix in pinocchio.computeABADerivatives(self._model, self._data, q, v, tau)
        )
        by_tau = np.triu(by_tau) + np.triu(by_tau, 1).T
        return by_q - by_tau * robot.stiffness, by_v - by_tau * robot.damping, by_tau

    def inverse_dynamics_derivatives(
        self, q: Vector, v: Vector, a: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives (n, n) of the efforts with respect to q, v and a."""
        robot, bodies = self._robot, len(self._robot.bodies)
        state = (robot.body_positions(q), self._ratios @ v, self._ratios @ a)
        by_q, by_v, by_a = (
            np.array(matrix).reshape(bodies, bodies)
            for matrix in pinocchio.computeRNEADerivatives(self._model, self._data, *state)
        )
        by_a = np.triu(by_a) + np.triu(by_a, 1).T
        by_q, by_v, by_a = (self._project(x @ self._ratios) for x in (by_q, by_v, by_a))
        return by_q + np.diag(robot.stiffness), by_v + np.diag(robot.damping), by_a

    def regressor(self, q: Vector, v: Vector, a: Vector) -> Matrix:
        """Return the regressor (n, 10 b): efforts per unit of each inertial parameter of b bodies.

        The parameters of each body are its mass, its first moments (3,), and Ixx, Ixy, Ixz, Iyy,
        Iyz, Izz about the origin of the body frame. Rotors, damping and springs are omitted.
        """
        state = (self._robot.body_positions(q), self._ratios @ v, self._ratios @ a)
        by_parameters = pinocchio.computeJointTorqueRegressor(self._model, self._data, *state)
        blocks = np.hsplit(self._project(by_parameters), len(self._robot.bodies))
        pairs = zip(blocks, self._transformations, strict=True)
        return np.hstack([block @ transformation for block, transformation in pairs])

    @cached_property
    def _transformations(self) -> list[Matrix]:
        """Transformations (10, 10) of parameters from body frames to pinocchio's joint frames."""
        return [_parameter_rotation(axes) for axes in body_axes(self._model)]

    def energy(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return kinetic and potential energy, J, including rotors and springs.

        The potential of gravity is zero at the base origin.
        """
        robot = self._robot
        kinetic = 0.5 * float(v @ self.mass_matrix(q) @ v)
        positions = robot.body_positions(q)
        potential = float(pinocchio.computePotentialEnergy(self._model, self._data, positions))
        return kinetic, potential + 0.5 * float(robot.stiffness @ (q - robot.rest) ** 2)

    def _rnea(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts of all bodies."""
        state = (self._robot.body_positions(q), self._ratios @ v, self._ratios @ a)
        return pinocchio.rnea(self._model, self._data, *state)

    def _project(self, rows: Matrix) -> Matrix:
        """Return G^T times a matrix or vector with one row per body."""
        return self._ratios.T @ rows if self._robot.has_mimic_joints else rows.copy()

    def _passive_effort(self, q: Vector, v: Vector) -> Vector:
        robot = self._robot
        return -robot.damping * v - robot.stiffness * (q - robot.rest)


def _parameter_rotation(axes: Matrix) -> Matrix:
    """Return the transformation (10, 10) of inertial parameters by a rotation `axes` (3, 3).

    The inertias are in the order of `regressor` before, and in pinocchio's order after it.
    """
    ours = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    theirs = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    rotation = np.zeros((10, 10))
    rotation[0, 0], rotation[1:4, 1:4] = 1.0, axes
    for k, (i, j) in enumerate(ours):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        rotated = axes @ unit @ axes.T
        rotation[4:, 4 + k] = [rotated[index] for index in theirs]
    return rotation

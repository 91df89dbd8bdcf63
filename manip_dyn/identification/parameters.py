"""Dynamic parameters of an arm: regressor, standard parameters and base parameters.

Efforts are linear in ten inertial parameters per body. The joint types determine the base
parameters of `codegen.rigid_body.bodies`. The dimensions of the arm allow further combinations. A
rank-revealing factorization of the regressor at random states determines them (Gautier 1991).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from manip_dyn.codegen.rigid_body.bodies import (
    JointPose,
    Rigid,
    rigid_bodies,
    with_base_parameters,
)
from manip_dyn.codegen.rigid_body.dynamics import body_motions, force_on, to_parent
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

OF_A_BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Mass, first moments and moments of inertia about the origin of the body; z is the joint axis."""
OF_A_JOINT = ("damping", "friction", "armature")


def checked_estimated(names: Iterable[str]) -> tuple[str, ...]:
    """Return the joint parameters to estimate as a tuple; `names` may be a single name."""
    parameters: tuple[str, ...]
    if isinstance(names, str) or not isinstance(names, Iterable):
        parameters = (names,)
    else:
        parameters = tuple(names)
    for parameter in parameters:
        if parameter not in OF_A_JOINT:
            hint = closest(parameter, OF_A_JOINT)
            raise ManipDynError(f"estimated must name joint parameters, got {parameter!r}{hint}")
    return parameters


def check_independent_joints(robot: Robot) -> Robot:
    """Return the robot; raise `ManipDynError` if it has mimic joints."""
    for coupling in checked_robot(robot).couplings:
        if coupling.name not in robot.joint_names:
            raise ManipDynError(
                f"robot must have no mimic joints to be identified, got '{coupling.name}' of "
                f"'{robot.name}'. Lock it: lock={{'{coupling.name}': {coupling.offset:g}}}."
            )
    return robot


def parameter_names(robot: Robot) -> list[str]:
    """Return the names of all parameters (13 n), such as ``elbow Izz`` and ``elbow damping``."""
    return [f"{joint} {parameter}" for joint in robot.joint_names for parameter in OF_A_BODY] + [
        f"{joint} {parameter}" for parameter in OF_A_JOINT for joint in robot.joint_names
    ]


def stated_parameters(robot: Robot) -> Vector:
    """Return the parameters (13 n,) from URDF and YAML file."""
    bodies = [flat(body) for body in rigid_bodies(robot.bodies)]
    return np.concatenate([*bodies, robot.damping, robot.coulomb_friction, robot.armature])


def regressor(robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> Tensor:
    """Return the regressor (m, n, 13 n): efforts per unit of each parameter.

    Args:
        robot: The robot; its masses and friction are not used.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), rad/s or m/s.
        a: Accelerations (m, n), rad/s^2 or m/s^2.
    """
    m, n = q.shape
    poses = _poses(robot, q)
    gravity = robot.gravity.tolist()
    motions = body_motions(robot.bodies, poses, list(v.T), list(a.T), gravity)
    result = np.zeros((m, n, 13 * n))
    for i, motion in enumerate(motions):
        for k in range(10):
            moment, force = force_on(unit(k), motion)
            j = i
            while j >= 0:
                body = robot.bodies[j]
                result[:, j, 10 * i + k] = (force if body.prismatic else moment)[2]
                if body.parent >= 0:
                    moment, force = to_parent(poses[j], moment, force)
                j = body.parent
    joints = np.arange(n)
    for k, factor in enumerate((v, np.sign(v), a)):
        result[:, joints, (10 + k) * n + joints] = factor
    return result


def spring_efforts(robot: Robot, q: Matrix) -> Matrix:
    """Return the efforts (m, n) that balance the springs at the positions `q` (m, n)."""
    return robot.stiffness * (q - robot.rest)


def unit(k: int) -> Rigid:
    """Return a body with parameter k equal to one and all others zero."""
    return rigid_of(np.eye(10)[k])


def rigid_of(ten: Vector) -> Rigid:
    """Return a body from its ten parameters (10,) in the order of `OF_A_BODY`."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = ten.tolist()
    return Rigid(mass, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def flat(rigid: Rigid) -> Vector:
    """Return the ten parameters (10,) of a body in the order of `OF_A_BODY`."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rigid.inertia
    return np.array([rigid.mass, *rigid.moment, xx, xy, xz, yy, yz, zz])


def _poses(robot: Robot, q: Matrix) -> list[JointPose]:
    """Return the poses of the bodies in their parent frames, with arrays (m,) as scalars."""
    poses = []
    for body, position in zip(robot.bodies, q.T, strict=True):
        rotation, origin = body.rotation.tolist(), body.translation.tolist()
        if body.prismatic:
            moved = [position * row[2] + x for row, x in zip(rotation, origin, strict=True)]
            poses.append(JointPose(rotation, np.ones_like(position), 0.0 * position, moved))
        else:
            poses.append(JointPose(rotation, np.cos(position), np.sin(position), origin))
    return poses


STATES, RANK = 20, 1e-9
"""Number of random states per joint, and relative norm below which a column is dependent."""


class BaseParameters(NamedTuple):
    """Base parameters as linear combinations of all parameters.

    Attributes:
        names: Names (b,) of the leading parameter of each combination.
        columns: Indices (b,) of the leading parameters.
        combination: Matrix (b, 13 n) from all parameters to base parameters.
        every: Names of all parameters (13 n).
    """

    names: tuple[str, ...]
    columns: np.ndarray
    combination: Matrix
    every: tuple[str, ...]

    @renamed_arguments(every="parameters")
    def of(self, parameters: Vector) -> Vector:
        """Return the base parameters (b,) for all parameters (13 n,)."""
        return self.combination @ parameters

    def formula(self, k: int) -> str:
        """Return base parameter k as a sum of parameters."""
        row = self.combination[k]
        terms = [
            f"{factor:+.4g} {self.every[j]}" if abs(factor - 1.0) > 1e-12 else f"+ {self.every[j]}"
            for j, factor in enumerate(row)
            if factor
        ]
        return " ".join(terms).removeprefix("+ ")

    @property
    def invisible(self) -> tuple[str, ...]:
        """Names of parameters that are not estimated or do not affect any effort."""
        used = np.flatnonzero(np.abs(self.combination).max(axis=0))
        return tuple(name for j, name in enumerate(self.every) if j not in used)


def base_parameters(robot: Robot, estimated: tuple[str, ...] = OF_A_JOINT) -> BaseParameters:
    """Return the base parameters: the fewest combinations that determine all efforts.

    They follow from the rank of the regressor at random states (Gautier 1991).

    Args:
        robot: The robot; only its kinematics and gravity are used.
        estimated: Joint parameters to include: ``damping``, ``friction`` and ``armature``.

    Raises:
        ManipDynError: If the robot has mimic joints, or a name in `estimated` is unknown.
    """
    n, estimated = check_independent_joints(robot).n, checked_estimated(estimated)
    by_joint_types = np.zeros((13 * n, 13 * n))
    by_joint_types[: 10 * n, : 10 * n] = _base_parameter_matrix(robot)
    for k, kind in enumerate(OF_A_JOINT):
        indices = np.arange(n) + (10 + k) * n
        by_joint_types[indices, indices] = float(kind in estimated)
    candidates = np.flatnonzero(np.abs(by_joint_types).max(axis=1) > 0.0)
    stacked = _random_regressor(robot)[:, candidates]
    size = np.linalg.norm(stacked, axis=0)
    nonzero = size > RANK * size.max()
    candidates, stacked = candidates[nonzero], stacked[:, nonzero] / size[nonzero]
    (triangle,) = qr(stacked, mode="r")  # preserves lengths and angles of the columns
    square = triangle[: len(candidates)]
    basis = _independent(square)
    dependent = np.setdiff1d(np.arange(len(candidates)), basis)
    factors = np.zeros((len(basis), len(candidates)))
    factors[np.arange(len(basis)), basis] = 1.0
    if len(dependent):
        (both,) = qr(np.hstack([square[:, basis], square[:, dependent]]), mode="r")
        first = slice(len(basis))
        factors[:, dependent] = solve_triangular(both[first, first], both[first, len(basis) :])
    factors *= size[nonzero] / size[nonzero][basis][:, None]
    combination = factors @ by_joint_types[candidates]
    combination[np.abs(combination) < 1e-10] = 0.0
    names = parameter_names(robot)
    columns = candidates[basis]
    return BaseParameters(tuple(names[j] for j in columns), columns, combination, tuple(names))


def observation(robot: Robot, base: BaseParameters, q: Matrix, v: Matrix, a: Matrix) -> Tensor:
    """Return the regressor (m, n, b) of the base parameters: efforts per unit of each one."""
    return regressor(robot, q, v, a)[:, :, base.columns]


def _base_parameter_matrix(robot: Robot) -> Matrix:
    """Return the matrix (10 n, 10 n) from inertial to base parameters for the joint types."""
    columns = []
    for row in np.eye(10 * robot.n):
        rigid = [rigid_of(ten) for ten in row.reshape(robot.n, 10)]
        columns.append(np.concatenate(list(map(flat, with_base_parameters(robot.bodies, rigid)))))
    return np.array(columns).T


def _random_regressor(robot: Robot) -> Matrix:
    rng = np.random.default_rng(0)
    count = STATES * robot.n
    q = rng.uniform(-np.pi, np.pi, (count, robot.n))
    v, a = rng.uniform(-3.0, 3.0, (2, count, robot.n))
    return regressor(robot, q, v, a).reshape(count * robot.n, -1)


def _independent(columns: Matrix) -> np.ndarray:
    """Return the indices of unit columns that are independent of all previous columns."""
    basis = np.zeros((len(columns), 0))
    indices: list[int] = []
    for j, column in enumerate(columns.T):
        remainder = column - basis @ (basis.T @ column)
        # Two projections suffice (Giraud, Langou, Rozloznik 2005).
        remainder -= basis @ (basis.T @ remainder)
        length = np.linalg.norm(remainder)
        if length > RANK:
            basis = np.column_stack([basis, remainder / length])
            indices.append(j)
    return np.array(indices, dtype=int)

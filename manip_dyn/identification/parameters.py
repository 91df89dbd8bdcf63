"""Dynamic parameters of an arm: regressor, standard parameters and base parameters."""

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
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

OF_A_BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Mass, first moments and moments of inertia about the body's origin; z is its joint's axis."""
OF_A_JOINT = ("damping", "friction", "armature")


def checked_estimated(names: Iterable[str]) -> tuple[str, ...]:
    """Return which parameters of joints are estimated; a name alone stands for itself."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else names
    chosen = tuple(given)
    for each in chosen:
        if each not in OF_A_JOINT:
            hint = closest(each, OF_A_JOINT)
            raise ManipDynError(f"estimated has {each!r}{hint}")
    return chosen


def parameter_names(robot: Robot) -> list[str]:
    """Return the names of all parameters (13 n), such as ``elbow Izz`` and ``elbow damping``."""
    return [f"{joint} {each}" for joint in robot.joint_names for each in OF_A_BODY] + [
        f"{joint} {each}" for each in OF_A_JOINT for joint in robot.joint_names
    ]


def stated_parameters(robot: Robot) -> Vector:
    """Return the parameters (13 n) that URDF and YAML state."""
    bodies = [flat(each) for each in rigid_bodies(robot.bodies)]
    return np.concatenate([*bodies, robot.damping, robot.coulomb_friction, robot.armature])


def regressor(robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> Tensor:
    """Return what each parameter of size one adds to the efforts, (m, n, 13 n).

    Args:
        robot: Its masses and friction do not matter.
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
    every = np.arange(n)
    for k, resists in enumerate((v, np.sign(v), a)):
        result[:, every, (10 + k) * n + every] = resists
    return result


def spring_efforts(robot: Robot, q: Matrix) -> Matrix:
    """Return the efforts (m, n) against the springs, which are taken as known."""
    return robot.stiffness * (q - robot.rest)


def unit(k: int) -> Rigid:
    """Return a body of which one of the ten parameters is one, the others zero."""
    return rigid_of(np.eye(10)[k])


def rigid_of(ten: Vector) -> Rigid:
    """Return a body by its ten parameters (10,)."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = ten.tolist()
    return Rigid(mass, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def flat(rigid: Rigid) -> Vector:
    """Return the ten parameters (10,) of a body."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rigid.inertia
    return np.array([rigid.mass, *rigid.moment, xx, xy, xz, yy, yz, zz])


def _poses(robot: Robot, q: Matrix) -> list[JointPose]:
    """Return the bodies' poses in their parents, over arrays (m,)."""
    poses = []
    for body, position in zip(robot.bodies, q.T, strict=True):
        rotation, origin = body.rotation.tolist(), body.translation.tolist()
        if body.prismatic:
            place = [position * row[2] + x for row, x in zip(rotation, origin, strict=True)]
            poses.append(JointPose(rotation, np.ones_like(position), 0.0 * position, place))
        else:
            poses.append(JointPose(rotation, np.cos(position), np.sin(position), origin))
    return poses


STATES, RANK = 20, 1e-9
"""Random states per joint, and the size relative to others below which a column has no direction
of its own."""


class BaseParameters(NamedTuple):
    """Which parameters are told apart, and of what they are made.

    Attributes:
        names: Of the parameter that leads each combination, (b,).
        columns: Its place among all, (b,).
        combination: Base parameters by all parameters, (b, 13 n).
        every: Names of all parameters (13 n).
    """

    names: tuple[str, ...]
    columns: np.ndarray
    combination: Matrix
    every: tuple[str, ...]

    def of(self, every: Vector) -> Vector:
        """Return the base parameters (b,) of all parameters (13 n,)."""
        return self.combination @ every

    def formula(self, k: int) -> str:
        """Return what a base parameter is the sum of."""
        row = self.combination[k]
        terms = [
            f"{factor:+.4g} {self.every[j]}" if abs(factor - 1.0) > 1e-12 else f"+ {self.every[j]}"
            for j, factor in enumerate(row)
            if factor
        ]
        return " ".join(terms).removeprefix("+ ")

    @property
    def invisible(self) -> tuple[str, ...]:
        """The parameters that no effort depends on."""
        seen = np.flatnonzero(np.abs(self.combination).max(axis=0))
        return tuple(name for j, name in enumerate(self.every) if j not in seen)


def base_parameters(robot: Robot, estimated: tuple[str, ...] = OF_A_JOINT) -> BaseParameters:
    """Return the base parameters of a robot.

    Args:
        robot: Its dimensions and gravity count, its masses do not.
        estimated: Which of ``damping``, ``friction`` and ``armature`` are among the parameters.
    """
    n, estimated = checked_robot(robot).n, checked_estimated(estimated)
    regroup = np.zeros((13 * n, 13 * n))
    regroup[: 10 * n, : 10 * n] = _regrouping(robot)
    for k, kind in enumerate(OF_A_JOINT):
        at = np.arange(n) + (10 + k) * n
        regroup[at, at] = float(kind in estimated)
    candidates = np.flatnonzero(np.abs(regroup).max(axis=1) > 0.0)
    stacked = _at_random(robot)[:, candidates]
    size = np.linalg.norm(stacked, axis=0)
    seen = size > RANK * size.max()
    candidates, stacked = candidates[seen], stacked[:, seen] / size[seen]
    (triangle,) = qr(stacked, mode="r")  # its columns have the lengths and angles of those
    square = triangle[: len(candidates)]
    kept = _independent(square)
    rest = np.setdiff1d(np.arange(len(candidates)), kept)
    shares = np.zeros((len(kept), len(candidates)))
    shares[np.arange(len(kept)), kept] = 1.0
    if len(rest):
        (both,) = qr(np.hstack([square[:, kept], square[:, rest]]), mode="r")
        first = slice(len(kept))
        shares[:, rest] = solve_triangular(both[first, first], both[first, len(kept) :])
    shares *= size[seen] / size[seen][kept][:, None]
    combination = shares @ regroup[candidates]
    combination[np.abs(combination) < 1e-10] = 0.0
    every = parameter_names(robot)
    columns = candidates[kept]
    return BaseParameters(tuple(every[j] for j in columns), columns, combination, tuple(every))


def observation(robot: Robot, base: BaseParameters, q: Matrix, v: Matrix, a: Matrix) -> Tensor:
    """Return what each base parameter of size one adds to the efforts, (m, n, b)."""
    return regressor(robot, q, v, a)[:, :, base.columns]


def _regrouping(robot: Robot) -> Matrix:
    """Return regrouped inertial parameters by the bodies' own, (10 n, 10 n)."""
    columns = []
    for row in np.eye(10 * robot.n):
        rigid = [rigid_of(ten) for ten in row.reshape(robot.n, 10)]
        columns.append(np.concatenate(list(map(flat, with_base_parameters(robot.bodies, rigid)))))
    return np.array(columns).T


def _at_random(robot: Robot) -> Matrix:
    rng = np.random.default_rng(0)
    count = STATES * robot.n
    q = rng.uniform(-np.pi, np.pi, (count, robot.n))
    v, a = rng.uniform(-3.0, 3.0, (2, count, robot.n))
    return regressor(robot, q, v, a).reshape(count * robot.n, -1)


def _independent(columns: Matrix) -> np.ndarray:
    """Return which columns (of length one) are no combination of those before, in order."""
    basis = np.zeros((len(columns), 0))
    kept: list[int] = []
    for j, column in enumerate(columns.T):
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)  # twice is enough (Giraud, Langou, Rozloznik 2005)
        length = np.linalg.norm(left)
        if length > RANK:
            basis = np.column_stack([basis, left / length])
            kept.append(j)
    return np.array(kept, dtype=int)

"""Base parameters: as many combinations of parameters as efforts can tell apart.

The graph's own regrouping (`codegen.rigid_body.base_parameters`) leaves those that joints allow;
what else an arm's dimensions, its gravity or the choice of what is estimated make alike is found
by the rank of the regressor at random states. Gautier (1991), Numerical calculation of the base
inertial parameters of robots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from manip_dyn.codegen.rigid_body.bodies import with_base_parameters
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.identification.regressor import (
    OF_A_JOINT,
    checked_estimated,
    flat,
    parameter_names,
    regressor,
    rigid_of,
)
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

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

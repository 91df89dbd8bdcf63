"""The peers of `bench path_timing`: TOPP-RA, and direct collocation along the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.path_timing import JointPath
from manip_dyn.robot import Robot

CELLS = 200


def toppra_motion(robot: Robot, points: Matrix, intervals: int, way: str) -> Callable[[], Any]:
    """Return TOPP-RA as its users call it (Pham, Pham 2018), efforts by pinocchio.

    Args:
        robot: The arm.
        points: Waypoints (m, n), joined as `time_path` does.
        intervals: Of its grid, of equal lengths.
        way: Its parametrizer: ``ParametrizeConstAccel`` moves as was computed,
            ``ParametrizeSpline``, the default, by a spline through the grid points.
    """
    import toppra

    toppra.setup_logging("ERROR")
    model, data = robot.model, robot.model.createData()
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    kind = "natural" if len(points) > 2 else "not-a-knot"
    path = toppra.SplineInterpolator(s, points, bc_type=kind)
    grid = np.linspace(0.0, s[-1], intervals + 1)

    def efforts(q: Vector, v: Vector, a: Vector) -> Vector:
        return pinocchio.rnea(model, data, q, v, a)

    def solve() -> Any:
        scheme = toppra.constraint.DiscretizationType.Interpolation
        limits = toppra.constraint.JointTorqueConstraint(
            efforts,
            np.column_stack([-robot.tau_max, robot.tau_max]),
            np.zeros(robot.n),
            discretization_scheme=scheme,
        )
        speeds = toppra.constraint.JointVelocityConstraint(
            np.column_stack([-robot.v_max, robot.v_max])
        )
        instance = toppra.algorithm.TOPPRA(
            [limits, speeds], path, gridpoints=grid, parametrizer=way, solver_wrapper="seidel"
        )
        return instance.compute_trajectory(0.0, 0.0)

    return solve


def collocation(robot: Robot, path: JointPath) -> Callable[[], float]:
    """Return the path's fastest timing by IPOPT as a function that solves once more.

    Squares of speed at the ends and controls linear in each of `CELLS` intervals, the efforts at
    both ends within their limits with damping, speeds in the middle, too: the nonlinear program
    XX
    """
    import casadi

    s = np.linspace(path.breaks[0], path.breaks[-1], CELLS + 1)
    width = s[1] - s[0]
    a, c, d, b = _coefficients(robot, path, s)
    cap = _cap(robot, path, s)
    problem = casadi.Opti()
    x = problem.variable(CELLS + 1)
    left, right = problem.variable(CELLS), problem.variable(CELLS)
    problem.subject_to(x[1:] - x[:-1] == width * (left + right))
    problem.subject_to(problem.bounded(0.0, x, cap))
    problem.subject_to(x[0] == 0.0)
    problem.subject_to(x[-1] == 0.0)
    root = casadi.sqrt(x + 1e-12)
    for i in range(robot.n):
        limit = robot.tau_max[i]
        for u, part in ((left, slice(0, CELLS)), (right, slice(1, CELLS + 1))):
            rest = c[part, i] * x[part] + d[part, i] * root[part] + b[part, i]
            problem.subject_to(problem.bounded(-limit, a[part, i] * u + rest, limit))
    middle = 0.5 * (x[:-1] + x[1:]) + 0.25 * width * (left - right)
    problem.subject_to(problem.bounded(1e-9, middle, _cap(robot, path, 0.5 * (s[:-1] + s[1:]))))
    share = width / (root[:-1] + root[1:])
    bend = (right - left) / width * share**2
    duration = 2.0 * casadi.sum1(share * (1.0 + bend / 3.0 + bend**2 / 5.0))
    problem.minimize(duration)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-9})
    place = np.linspace(0.0, 1.0, CELLS + 1)
    start = 0.1 * np.min(cap) * 4.0 * place * (1.0 - place)

    def solve() -> float:
        problem.set_initial(x, start)
        problem.set_initial(left, np.diff(start) / (2.0 * width))
        problem.set_initial(right, np.diff(start) / (2.0 * width))
        return float(problem.solve().value(duration))

    return solve


def _coefficients(robot: Robot, path: JointPath, s: Vector) -> tuple[Matrix, ...]:
    """Return the efforts' coefficients by u, x, sqrt(x) and 1 (k, n), by pinocchio."""
    model, data = robot.model, robot.model.createData()
    zero = np.zeros(robot.n)
    rows = []
    for q, first, second in zip(*(path(s, order) for order in range(3)), strict=True):
        rest = pinocchio.rnea(model, data, q, zero, zero)
        rows.append(
            (
                pinocchio.rnea(model, data, q, zero, first) - rest,
                pinocchio.rnea(model, data, q, first, second) - rest,
                robot.damping * first,
                rest,
            )
        )
    return tuple(np.array(each) for each in zip(*rows, strict=True))


def _cap(robot: Robot, path: JointPath, s: Vector) -> Vector:
    """Return the squares (k,) of the path's greatest speeds within the joints' speed limits."""
    with np.errstate(divide="ignore"):
        return np.min((robot.v_max / np.abs(path(s, 1))) ** 2, axis=1)

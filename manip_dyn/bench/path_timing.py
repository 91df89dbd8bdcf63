"""`manip_dyn bench path_timing`: the fastest motion along a path, compared with TOPP-RA and IPOPT.

The problems are straight and curved joint paths of a UR5 and a Panda with speed and effort limits.
One problem has viscous damping, which TOPP-RA's linear constraints cannot represent; it is
compared with IPOPT. The motions of manip_dyn and TOPP-RA are sampled at 10,001 times, including
times between grid points, and pinocchio computes the efforts.

A row for each candidate contains the time to compute the motion (ms), the duration of the motion,
the fraction of samples beyond a limit, and the largest load. Takes about 15 s.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio

import manip_dyn as md
from manip_dyn.bench.peers import installed
from manip_dyn.bench.timing import SLICE, documented, repetitions, seconds
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.path_timing import JointPath, time_path
from manip_dyn.robot import Robot, load_robot

RUNS = 9
CALL = "md.time_path(robot, waypoints)"
SAMPLES = 10_001
BEYOND = 1e-6
"""Tolerance of violations, relative to the limit."""
GRIDS = (100, 400, 1600)
"""Numbers of intervals in TOPP-RA's grids."""
PACKAGES = ("manip_dyn", "numba", "scipy", "toppra", "casadi")

Motion = tuple[Vector, Matrix, Matrix, Matrix]
"""Times (m,), positions, velocities, accelerations (m, n)."""


class Problem(NamedTuple):
    """A path of an arm: waypoints (m, n), joined by a natural cubic spline."""

    name: str
    robot: Robot
    waypoints: Matrix


class Row(NamedTuple):
    """Result of a candidate for a problem.

    Attributes:
        problem: Name of the problem.
        candidate: Name of the candidate.
        milliseconds: Computing time, ms.
        duration: Duration of the motion, s.
        violations: Fraction of the samples that exceed a limit, or None if not sampled.
        load: Largest ratio of a speed or effort to its limit, or None if not sampled.
        call: Documented call of a candidate of this package.
    """

    problem: str
    candidate: str
    milliseconds: float
    duration: float
    violations: float | None
    load: float | None
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return one table per problem. Numbers in brackets are ratios to the first row's time."""
    lines = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        head = f"{'compute, ms':>20}{'motion, s':>12}{'violations':>12}{'greatest load':>15}"
        lines += ["", problem, f"{'':<36}{head}"]
        for row in mine:
            cell = f"{row.milliseconds:.2f} ({row.milliseconds / mine[0].milliseconds:.3g})"
            violations = "-" if row.violations is None else f"{100.0 * row.violations:.1f} %"
            load = "-" if row.load is None else f"{row.load:.6f}"
            lines.append(
                f"{row.candidate:<36}{cell:>20}{row.duration:>12.6f}{violations:>12}{load:>15}"
            )
    return "\n".join(lines)


def problems() -> list[Problem]:
    """Return the paths of the benchmark."""
    result = []
    ur5, panda = load_robot("ur5"), load_robot("panda")
    for robot, seed in ((ur5, 1), (panda, 3)):
        points = curve(robot, seed)
        result.append(Problem(f"{robot.name}, straight", robot, points[[0, -1]]))
        result.append(Problem(f"{robot.name}, curved", robot, points))
    damped = load_robot("ur5", viscous_friction=list(0.1 * ur5.tau_max / ur5.v_max))
    result.append(Problem("ur5 with damping, curved", damped, curve(ur5, 1)))
    return result


def curve(robot: Robot, seed: int) -> Matrix:
    """Return four waypoints (4, n): random positions within the limits, halfway to their mean."""
    low, high = np.maximum(robot.q_min, -2.0), np.minimum(robot.q_max, 2.0)
    points = low + (high - low) * np.random.default_rng(seed).random((4, robot.n))
    return points.mean(axis=0) + 0.5 * (points - points.mean(axis=0))


def measure(chosen: Sequence[Problem] | None = None) -> list[Row]:
    """Time this package on every problem, TOPP-RA without damping, and IPOPT with damping."""
    rows = []
    for problem in problems() if chosen is None else chosen:
        rows.append(_ours(problem))
        if not np.any(problem.robot.damping):
            rows += _toppra(problem)
        elif installed("casadi"):
            rows.append(_collocation(problem))
    return rows


def _ours(problem: Problem) -> Row:
    names = {"md": md, "robot": problem.robot, "waypoints": problem.waypoints}
    compute = documented(CALL, names)
    timing: Any = compute()
    times = np.linspace(0.0, timing.t_final, SAMPLES)
    states = [timing.joints(float(t)) for t in times]
    q, v, a = (np.array(column) for column in zip(*states, strict=True))
    name = f"manip_dyn, {len(timing.motion.grid) - 1} intervals"
    row = _row(problem, name, compute, timing.t_final, (times, q, v, a))
    return row._replace(call=CALL)


def _toppra(problem: Problem) -> list[Row]:
    if not installed("toppra"):
        return []
    rows = []
    variants = [(n, "ParametrizeConstAccel") for n in GRIDS] + [(GRIDS[1], "ParametrizeSpline")]
    for intervals, parametrizer in variants:
        compute = toppra_motion(problem.robot, problem.waypoints, intervals, parametrizer)
        trajectory = compute()
        times = np.linspace(0.0, trajectory.duration, SAMPLES)
        motion = (times, trajectory(times, 0), trajectory(times, 1), trajectory(times, 2))
        kind = "spline" if parametrizer == "ParametrizeSpline" else "exact"
        name = f"TOPP-RA, {intervals} intervals, {kind}"
        rows.append(_row(problem, name, compute, float(trajectory.duration), motion))
    return rows


def _collocation(problem: Problem) -> Row:
    solve = collocation(problem.robot, time_path(problem.robot, problem.waypoints).path)
    return Row(
        problem.name, "CasADi + IPOPT along the path", _milliseconds(solve), solve(), None, None
    )


def _row(problem: Problem, name: str, compute: Callable, duration: float, motion: Motion) -> Row:
    load = loads(problem.robot, motion)
    violations = float(np.mean(load > 1.0 + BEYOND))
    return Row(problem.name, name, _milliseconds(compute), duration, violations, float(load.max()))


def loads(robot: Robot, motion: Motion) -> Vector:
    """Return the largest ratio of a speed or effort to its limit at each sample (m,).

    Pinocchio computes the efforts.
    """
    _, q, v, a = motion
    data = robot.model.createData()
    efforts = np.array(
        [
            pinocchio.rnea(robot.model, data, *state) + robot.damping * state[1]
            for state in zip(q, v, a, strict=True)
        ]
    )
    fractions = np.hstack([np.abs(efforts) / robot.tau_max, np.abs(v) / robot.v_max])
    return fractions.max(axis=1)


def _milliseconds(compute: Callable[[], object]) -> float:
    count = repetitions(compute, SLICE, time.process_time)
    taken = [seconds(compute, count, time.process_time) / count for _ in range(RUNS)]
    return 1e3 * statistics.median(taken)


# ------------------------------------------------------------------------------------- peers
CELLS = 200


def toppra_motion(
    robot: Robot, points: Matrix, intervals: int, parametrizer: str
) -> Callable[[], Any]:
    """Return a function that computes the timing of a path with TOPP-RA.

    TOPP-RA is the algorithm of Pham, Pham (2018), called as in its documentation. Pinocchio
    computes the efforts.

    Args:
        robot: The arm.
        points: Waypoints (m, n), interpolated in the same way as by `time_path`.
        intervals: Number of equal grid intervals.
        parametrizer: ``ParametrizeConstAccel`` follows the computed accelerations.
            ``ParametrizeSpline``, the default of TOPP-RA, is a spline through the grid points.
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
            [limits, speeds],
            path,
            gridpoints=grid,
            parametrizer=parametrizer,
            solver_wrapper="seidel",
        )
        return instance.compute_trajectory(0.0, 0.0)

    return solve


def collocation(robot: Robot, path: JointPath) -> Callable[[], float]:
    """Return a function that computes the fastest timing of a path with IPOPT.

    The function returns the duration, s. The unknowns are the squared path speeds at the ends of
    `CELLS` intervals, and path accelerations that are linear in each interval. Efforts, including
    damping, are limited at both ends of an interval. Speeds are also limited at the midpoint.
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
    factor = width / (root[:-1] + root[1:])
    bend = (right - left) / width * factor**2
    duration = 2.0 * casadi.sum1(factor * (1.0 + bend / 3.0 + bend**2 / 5.0))
    problem.minimize(duration)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-9})
    fraction = np.linspace(0.0, 1.0, CELLS + 1)
    start = 0.1 * np.min(cap) * 4.0 * fraction * (1.0 - fraction)

    def solve() -> float:
        problem.set_initial(x, start)
        problem.set_initial(left, np.diff(start) / (2.0 * width))
        problem.set_initial(right, np.diff(start) / (2.0 * width))
        return float(problem.solve().value(duration))

    return solve


def _coefficients(robot: Robot, path: JointPath, s: Vector) -> tuple[Matrix, ...]:
    """Return the coefficients (k, n) of u, x, sqrt(x) and 1 in the efforts, using pinocchio."""
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
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _cap(robot: Robot, path: JointPath, s: Vector) -> Vector:
    """Return the squared path speeds (k,) at which the first joint reaches its speed limit."""
    with np.errstate(divide="ignore"):
        return np.min((robot.v_max / np.abs(path(s, 1))) ** 2, axis=1)

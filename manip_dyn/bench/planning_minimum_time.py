"""Exact minimum time beside direct collocation and the time-optimal motion on a straight path.

The motion is that of Fan (2003), table 6.3: the IBM 7535 from (0.76, 0.2618) rad to 0. The
certified plan is compared with CasADi and IPOPT, whose problem is built once and only solved in
the timing, and with TOPP-RA, which keeps to the straight line between start and goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.graphs import motion
from manip_dyn.bench.peers import installed
from manip_dyn.bench.timing import Candidate, compare, setting
from manip_dyn.codegen import customize
from manip_dyn.planning import plan_minimum_time
from manip_dyn.robot import Robot, load_robot
from manip_dyn.validate import Vector

INTERVALS = 100
PACKAGES = ("manip_dyn", "numba", "scipy", "casadi", "toppra")
START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)


class MinimumTimeRow(NamedTuple):
    """A candidate: milliseconds per plan, their ratio to ours, the motion's duration in s."""

    candidate: str
    milliseconds: float
    ratio: float
    duration: float


class MinimumTimeBench(NamedTuple):
    """The rows, and the setting they were measured in."""

    setting: dict[str, str]
    rows: list[MinimumTimeRow]

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {"setting": self.setting, "rows": [row._asdict() for row in self.rows]}

    def __str__(self) -> str:
        """Return a table."""
        head = f"{'minimum time, IBM 7535':<44}{'ms':>10}{'ratio':>8}{'motion, s':>12}"
        rows = [
            f"{row.candidate:<44}{row.milliseconds:>10.2f}{row.ratio:>8.2f}{row.duration:>12.6f}"
            for row in self.rows
        ]
        return "\n".join([", ".join(f"{k} {v}" for k, v in self.setting.items()), head, *rows])


def bench_minimum_time(rounds: int = 7) -> MinimumTimeBench:
    """Time our plan and the peers that are installed."""
    robot = load_robot("ibm7535")
    peers = list(_candidates(robot, START, GOAL))
    timings = compare([Candidate(name, plan) for name, plan in peers], rounds)
    rows = [
        MinimumTimeRow(timing.name, timing.microseconds * 1e-3, timing.ratio, plan())
        for timing, (_, plan) in zip(timings, peers, strict=True)
    ]
    return MinimumTimeBench(dict(setting(PACKAGES)), rows)


def _candidates(
    robot: Robot, start: Vector, goal: Vector
) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield names and functions that plan and return the duration, s."""
    yield "manip_dyn, certified", lambda: plan_minimum_time(robot, start, goal).t_final
    if installed("casadi"):
        yield "CasADi + IPOPT, direct collocation", collocation(robot, start, goal, 1.5)
    if installed("toppra"):
        yield "TOPP-RA, straight joint path", straight_path(robot, start, goal)


def collocation(robot: Robot, start: Vector, goal: Vector, first: float) -> Callable[[], float]:
    """Return Hermite-Simpson collocation with piecewise constant efforts as a function.

    It starts from the straight way with constant speed and the duration `first`, s. Betts (2010),
    Practical methods for optimal control using nonlinear programming, section 4.6.6.
    """
    import casadi

    n, cells = robot.n, INTERVALS
    rates = motion(robot, casadi.sin, casadi.cos, casadi.SX)
    y, tau = casadi.SX.sym("y", 2 * n), casadi.SX.sym("tau", n)
    slope = casadi.Function(
        "slope", [y, tau], [casadi.vertcat(*rates(casadi.vertsplit(y), casadi.vertsplit(tau)))]
    )
    problem = casadi.Opti()
    x = problem.variable(2 * n, cells + 1)
    middle = problem.variable(2 * n, cells)
    u, duration = problem.variable(n, cells), problem.variable()
    h = duration / cells
    across = slope.map(cells)
    before, after = across(x[:, :-1], u), across(x[:, 1:], u)
    between = across(middle, u)
    problem.subject_to(
        casadi.vec(middle - 0.5 * (x[:, :-1] + x[:, 1:]) - h / 8 * (before - after)) == 0
    )
    problem.subject_to(
        casadi.vec(x[:, 1:] - x[:, :-1] - h / 6 * (before + 4 * between + after)) == 0
    )
    limits = np.tile(robot.tau_max[:, None], (1, cells))
    problem.subject_to(problem.bounded(-limits.ravel("F"), casadi.vec(u), limits.ravel("F")))
    problem.subject_to(x[:, 0] == np.concatenate([start, np.zeros(n)]))
    problem.subject_to(x[:, -1] == np.concatenate([goal, np.zeros(n)]))
    problem.subject_to(duration >= 1e-3)
    problem.minimize(duration)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-8})
    share = np.linspace(0.0, 1.0, cells + 1)
    way = start[:, None] + (goal - start)[:, None] * share
    speed = np.tile(((goal - start) / first)[:, None], (1, cells + 1))
    guess = np.vstack([way, speed])

    def solve() -> float:
        problem.set_initial(x, guess)
        problem.set_initial(middle, 0.5 * (guess[:, :-1] + guess[:, 1:]))
        problem.set_initial(u, 0.0)
        problem.set_initial(duration, first)
        return float(problem.solve().value(duration))

    return solve


def straight_path(robot: Robot, start: Vector, goal: Vector) -> Callable[[], float]:
    """Return TOPP-RA on the straight joint path as a function (Pham, Pham 2018)."""
    import toppra

    toppra.setup_logging("ERROR")
    inverse_dynamics = customize(robot).unchecked.inverse_dynamics
    path = toppra.SplineInterpolator([0.0, 1.0], np.array([start, goal]))
    limits = np.column_stack([-robot.tau_max, robot.tau_max])
    grid = np.linspace(0.0, 1.0, INTERVALS + 1)

    def solve() -> float:
        efforts = toppra.constraint.JointTorqueConstraint(
            inverse_dynamics,
            limits,
            np.zeros(robot.n),
            discretization_scheme=toppra.constraint.DiscretizationType.Interpolation,
        )
        instance = toppra.algorithm.TOPPRA([efforts], path, gridpoints=grid)
        return float(instance.compute_trajectory(0.0, 0.0).duration)

    return solve

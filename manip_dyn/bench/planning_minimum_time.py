"""The peers of minimum time: direct collocation, and the time-optimal motion on a straight path.

Both return a function that plans once more and returns the duration of the motion. CasADi and
IPOPT build their problem once and only solve it there; TOPP-RA keeps to the straight line between
start and goal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.bench.graphs import motion
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

INTERVALS = 100


def collocation(robot: Robot, start: Vector, goal: Vector, first: float) -> Callable[[], float]:
    """Return Hermite-Simpson collocation with piecewise constant efforts as a function.

    It starts from the straight line with constant speed and the duration `first`, s. Betts (2010),
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
    straight = start[:, None] + (goal - start)[:, None] * share
    speed = np.tile(((goal - start) / first)[:, None], (1, cells + 1))
    guess = np.vstack([straight, speed])

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
    bounds = np.column_stack([-robot.v_max, robot.v_max])
    grid = np.linspace(0.0, 1.0, INTERVALS + 1)

    def solve() -> float:
        efforts = toppra.constraint.JointTorqueConstraint(
            inverse_dynamics,
            limits,
            np.zeros(robot.n),
            discretization_scheme=toppra.constraint.DiscretizationType.Interpolation,
        )
        speeds = toppra.constraint.JointVelocityConstraint(bounds)
        instance = toppra.algorithm.TOPPRA([efforts, speeds], path, gridpoints=grid)
        return float(instance.compute_trajectory(0.0, 0.0).duration)

    return solve

"""`manip_dyn bench planning`: computing times of planners and durations of their motions.

The motions are those of Fan (2003), tables 5.3, 5.4, 6.2 and 6.3, and one with seven joints under
gravity. There are rows for zero net work, minimum time, the grid search of the thesis, and each
installed peer. Rows contain the time per plan (ms) and the duration of the motion. Takes about
50 s.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import manip_dyn as md
from manip_dyn.bench.collocation import Collocation, guesses
from manip_dyn.bench.peers import installed
from manip_dyn.bench.timing import SLICE, documented, repetitions, seconds
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.zero_net_work.grid_search import grid_search
from manip_dyn.robot import Robot, load_robot

RUNS = 9
MOST_JOINTS = 2
"""Maximum number of joints for minimum-time plans and collocation."""
PACKAGES = ("manip_dyn", "numba", "scipy", "casadi", "toppra")
TRIALS = 5000
"""Maximum number of trials of the grid search."""


class Problem(NamedTuple):
    """A motion from rest to rest.

    Attributes:
        name: Name of the problem.
        robot: The arm.
        start: Initial positions (n,), rad or m.
        goal: Final positions (n,), rad or m.
        grid: First step and tolerance of the work, J, of the thesis's grid search. None if the
            thesis does not contain the motion.
    """

    name: str
    robot: Robot
    start: tuple[float, ...]
    goal: tuple[float, ...]
    grid: tuple[float, float] | None = None


class Row(NamedTuple):
    """Result of a candidate for a problem: planning time (ms), duration (s), and a note.

    `call` is the documented call of a candidate of this package.
    """

    problem: str
    candidate: str
    milliseconds: float
    duration: float | None
    note: str
    call: str = ""


Candidate = Callable[[Problem], Row | None]


def table(rows: Sequence[Row]) -> str:
    """Return one table per problem. Numbers in brackets are ratios to the first row's time."""
    lines = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        lines += ["", problem, f"{'':<28}{'plan, ms':>24}{'motion, s':>12}"]
        for row in mine:
            ratio = row.milliseconds / mine[0].milliseconds
            duration = "-" if row.duration is None else f"{row.duration:.5f}"
            cell = f"{row.milliseconds:.3f} ({ratio:.4g})"
            lines.append(f"{row.candidate:<28}{cell:>24}{duration:>12}  {row.note}")
    return "\n".join(lines)


def problems() -> list[Problem]:
    """Return the motions of the benchmark."""
    ibm, cylindrical, pa10 = map(load_robot, ("ibm7535", "cylindrical", "pa10"))
    wide = (0.4, 0.6, -0.3, 1.1, 0.3, 0.5, -0.4), (-0.4, 0.3, 0.3, 1.6, -0.3, -0.2, 0.5)
    return [
        Problem("cylindrical, table 5.3", cylindrical, (np.pi / 4, 0.0), (0.0, 0.0), (1e-3, 3e-4)),
        Problem("cylindrical, table 5.4", cylindrical, (0.2, 0.3), (0.0, 0.0), (1e-3, 3e-4)),
        Problem("ibm7535, table 6.2", ibm, (0.975, 0.0), (0.0, 0.0), (1e-2, 1e-4)),
        Problem("ibm7535, table 6.3", ibm, (0.76, 0.2618), (0.0, 0.0), (1e-2, 1e-4)),
        Problem("pa10, seven joints", pa10, *wide),
    ]


def zero_net_work(problem: Problem) -> Row:
    """Time `plan_zero_net_work`."""
    return _documented_row(problem, "zero net work", "md.plan_zero_net_work(robot, start, goal)")


def minimum_time(problem: Problem) -> Row | None:
    """Time `plan_minimum_time`; return None for arms with more than `MOST_JOINTS` joints."""
    if problem.robot.n > MOST_JOINTS:
        return None
    return _documented_row(problem, "minimum time", "md.plan_minimum_time(robot, start, goal)")


def _documented_row(problem: Problem, candidate: str, call: str) -> Row:
    names = {"robot": problem.robot, "start": problem.start, "goal": problem.goal}
    plan = documented(call, {"md": md, **names})
    result: Any = plan()
    return Row(problem.name, candidate, _milliseconds(plan), result.t_final, result.status, call)


def casadi_collocation(problem: Problem) -> Row | None:
    """Time collocation with CasADi and IPOPT; efforts are constant in each of 100 intervals.

    The result is None without CasADi, and for arms with more than `MOST_JOINTS` joints.
    """
    if problem.robot.n > MOST_JOINTS or not installed("casadi"):
        return None
    plan = collocation(problem.robot, np.array(problem.start), np.array(problem.goal))
    return Row(problem.name, "CasADi + IPOPT collocation", _milliseconds(plan), plan(), "")


def toppra_straight_path(problem: Problem) -> Row | None:
    """Time TOPP-RA for the straight joint path; return None if it is not installed."""
    if not installed("toppra"):
        return None
    plan = straight_path(problem.robot, np.array(problem.start), np.array(problem.goal))
    return Row(problem.name, "TOPP-RA, straight path", _milliseconds(plan), plan(), "")


def _milliseconds(plan: Callable[[], object]) -> float:
    """Return the median CPU time of a plan, ms."""
    count = repetitions(plan, SLICE, time.process_time)
    taken = [seconds(plan, count, time.process_time) / count for _ in range(RUNS)]
    return 1e3 * statistics.median(taken)


def thesis_grid_search(problem: Problem) -> Row | None:
    """Time a single grid search of the thesis with at most `TRIALS` trials.

    The result is None if the problem has no settings of the search.
    """
    if problem.grid is None:
        return None
    step, enough = problem.grid
    arguments = (problem.robot, problem.start, problem.goal, step, 1e-4, enough, 2.0)
    grid_search(*arguments, most=1)
    began = time.process_time()
    result = grid_search(*arguments, most=TRIALS)
    milliseconds = 1e3 * (time.process_time() - began)
    if result.success:
        duration, note = float(result.t_arrival.max()), f"{result.trials} trials"
    else:
        duration, note = None, f"no solution in {result.trials} trials"
    return Row(problem.name, "grid search of the thesis", milliseconds, duration, note)


CANDIDATES: tuple[Candidate, ...] = (
    zero_net_work,
    thesis_grid_search,
    minimum_time,
    casadi_collocation,
    toppra_straight_path,
)


def measure(
    chosen: Sequence[Problem] | None = None, candidates: Sequence[Candidate] = CANDIDATES
) -> list[Row]:
    """Time every candidate on every problem that it supports."""
    return [
        row
        for problem in (problems() if chosen is None else chosen)
        for candidate in candidates
        if (row := candidate(problem)) is not None
    ]


# ------------------------------------------------------------------------------------- peers
INTERVALS = 100


def collocation(robot: Robot, start: Vector, goal: Vector) -> Callable[[], float]:
    """Return a function that plans by collocation on `INTERVALS` cells and returns the duration.

    The problem is built once, and each call only solves it. The initial guess is the straight
    path.
    """
    problem, guess = Collocation(robot, INTERVALS), next(guesses(robot, start, goal))
    return lambda: problem.solve(start, goal, guess).duration


def straight_path(robot: Robot, start: Vector, goal: Vector) -> Callable[[], float]:
    """Return a function that computes the shortest duration of the straight path with TOPP-RA.

    See Pham, Pham (2018), A new approach to time-optimal path parameterization.
    """
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

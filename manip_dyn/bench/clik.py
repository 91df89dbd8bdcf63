"""`manip_dyn bench clik`: one velocity solve beside pinocchio + numpy, pink and mink.

For each robot a row for us, with the peers' constant damping and with the filtered inverse of
our default, and for each peer that is installed: microseconds of one velocity from Python, and
ratios to ours. About 5 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.clik_peers import Problem, installed_peers, pinocchio_and_numpy
from manip_dyn.bench.robots import usual_robots
from manip_dyn.bench.timing import Candidate, Timing, compare, timing_lines
from manip_dyn.clik import ClikSettings, Pose, VelocitySolver, middle_posture
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

PACKAGES = ("manip_dyn", "numba", "numpy", "pin", "pin-pink", "mink", "daqp")
GAIN, DAMPING = 2.0, 1e-3


class Row(NamedTuple):
    """One robot, what is left out of its peers, and the timings of all candidates."""

    robot: str
    missing: list[str]
    timings: list[Timing]


def table(rows: Sequence[Row]) -> str:
    """Return a table per robot."""
    lines = [
        "One CLIK velocity from Python: kinematics, error, damped least squares. Medians over "
        "rounds of all candidates in turn, and ratios to the first within each round.",
    ]
    for robot, missing, timings in rows:
        lines.append(f"\n{robot}")
        lines += timing_lines(timings)
        lines += [f"  {each}" for each in missing]
    return "\n".join(lines)


def measure(robots: Sequence[Robot] | None = None) -> list[Row]:
    """Time one velocity solve of each robot, with the same task for all candidates.

    The tool is 1e-2 rad per joint from its goal; feedback and damping are the same. Ours enforces
    joint limits and speeds in every variant; pink and mink are timed with theirs and without.
    """
    return [_row(robot) for robot in (robots or usual_robots())]


def _row(robot: Robot) -> Row:
    problem = problem_of(robot)
    peers, missing = installed_peers(problem)
    by_hand = Candidate("pinocchio + numpy, by hand", pinocchio_and_numpy(problem))
    return Row(robot.name, missing, compare([*_ours(problem), by_hand, *peers]))


def problem_of(robot: Robot) -> Problem:
    """Return the task that is timed."""
    q = np.clip(middle_posture(robot) + 0.2, robot.q_min, robot.q_max)
    goal = customize(robot).forward_kinematics(np.clip(q + 1e-2, robot.q_min, robot.q_max))
    pose = Pose(goal[:3, 3].copy(), goal[:3, :3].copy())
    return Problem(robot, q, pose, np.zeros(6), GAIN, DAMPING)


def our_solve(problem: Problem, settings: ClikSettings) -> tuple[Any, Vector]:
    """Return our solve as a call, and the array that it writes the velocities into."""
    solver = VelocitySolver(problem.robot, settings)
    desired = np.concatenate([problem.pose.position, problem.pose.rotation.ravel(), problem.twist])
    q, v = problem.q.copy(), np.empty(problem.robot.n)
    solve, memory = solver.in_place, solver.memory
    return lambda: solve(q, desired, memory, v), v


def _ours(problem: Problem) -> list[Candidate]:
    same = ClikSettings(
        gain=problem.gain, inverse="constant", max_damping=problem.damping, orientation_error="log"
    )
    usual = ClikSettings(gain=problem.gain)
    return [
        Candidate("manip_dyn", our_solve(problem, same)[0]),
        Candidate("manip_dyn, filtered inverse", our_solve(problem, usual)[0]),
    ]

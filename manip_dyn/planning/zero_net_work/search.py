"""The search for a zero-net-work motion, and its proof by replaying it; compiled once for all.

Initial guesses of the times are tried with Newton's method of `shooting`. What it finds is
integrated anew from the start to the end, joints locked by nothing but their accelerations, and
refused if it does not end at rest at the goal, if the efforts that lock joints do not give what
was supposed, or if efforts, speeds or positions pass their limits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.locked_joints import TOLERANCES, kernels_of, locked_joint_engine
from manip_dyn.planning.zero_net_work.initial_guesses import (
    MOST_SIGNS,
    initial_times,
    natural_signs,
    other_signs,
)
from manip_dyn.planning.zero_net_work.replay import (
    EFFORT,
    NOT_REPRODUCED,
    NOTHING_FOUND,
    POSITION,
    PROVED,
    SPEED,
    Bounds,
    Nodes,
    nodes_of,
    replay,
)
from manip_dyn.planning.zero_net_work.shooting import Problem, Work, newton, work_of
from manip_dyn.robot import Robot

NEWTON_STEPS, TOLERANCE = 15, 1e-11
"""Most steps of Newton's method, and the residual at which it has arrived."""


@compiled(short=True)
def search(kernels, guesses, signs, x, problem, bounds, work, nodes):
    """Try the times `guesses` (k, 2 m) for each row of `signs` (l, n) of full efforts.

    Returns:
        What is wrong as `replay` says, or `NOTHING_FOUND` by Newton's method; the joint and what
        it would need. The times are in `x` (2 m,).
    """
    drive = problem.drive
    verdict, joint, need = NOTHING_FOUND, 0, 0.0
    for row in range(signs.shape[0]):
        for i in range(drive.shape[0]):
            drive[i] = signs[row, i] * bounds.effort[i]
        for k in range(guesses.shape[0]):
            for i in range(x.shape[0]):
                x[i] = guesses[k, i]
            if newton(kernels, x, problem, TOLERANCE, NEWTON_STEPS, work) < 0:
                continue
            wrong, place, lack = replay(kernels, x, problem, bounds, work, nodes)
            if wrong == PROVED:
                return wrong, place, lack
            if verdict in (NOTHING_FOUND, NOT_REPRODUCED):
                verdict, joint, need = wrong, place, lack
            if wrong != NOT_REPRODUCED:
                break
    return verdict, joint, need


class Task(NamedTuple):
    """A motion to find: start and goal (n,), equal for joints that rest; those that move (m,)."""

    start: Vector
    goal: Vector
    moving: NDArray[np.int64]


class Found(NamedTuple):
    """What a search found.

    Attributes:
        verdict: `PROVED`, or what is wrong with the nearest thing to it.
        joint: The joint that is wrong.
        need: What it needs: effort or speed over its limit, or a position.
        x: Switch and arrival of each moving joint, s (2 m,).
        nodes: The motion.
    """

    verdict: int
    joint: int
    need: float
    x: Vector
    nodes: Nodes


class Search:
    """The search for one robot."""

    def __init__(self, robot: Robot):
        """Take the robot; the search is compiled for all robots, or loaded from the cache."""
        self._robot, self._kernels = robot, kernels_of(robot)
        self._space = locked_joint_engine(robot.n).space(**TOLERANCES)
        bounds = Bounds(robot.q_min, robot.q_max, robot.v_max, robot.tau_max)
        self._bounds, self._works = by_reference(bounds), dict[int, Work]()

    def run(self, task: Task, signs: Matrix, guesses: Matrix) -> Found:
        """Search from initial guesses, for each row of signs in turn, until a motion is proved.

        Args:
            task: What to do.
            signs: Rows of signs of the efforts until the switch (l, n), which are full.
            guesses: Rows of switches and arrivals, s (k, 2 m).
        """
        n, m = self._robot.n, len(task.moving)
        start, drive = np.concatenate([task.start, np.zeros(n)]), np.zeros(n)
        order, x = np.zeros(2 * m, dtype=np.int64), np.zeros(2 * m)
        problem, nodes = Problem(start, task.goal, task.moving, drive, order), nodes_of(n, m)
        if m not in self._works:
            self._works[m] = by_reference(work_of(n, m, self._space))
        verdict, joint, need = search(
            self._kernels,
            guesses,
            signs,
            x,
            by_reference(problem),
            self._bounds,
            self._works[m],
            by_reference(nodes),
        )
        return Found(verdict, joint, need, x, nodes)


@lru_cache(maxsize=64)
def _search_of(robot: Robot) -> Search:
    """Return the search of `robot`; there is one."""
    return Search(robot)


def find(robot: Robot, task: Task) -> Found:
    """Return the motion with full efforts, or what is wrong with the nearest thing to it."""
    searching, natural = _search_of(robot), natural_signs(task.start, task.goal)
    guesses = initial_times(robot, *task)
    found = searching.run(task, natural[None], guesses)
    if found.verdict != PROVED and len(task.moving) <= MOST_SIGNS:
        others = searching.run(task, other_signs(natural, task.moving), guesses[:2])
        if others.verdict == PROVED:
            return others
    return found


def why_not(robot: Robot, found: Found) -> str:
    """Return what a search found instead of a motion, one clause."""
    name, unit = robot.joint_names[found.joint], robot.unit(found.joint)
    if found.verdict == EFFORT:
        limit = robot.tau_max[found.joint]
        need, most = distinct_digits(found.need * limit, limit, digits=4)
        return f"joint '{name}' needs the effort {need} to be held; its limit is {most}"
    if found.verdict == SPEED:
        limit = robot.v_max[found.joint]
        need, most = distinct_digits(found.need * limit, limit, digits=4)
        return f"joint '{name}' would reach {need} {unit}/s; its limit is {most}"
    if found.verdict == POSITION:
        limits = robot.q_min[found.joint], robot.q_max[found.joint]
        need, low, high = distinct_digits(found.need, *limits, digits=4)
        return f"joint '{name}' would pass {need} {unit}; its limits are {low} and {high}"
    return "none was found from any initial guess"

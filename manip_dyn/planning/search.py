"""The search for a zero-net-work motion, and its proof by replaying it; compiled once for all.

First times are tried with Newton's method of `shooting`. What it finds is integrated anew from the
start to the end, joints held by nothing but their accelerations, and refused if it does not end at
rest at the goal, if the efforts that hold joints do not give what was supposed, or if efforts,
speeds or positions pass their limits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.by_reference import by_reference
from manip_dyn.core.compiled import compiled
from manip_dyn.integrate import Engine
from manip_dyn.integrate.loop.space import Space
from manip_dyn.planning.held_motion import TOLERANCES, held_motion_engine, kernels_of
from manip_dyn.planning.replay import (
    NOT_REPRODUCED,
    NOTHING_FOUND,
    PROVED,
    Bounds,
    Nodes,
    nodes_of,
    replay,
)
from manip_dyn.planning.shooting import Problem, Work, newton, work_of
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

NEWTON_STEPS, TOLERANCE = 15, 1e-11
"""Most steps of Newton's method, and the residual at which it has arrived."""


@compiled(short=True)
def search(kernels, starts, signs, x, problem, bounds, work, nodes):
    """Try the first times `starts` (k, 2 m) for each row of `signs` (l, n) of full efforts.

    Returns:
        What is wrong as `replay` says, or `NOTHING_FOUND` by Newton's method; the joint and what
        it would need. The times are in `x` (2 m,).
    """
    drive = problem.drive
    verdict, joint, need = NOTHING_FOUND, 0, 0.0
    for row in range(signs.shape[0]):
        for i in range(drive.shape[0]):
            drive[i] = signs[row, i] * bounds.effort[i]
        for k in range(starts.shape[0]):
            for i in range(x.shape[0]):
                x[i] = starts[k, i]
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
        drive: Efforts until the switch (n,).
        nodes: The motion.
    """

    verdict: int
    joint: int
    need: float
    x: Vector
    drive: Vector
    nodes: Nodes


class Search:
    """The search for one robot."""

    def __init__(self, robot: Robot):
        """Take the robot; the search is compiled for all robots, or loaded from the cache."""
        self.robot = robot
        self._kernels = kernels_of(robot)
        self.engine: Engine = held_motion_engine(robot.n)
        self.space: Space = self.engine.space(**TOLERANCES)
        bounds = Bounds(robot.q_min, robot.q_max, robot.v_max, robot.tau_max)
        self._bounds, self._works = by_reference(bounds), dict[int, Work]()

    def run(self, task: Task, signs: Vector, first: Vector) -> Found:
        """Search from first times, for each row of signs in turn, until a motion is proved.

        Args:
            task: What to do.
            signs: Rows of signs of the efforts until the switch (l, n), which are full.
            first: Rows of first switches and arrivals, s (k, 2 m).
        """
        n, m = self.robot.n, len(task.moving)
        start, drive = np.concatenate([task.start, np.zeros(n)]), np.zeros(n)
        order, x = np.zeros(2 * m, dtype=np.int64), np.zeros(2 * m)
        problem, nodes = Problem(start, task.goal, task.moving, drive, order), nodes_of(n, m)
        if m not in self._works:
            self._works[m] = by_reference(work_of(n, m, self.space))
        verdict, joint, need = search(
            self._kernels, first, signs, x, by_reference(problem), self._bounds, self._works[m],
            by_reference(nodes),
        )  # fmt: skip
        return Found(verdict, joint, need, x, drive, nodes)


@lru_cache(maxsize=64)
def search_of(robot: Robot) -> Search:
    """Return the search of `robot`; there is one."""
    return Search(robot)

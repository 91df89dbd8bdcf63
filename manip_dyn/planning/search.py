"""The search for a zero-net-work motion, and its proof by replaying it; compiled once for all.

First times are tried with Newton's method of `shooting`. What it finds is integrated anew from the
start to the end, joints held by nothing but their accelerations, and refused if it does not end at
rest at the goal, if the efforts that hold joints do not give what was supposed, or if efforts,
speeds or positions pass their limits.
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.generated import generated_module
from manip_dyn.integrate import Engine
from manip_dyn.integrate.space import Space
from manip_dyn.planning import linear_system
from manip_dyn.planning.held_motion import TOLERANCES, held_motion_engine, kernels_of
from manip_dyn.planning.shooting import OPTIONS
from manip_dyn.planning.shooting import TEXT as SHOOTING
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

NOTHING_FOUND, PROVED, NOT_REPRODUCED, EFFORT, SPEED, POSITION = range(-1, 5)
"""What a search says: Newton's method failed, a proved motion, or why the motion is refused."""

MISS = 1e-8
"""How far from the goal and from rest a replayed motion may end, rad, m and per s."""
NEWTON_STEPS = 15
NODES = 6
"""States that are kept of each piece of a motion."""

TEXT = (
    SHOOTING
    + linear_system.TEXT
    + '''

@njit(**OPTIONS)
def replay(kernels, x, start, problem, bounds, p, space, y, tau, rates, nodes):
    """Integrate the whole motion anew, without setting joints to their goals, and judge it.

    Every piece between two changes gets the same number of nodes; `nodes` are their times (k,),
    states (k, 2 n), drives (k, 2 n) and efforts (k, n), at both ends of each piece.

    Returns:
        What is wrong (0 nothing, 1 no motion or another end, 2 effort, 3 speed, 4 position),
        the joint, and what it would need.
    """
    n = start.shape[0] // 2
    moving, drive, goal, order = problem
    q_min, q_max, v_max, limit, miss = bounds
    times, states, drives, efforts = nodes
    pieces = order.shape[0]
    per = times.shape[0] // pieces
    sort(x, order)
    set_modes(moving, drive, order, int64(0), p)
    copy(start, y)
    t = 0.0
    space.tolerances[:] = FINE
    wrong, joint, need = 0, 0, 0.0
    for k in range(pieces):
        begin, end = t, x[order[k]]
        for i in range(per):
            until = begin + (end - begin) * i / (per - 1) if i + 1 < per else end
            if until > t:
                if moved(kernels, t, until, p, y, space) != 0:
                    return 1, 0, 0.0
                t = until
            row = k * per + i
            call(kernels.held_efforts, (y, p, tau))
            for j in range(n):
                if p[n + j] != 0.0:
                    tau[j] = p[j]
            times[row] = t
            copy(y, states[row])
            copy(p, drives[row])
            copy(tau, efforts[row])
            call(kernels.motion, (y, tau, rates))
            for j in range(n):
                size = abs(tau[j]) / limit[j]
                if size > 1.0 + 1e-9 and (wrong != 2 or size > need):
                    wrong, joint, need = 2, j, size
                if wrong == 2:
                    continue
                size = abs(y[n + j]) / v_max[j]
                if size > 1.0 + 1e-9 and (wrong != 3 or size > need):
                    wrong, joint, need = 3, j, size
                # where the joint turns round, between here and the next node
                far = y[j]
                if rates[n + j] * y[n + j] < 0.0:
                    ahead = -y[n + j] / rates[n + j]
                    if ahead < (end - begin) / (per - 1):
                        far += 0.5 * ahead * y[n + j]
                if wrong == 0 and (far < q_min[j] - miss or far > q_max[j] + miss):
                    wrong, joint, need = 4, j, far
                # the efforts must give what the held motion supposes
                if p[n + j] == 0.0 and abs(rates[n + j]) * max(end, 1.0) ** 2 > 1e-7:
                    return 1, j, 0.0
        change(moving[order[k] // 2], order[k] % 2, drive, p)
    for j in range(n):
        if not (abs(y[j] - goal[j]) <= miss and abs(y[n + j]) <= miss):
            return 1, j, abs(y[j] - goal[j])
    return wrong, joint, need


@njit(**OPTIONS)
def search(kernels, starts, signs, start, problem, bounds, most, p, space, scratch, nodes):
    """Try the first times `starts` (k, 2 m) for each row of `signs` (l, n) of the drives.

    Returns:
        What is wrong as `replay` says, or -1 where Newton's method found nothing; the joint and
        what it would need; the row of `signs`. The times are in row 0 of `starts`.
    """
    n = start.shape[0] // 2
    moving, drive, goal, order = problem
    y, trial, residual, nudged, step, records, jacobian, tau, rates, x, size = scratch
    copy(drive, size)
    best = (-1, 0, 0.0, 0)
    for row in range(signs.shape[0]):
        for i in range(n):
            drive[i] = signs[row, i] * size[i]
        for k in range(starts.shape[0]):
            copy(starts[k], x)
            work = (y, trial, residual, nudged, step, records, jacobian)
            if newton(kernels, x, start, problem, 1e-11, most, p, space, work) < 0:
                continue
            found = replay(
                kernels, x, start, problem, bounds, p, space, y, tau, rates, nodes
            )
            if found[0] == 0:
                copy(x, starts[0])
                return found[0], found[1], found[2], row
            if best[0] < 0 or best[0] == 1:
                best = (found[0], found[1], found[2], row)
            if found[0] != 1:
                break
    copy(size, drive)
    return best
'''
)


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
        times: Times of the nodes, s (k,).
        states: Positions and velocities at the nodes (k, 2 n).
        drives: From each node on: efforts, and 1 for a driven joint, 0 for a held one (k, 2 n).
        efforts: Efforts of all joints at the nodes (k, n).
    """

    verdict: int
    joint: int
    need: float
    x: Vector
    drive: Vector
    times: Vector
    states: Vector
    drives: Vector
    efforts: Vector


class Search:
    """The search for one robot."""

    def __init__(self, robot: Robot):
        """Take the robot; the search is compiled for all robots, or loaded from the cache."""
        self.robot = robot
        self._kernels = kernels_of(robot)
        self.engine: Engine = held_motion_engine(robot.n)
        self.space: Space = self.engine.space(**TOLERANCES)
        self._bounds = (robot.q_min, robot.q_max, robot.v_max, robot.tau_max, MISS)
        self._module = _module()

    def run(self, task: Task, drive: Vector, signs: Vector, first: Vector) -> Found:
        """Search from first times, for each row of signs in turn, until a motion is proved.

        Args:
            task: What to do.
            drive: Efforts until the switch, without the signs (n,).
            signs: Rows of signs of the efforts (l, n).
            first: Rows of first switches and arrivals, s (k, 2 m); not changed.
        """
        start, goal, moving = task
        n, m = self.robot.n, len(moving)
        row = np.zeros((4, 2 * m))
        scratch = (
            np.zeros(2 * n), *row, np.zeros((3, 2 * m, 2 * n)), np.zeros((2 * m, 2 * m)),
            np.zeros(n), np.zeros(2 * n), np.zeros(2 * m), np.zeros(n),
        )  # fmt: skip
        k = 2 * m * NODES
        nodes = (np.zeros(k), np.zeros((k, 2 * n)), np.zeros((k, 2 * n)), np.zeros((k, n)))
        starts, drives = first.copy(), drive.copy()
        problem = (moving, drives, goal, np.zeros(2 * m, dtype=np.int64))
        verdict, joint, need, _ = self._module.search(
            self._kernels, starts, signs, np.concatenate([start, np.zeros(n)]), problem,
            self._bounds, NEWTON_STEPS, np.zeros(2 * n), self.space, scratch, nodes,
        )  # fmt: skip
        return Found(verdict, joint, need, starts[0], drives, *nodes)


@lru_cache(maxsize=64)
def search_of(robot: Robot) -> Search:
    """Return the search of `robot`; there is one."""
    return Search(robot)


@lru_cache(maxsize=1)
def _module() -> ModuleType:
    text = TEXT.format(options=OPTIONS)
    return generated_module("shooting", text.encode(), lambda: text)

"""Zero-net-work motions in the thesis's sense: full efforts, one switch, early joints held.

Fan (2003), sections 3.2, 5.3 and 6.3, for n joints.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.integrate.loop.engine import Engine, Space
from manip_dyn.planning.held_motion import kernels_of
from manip_dyn.planning.replay import EFFORT, POSITION, PROVED, SPEED
from manip_dyn.planning.search import Found, Search, Task, search_of
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

MOST_SIGNS = 3
"""Up to so many moving joints, all signs of the efforts are tried, not only the natural ones."""


class HeldMotion:
    """The motion that a search found, integrated from the nearest node where it is asked for."""

    def __init__(self, robot: Robot, found: Found, engine: Engine, space: Space):
        """Keep the nodes of a proved motion of `robot`."""
        self.found = found
        self._n = robot.n
        self._engine, self._space = engine, space
        self._kernels = kernels_of(robot)
        self._efforts = customize(robot).in_place.held_efforts

    @property
    def knots(self) -> Vector:
        """Times from 0 to the arrival, s, between which the efforts are smooth."""
        return self.found.nodes.times

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""
        y, _ = self._at(t)
        return y[: self._n].copy(), y[self._n :].copy()

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on."""
        y, drive = self._at(t)
        effort = np.empty(self._n)
        self._efforts(y, drive, effort)
        return np.where(drive[self._n :] != 0.0, drive[: self._n], effort)

    def _at(self, t: float) -> tuple[Vector, Vector]:
        """Return the state (2 n,) and what drives from then on (2 n,)."""
        nodes = self.found.nodes
        node = int(np.searchsorted(nodes.times, t, side="right")) - 1
        y, drive, begin = nodes.states[node].copy(), nodes.modes[node].copy(), nodes.times[node]
        if t > begin:
            self._engine.run(begin, t, (self._kernels, drive), y, self._space)
        return y, drive


def find(robot: Robot, task: Task) -> Found:
    """Return the motion with full efforts, or what is wrong with the nearest thing to it."""
    search, natural = search_of(robot), _natural_signs(task)
    first = first_times(robot, task)
    found = search.run(task, natural[None], first)
    if found.verdict != PROVED and len(task.moving) <= MOST_SIGNS:
        others = search.run(task, _other_signs(natural, task.moving), first[:2])
        if others.verdict == PROVED:
            return others
    return found


def first_times(robot: Robot, task: Task) -> Vector:
    """Return rows of switches and arrivals to begin with (k, 2 m), s.

    Each joint is taken for a double integrator that is driven and braked with what it has in the
    middle posture: once alone, once with the others free, and first of all mixed: the slowest
    joint alone, the others while that one drives. Then all that with times stretched.
    """
    start, goal, moving = task
    kernels, zero = customize(robot).unchecked, np.zeros(robot.n)
    middle, sign = 0.5 * (start + goal), np.sign(goal - start)
    mass, load = kernels.mass_matrix(middle), kernels.inverse_dynamics(middle, zero, zero)
    inverse = np.linalg.inv(mass[np.ix_(moving, moving)])
    distance, sign, load = np.abs(goal - start)[moving], sign[moving], load[moving]
    limit = robot.tau_max[moving]
    least = 0.05 * limit

    def times(inertia: Vector, coupled: Vector) -> Vector:
        up = np.maximum(limit - sign * (load - coupled), least)
        down = np.maximum(limit + sign * (load - coupled), least)
        switch = np.sqrt(2.0 * distance * inertia * down / (up * (up + down)))
        return np.array([switch, switch * (1.0 + up / down)]).T

    own = 1.0 / np.diag(inverse)
    pushed = own * (inverse @ (sign * limit)) - sign * limit
    alone, free = times(np.diag(mass)[moving], 0.0 * load), times(own, 0.0 * load)
    mixed = times(own, pushed)
    slowest = int(np.argmax(alone[:, 1]))
    mixed[slowest] = alone[slowest]
    rows = np.array([each.ravel() for each in (mixed, alone, free)])
    return (_stretches(len(moving))[:, None] * rows).reshape(-1, rows.shape[1])


@cache
def _stretches(m: int) -> Vector:
    """Return factors (k, 2 m) of the times of each of m joints."""
    rows: list[tuple[float, ...]] = [(1.0,) * m]
    if m <= MOST_SIGNS:
        rows += itertools.product((0.6, 1.6), repeat=m)
    return np.repeat(np.array(rows), 2, axis=1)


def why_not(robot: Robot, found: Found) -> str:
    """Return what a search found instead of a motion, one clause."""
    name, unit = robot.joint_names[found.joint], robot.unit(found.joint)
    if found.verdict == EFFORT:
        limit = robot.tau_max[found.joint]
        return (
            f"joint '{name}' needs the effort {found.need * limit:.4g} to be held; "
            f"its limit is {limit:.4g}"
        )
    if found.verdict == SPEED:
        limit = robot.v_max[found.joint]
        return (
            f"joint '{name}' would reach {found.need * limit:.4g} {unit}/s; "
            f"its limit is {limit:.4g}"
        )
    if found.verdict == POSITION:
        return (
            f"joint '{name}' would pass {found.need:.4g} {unit}; its limits are "
            f"{robot.q_min[found.joint]:.4g} and {robot.q_max[found.joint]:.4g}"
        )
    return "none was found from any of the first times"


def held_motion(search: Search, found: Found) -> HeldMotion:
    """Return a proved motion as a function of time."""
    return HeldMotion(search.robot, found, search.engine, search.space)


def _natural_signs(task: Task) -> Vector:
    return np.sign(task.goal - task.start)


def _other_signs(natural: Vector, moving: NDArray[np.int64]) -> Vector:
    rows = []
    for flips in itertools.product((1.0, -1.0), repeat=len(moving)):
        row = natural.copy()
        row[moving] *= flips
        rows.append(row)
    return np.array(rows[1:])

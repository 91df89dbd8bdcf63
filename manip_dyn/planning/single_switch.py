"""Zero-net-work motions in the thesis's sense: full efforts, one switch, early joints held.

Fan (2003), sections 3.2, 5.3 and 6.3, for n joints.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.integrate.engine import Engine, Space
from manip_dyn.planning.search import (
    EFFORT,
    NOTHING_FOUND,
    POSITION,
    PROVED,
    SPEED,
    Found,
    Search,
    search_of,
)
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

MOST_SIGNS = 3
"""Up to so many moving joints, all signs of the efforts are tried and not only the natural ones."""
REDUCTIONS = 12


class Task(NamedTuple):
    """A rest-to-rest motion to find: start and goal (n,), which joints move (m,)."""

    start: Vector
    goal: Vector
    moving: Vector


class HeldMotion:
    """The motion that a search found, integrated from the nearest node where it is asked for."""

    def __init__(self, robot: Robot, found: Found, engine: Engine, space: Space):
        """Keep the nodes of a proved motion of `robot`."""
        self.found = found
        self._n = robot.n
        self._engine, self._space = engine, space
        self._efforts = customize(robot).in_place.held_efforts

    @property
    def knots(self) -> Vector:
        """Times from 0 to the arrival, s, between which the efforts are smooth."""
        return self.found.times

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
        node = int(np.searchsorted(self.found.times, t, side="right")) - 1
        y, drive = self.found.states[node].copy(), self.found.drives[node].copy()
        if t > self.found.times[node]:
            self._engine.run(self.found.times[node], t, drive, y, self._space)
        return y, drive


def find(robot: Robot, task: Task) -> Found:
    """Return the motion with full efforts, or what is wrong with the nearest thing to it."""
    search, natural = search_of(robot), _natural_signs(task)
    first = first_times(robot, task)
    found = search.run(*task, robot.tau_max, natural[None], first)
    if found.verdict != PROVED and len(task.moving) <= MOST_SIGNS:
        others = search.run(*task, robot.tau_max, _other_signs(natural, task.moving), first[:2])
        if others.verdict == PROVED:
            return others
    return found


def reduce(robot: Robot, task: Task, found: Found) -> Found:
    """Return the motion with drives so much below full that it becomes feasible.

    Without gravity all efforts go with the drives, and the speeds with their root, on the same
    path; so what a held joint lacks tells how much less the drives must be.
    """
    search, none = search_of(robot), np.ones((1, robot.n))
    for _ in range(REDUCTIONS):
        if found.verdict not in (EFFORT, SPEED):
            break
        share = found.need ** (-1.0 if found.verdict == EFFORT else -2.0) * (1.0 - 1e-9)
        slower = (found.x / np.sqrt(share))[None]
        found = search.run(*task, share * found.drive, none, slower)
    return found


def first_times(robot: Robot, task: Task) -> Vector:
    """Return rows of switches and arrivals to begin with (k, 2 m), s.

    Each joint is taken for a double integrator with the inertia and the load of the middle
    posture: once alone, once with the others free. Then all that with times stretched.
    """
    start, goal, moving = task
    kernels, zero = customize(robot).unchecked, np.zeros(robot.n)
    middle = 0.5 * (start + goal)
    mass, load = kernels.mass_matrix(middle), kernels.inverse_dynamics(middle, zero, zero)
    distance = (goal - start)[moving]
    limit, against = robot.tau_max[moving], np.sign(distance) * load[moving]
    least = 0.05 * limit
    up, down = np.maximum(limit - against, least), np.maximum(limit + against, least)
    rows = []
    for inertia in (np.diag(mass)[moving], 1.0 / np.diag(np.linalg.inv(mass))[moving]):
        switch = np.sqrt(2.0 * np.abs(distance) * inertia * down / (up * (up + down)))
        rows.append(np.stack([switch, switch * (1.0 + up / down)], axis=1).ravel())
    m = len(moving)
    stretched: list[tuple[float, ...]] = [(1.0,) * m]
    if m <= MOST_SIGNS:
        stretched += itertools.product((0.6, 1.6), repeat=m)
    return np.array([row * np.repeat(each, 2) for each in stretched for row in rows])


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


def _other_signs(natural: Vector, moving: Vector) -> Vector:
    rows = [natural.copy() for _ in range(2 ** len(moving) - 1)]
    for row, flips in zip(rows, list(itertools.product((1, -1), repeat=len(moving)))[1:],
                          strict=True):  # fmt: skip
        row[moving] *= flips
    return np.array(rows)


__all__ = ["NOTHING_FOUND", "HeldMotion", "Task", "find", "first_times", "held_motion", "reduce",
           "why_not"]  # fmt: skip

"""Initial guesses of a motion with one switch per joint: signs of efforts, switches, arrivals."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot

Joints = NDArray[np.int64]
"""Indices of joints (m,)."""
MOST_SIGNS = 3
"""Up to so many moving joints, all signs of the efforts are tried, not only the natural ones."""


def natural_signs(start: Vector, goal: Vector) -> Vector:
    """Return the signs (n,) of efforts that push every joint towards its goal."""
    return np.sign(goal - start)


def other_signs(natural: Vector, moving: Joints) -> Matrix:
    """Return all other signs of the moving joints' efforts (l, n)."""
    rows = []
    for flips in itertools.product((1.0, -1.0), repeat=len(moving)):
        row = natural.copy()
        row[moving] *= flips
        rows.append(row)
    return np.array(rows[1:])


def initial_times(robot: Robot, start: Vector, goal: Vector, moving: Joints) -> Matrix:
    """Return rows of switches and arrivals (k, 2 m), s, of the m joints that move.

    Each joint is taken for a double integrator that is driven and braked with what it has in the
    middle posture: once alone, once with the others free, and first of all mixed: the slowest
    joint alone, the others while that one drives. Then all that with times stretched.
    """
    kernels, zero = customize(robot).unchecked, np.zeros(robot.n)
    middle, sign = 0.5 * (start + goal), np.sign(goal - start)
    mass, load = kernels.mass_matrix(middle), kernels.inverse_dynamics(middle, zero, zero)
    inverse = np.linalg.inv(mass[np.ix_(moving, moving)])
    distance, sign, load = np.abs(goal - start)[moving], sign[moving], load[moving]
    limit = robot.tau_max[moving]
    least, own = 0.05 * limit, 1.0 / inverse.diagonal()
    # First mixed, then alone, then free.
    inertia, coupled = np.array([own, mass.diagonal()[moving], own]), np.zeros((3, len(moving)))
    coupled[0] = own * (inverse @ (sign * limit)) - sign * limit
    pull = sign * (load - coupled)
    up, down = np.maximum(limit - pull, least), np.maximum(limit + pull, least)
    rows = np.empty((3, len(moving), 2))
    switch = rows[:, :, 0] = np.sqrt(2.0 * distance * inertia * down / (up * (up + down)))
    rows[:, :, 1] = switch * (1.0 + up / down)
    slowest = int(np.argmax(rows[1, :, 1]))
    rows[0, slowest] = rows[1, slowest]
    return (_stretches(len(moving))[:, None] * rows.reshape(3, -1)).reshape(-1, 2 * len(moving))


@cache
def _stretches(m: int) -> Matrix:
    """Return factors (k, 2 m) of the times of each of m joints."""
    rows: list[tuple[float, ...]] = [(1.0,) * m]
    if m <= MOST_SIGNS:
        rows += itertools.product((0.6, 1.6), repeat=m)
    return np.repeat(np.array(rows), 2, axis=1)

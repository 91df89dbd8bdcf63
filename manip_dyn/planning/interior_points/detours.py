"""Which way smooth motions swing out midway: guesses for the search on a grid of positions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

ONE = (0.5, 1.5)
"""How far one joint swings out, rad."""
TWO = (0.7, 1.5)
"""How far two swing out against each other, rad, the second one half as far again."""
SHORT = 2.0
"""Short motions swing out as many times their distance at most."""


def swings(robot: Robot, distance: float) -> Iterator[Vector]:
    """Yield how far the joints swing out (n,): not at all, each alone, neighbours both.

    A single joint has nothing to gain.
    """
    unit = _units(robot, distance)
    yield np.zeros(robot.n)
    if robot.n == 1:
        return
    for joint in range(robot.n):
        for length in ONE:
            yield from _both(length * unit[joint])
    for first, second in pairwise(range(robot.n)):
        for length in TWO:
            yield from _both(length * (unit[first] - 1.5 * unit[second]))


def random_swings(robot: Robot, distance: float) -> Iterator[Vector]:
    """Yield ever more of them, always the same."""
    rng, unit = np.random.default_rng(0), _units(robot, distance)
    while True:
        yield 1.5 * rng.normal(size=robot.n) @ unit


def _units(robot: Robot, distance: float) -> Vector:
    """Return a radian of each joint (n, n), or as much of the range of one that extends."""
    spans = [
        min((high - low) / np.pi, 1.0) if kind == "prismatic" else 1.0
        for kind, low, high in zip(robot.joint_types, robot.q_min, robot.q_max, strict=True)
    ]
    return np.diag(spans) * min(1.0, SHORT * distance)


def _both(swing: Vector) -> Iterator[Vector]:
    yield swing
    yield -swing

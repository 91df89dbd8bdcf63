"""Links that no description draws: a rod from each joint to the next, a hub at each joint."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot
from manip_dyn.viewer.scene import GROUND, Colour, Part

THICKNESS = 0.03
"""Radius of a rod, as a share of the arm's reach."""
HUB: Colour = (70, 76, 84)


def sticks(robot: Robot, reach: float) -> list[Part]:
    """Return rods between the origins of the bodies, and a hub for every joint."""
    radius = THICKNESS * reach
    parts = []
    for place, body in enumerate(robot.bodies):
        size = np.array([2.6, 2.6, 3.0]) * radius
        kind = "box" if body.prismatic else "cylinder"
        parts.append(Part(place, kind, np.zeros(3), np.eye(3), size, HUB))
        parts += rod(body.parent, np.zeros(3), body.translation, radius)
    tip = robot.tip_frame
    parts += rod(tip.body, np.zeros(3), tip.translation, radius)
    parts.append(_ball(tip.body, tip.translation, radius))
    return parts


def rod(body: int, begin: Vector, end: Vector, radius: float) -> Iterator[Part]:
    """Yield a rod with round ends between two points of a body (3,), m, unless they are one."""
    length = float(np.linalg.norm(end - begin))
    if length < 1e-6 or (body == GROUND and length < radius):
        return
    size = np.array([2.0 * radius, 2.0 * radius, length])
    yield Part(body, "cylinder", 0.5 * (begin + end), turned_to(end - begin), size)
    yield _ball(body, end, radius)


def turned_to(direction: Vector) -> Matrix:
    """Return a rotation (3, 3) whose third column is along `direction` (3,)."""
    axis = direction / np.linalg.norm(direction)
    first = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = first - (first @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _ball(body: int, place: Vector, radius: float) -> Part:
    return Part(body, "sphere", place, np.eye(3), np.full(3, 2.0 * radius))

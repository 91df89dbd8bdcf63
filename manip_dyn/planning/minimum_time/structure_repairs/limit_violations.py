"""Contact points and boundary arcs for extremals that violate position or speed limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import (
    Control,
    Kind,
    boundary_control,
    contact,
    full,
)
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

BEYOND = 1e-6
"""Smallest relevant violation, relative to the largest value of the motion."""
MARGIN = 0.02
"""Additional length of a guessed boundary arc of speed, relative to the duration."""


def within_limits(robot: Robot, along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with a contact point or boundary arc where a motion violates a limit."""
    n = robot.n
    for joint in range(n):
        q, v = along.states[:, joint], along.states[:, n + joint]
        for side in (1.0, -1.0):
            limit = robot.q_max[joint] if side > 0.0 else robot.q_min[joint]
            for first, last in _beyond(side * q, side * limit):
                middle = first + int(np.argmax(side * q[first : last + 1]))
                yield _with(switching, (float(along.times[middle]), joint, contact(side)))
            for first, last in _beyond(side * v, robot.v_max[joint]):
                begin, end = along.times[max(first - 1, 0)], along.times[last]
                yield from _at_speed(switching, joint, side, float(begin), float(end))


def _at_speed(
    switching: Switching, joint: int, side: float, begin: float, end: float
) -> Iterator[Switching]:
    """Yield the structure with a boundary arc at a switch or, without one, a contact point."""
    inside = [row for row in switching.rows() if row[1] == joint and begin <= row[0] <= end]
    if not inside:
        point = Control(Kind.CONTACT_SPEED, side)
        yield _with(switching, (0.5 * (begin + end), joint, point))
        return
    for margin in (0.0, MARGIN * switching.t_final):
        arc = (max(begin - margin, 0.0), joint, boundary_control(joint, joint, side, side))
        rows = [arc, (end + margin, joint, full(-side))]
        if inside[-1][2] != full(-side):
            rows.append((end + 2.0 * margin + 1e-3 * switching.t_final, joint, inside[-1][2]))
        remaining = [row for row in switching.rows() if row not in inside]
        yield assembled(switching.controls, remaining + rows, switching.t_final)


def _with(switching: Switching, row: tuple[float, int, Control]) -> Switching:
    return assembled(switching.controls, [*switching.rows(), row], switching.t_final)


def _beyond(values: Vector, limit: float) -> list[tuple[int, int]]:
    """Return the first and last sample of each interval beyond an upper limit."""
    exceeded = values > limit + BEYOND * max(float(np.abs(values).max()), 1e-30)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], exceeded.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]

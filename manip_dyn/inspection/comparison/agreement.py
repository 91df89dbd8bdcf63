"""How far two programs are from each other, over states within the limits."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.inspection.comparison.ours import Dynamics
from manip_dyn.inspection.comparison.reading import Peer
from manip_dyn.inspection.parts.finding import Agreement
from manip_dyn.robot import Oracle, Robot

STATES = 5
CLOSE = 1e-9
"""Relative difference that rounding explains; that of accelerations grows with the condition."""
UNLIMITED = 10.0
"""Positions beyond these count as no limit, rad or m."""


def postures(robot: Robot, count: int) -> Matrix:
    """Return postures (count, n) within the limits, from the first of always the same ones."""
    low = np.where(robot.q_min < -UNLIMITED, -np.pi, robot.q_min)
    high = np.where(robot.q_max > UNLIMITED, np.pi, robot.q_max)
    return np.random.default_rng(0).uniform(low, high, (count, robot.n))


def states_of(robot: Robot) -> Tensor:
    """Return positions, velocities and accelerations, (3, states, n)."""
    rates = np.random.default_rng(1).uniform(-1.0, 1.0, (2, STATES, robot.n))
    return np.concatenate([postures(robot, STATES)[None], rates])


def agreements_with(peer: Peer, ours: Dynamics, robot: Robot) -> list[Agreement]:
    """Return how far a program is from ours: M, gravity, ID, FD and the pose of the tip."""
    still = np.zeros(robot.n)
    states = list(zip(*states_of(robot), strict=True))
    efforts = [ours.inverse_dynamics(*state) for state in states]
    inverse = [peer.inverse_dynamics(*state) for state in states]
    weight = [
        (ours.inverse_dynamics(q, still, still), peer.inverse_dynamics(q, still, still))
        for q, _, _ in states
    ]
    largest = float(np.abs([efforts, inverse]).max())
    mass = [(ours.mass_matrix(q), peer.mass_matrix(q)) for q, _, _ in states]
    forward = [
        (ours.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau))
        for (q, v, _), tau in zip(states, efforts, strict=True)
    ]
    poses = [(ours.forward_kinematics(q), peer.pose(robot.tip, q)) for q, _, _ in states]
    loose = max(CLOSE, 10.0 * np.finfo(float).eps * max(np.linalg.cond(each) for each, _ in mass))
    efforts_of_both = list(zip(efforts, inverse, strict=True))
    return [
        Agreement(peer.name, "mass matrix", _apart(mass), CLOSE),
        Agreement(peer.name, "gravity", _apart(weight, largest), CLOSE),
        Agreement(peer.name, "inverse dynamics", _apart(efforts_of_both), CLOSE),
        Agreement(peer.name, "forward dynamics", _apart(forward), loose),
        Agreement(peer.name, "forward kinematics", _apart(poses), CLOSE),
    ]


def largest_condition(robot: Robot, count: int) -> tuple[float, Matrix]:
    """Return the largest condition number of M over postures, and M (n, n) there."""
    oracle = Oracle(robot)
    masses = [oracle.mass_matrix(q) for q in postures(robot, count)]
    conditions = [float(np.linalg.cond(mass)) for mass in masses]
    worst = int(np.argmax(conditions))
    return conditions[worst], masses[worst]


def _apart(pairs: list[tuple[Vector, Vector]], size: float = 0.0) -> float:
    """Return the largest difference of both, relative to the largest value, or to `size`."""
    first, second = (np.array(each) for each in zip(*pairs, strict=True))
    size = max(size, float(np.abs(first).max()), float(np.abs(second).max()))
    difference = float(np.abs(first - second).max())
    return difference / size if size > 0.0 else difference

"""Postures at which the tool has a pose: damped Newton steps from several starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import Pose, checked_pose, task_error
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

RANDOM_STARTS = 20
"""Postures at random that are tried after the guess and the middle posture."""
MORE_RANDOM_STARTS = 150
"""Postures at random from which `postures_at` looks for others."""
REACHED, DIFFERENT = 1e-10, 0.1
"""Error of a pose that is reached; by how much a joint of another posture differs, rad or m."""
ITERATIONS = 200
CANDIDATES, MIDDLE = 500, 0.6
"""How many postures `dexterous_posture` looks at, in which part of the joint ranges."""
HEIGHT = 0.3
"""How high the tool should be there, in terms of the largest distance."""


class _Attempt(NamedTuple):
    q: Vector
    error: Vector


def posture_at(
    robot: Robot,
    pose: Pose,
    guess: ArrayLike | None = None,
    tolerance: float = 1e-10,
    controlled: Sequence[bool] | None = None,
) -> Vector:
    """Return joint positions (n,) at which the tool has `pose`, near `guess` if that leads there.

    Newton steps with the logarithmic error, damped by the error (Levenberg 1944; Sugihara 2011),
    inside the joint limits; from `guess`, then from `middle_posture`, then from postures at
    random, always the same ones. Only the rows of the task that are `controlled` (6,) count, by
    default all.

    Raises:
        ManipDynError: If the pose is not reached; the message tells where and by how much the
            nearest attempt missed it.
    """
    goal, rows = checked_pose("pose", pose), controlled_rows(controlled)
    first = middle_posture(robot) if guess is None else finite_vector("guess", guess, robot.n)
    rng = np.random.default_rng(0)
    low, high = _range(robot)
    best = _descent(robot, goal, rows, first, tolerance)
    for k in range(RANDOM_STARTS + 1):
        if np.linalg.norm(best.error) < tolerance:
            return best.q
        start = rng.uniform(low, high) if k else middle_posture(robot)
        best = min(
            best,
            _descent(robot, goal, rows, start, tolerance),
            key=lambda each: float(np.linalg.norm(each.error)),
        )
    if np.linalg.norm(best.error) < tolerance:
        return best.q
    place, nearest = _formatted(goal.position), _formatted(goal.position - best.error[:3])
    raise ManipDynError(
        f"the pose at ({place}) m is not reached by '{robot.name}' from the given posture or "
        f"others; the nearest, at ({nearest}) m, was {np.linalg.norm(best.error[:3]):.3g} m and "
        f"{np.linalg.norm(best.error[3:]):.3g} rad away. Expected a pose within reach and limits"
    )


def postures_at(
    robot: Robot, pose: Pose, controlled: Sequence[bool] | None = None
) -> Iterator[Vector]:
    """Yield different postures (n,) at which the tool has `pose`, always the same ones.

    They are found from `middle_posture` and from `MANY` postures at random.
    """
    goal, rows = checked_pose("pose", pose), controlled_rows(controlled)
    rng = np.random.default_rng(0)
    low, high = _range(robot)
    found: list[Vector] = []
    for k in range(MORE_RANDOM_STARTS + 1):
        start = rng.uniform(low, high) if k else middle_posture(robot)
        attempt = _descent(robot, goal, rows, start, REACHED)
        if np.linalg.norm(attempt.error) >= REACHED:
            continue
        q = unwound(robot, attempt.q)
        if all(np.abs(q - other).max() > DIFFERENT for other in found):
            found.append(q)
            yield q


def unwound(robot: Robot, q: Vector) -> Vector:
    """Return the same posture (n,) with each revolute joint turned to the middle of its range."""
    turns = np.zeros(robot.n)
    for i in np.flatnonzero(np.isfinite(robot.q_max - robot.q_min)):
        if not robot.bodies[i].prismatic:
            middle = 0.5 * (robot.q_min[i] + robot.q_max[i])
            turns[i] = np.round((middle - q[i]) / (2.0 * np.pi))
    return np.clip(q + 2.0 * np.pi * turns, robot.q_min, robot.q_max)


def controlled_rows(controlled: Sequence[bool] | None) -> Vector:
    """Return a number for each row of the task (6,): 1 if it counts, else 0; default: all do."""
    return np.ones(6) if controlled is None else np.array(controlled, dtype=bool).astype(float)


def middle_posture(robot: Robot) -> Vector:
    """Return a posture away from limits and from the stretched arm, (n,)."""
    low, high = _range(robot)
    return np.clip(0.5 * (low + high) + 0.3, robot.q_min, robot.q_max)


def dexterous_posture(robot: Robot) -> Vector:
    """Return a posture (n,) in the middle of the joint ranges that is far from singular.

    That with the largest smallest singular value of the Jacobian (Klein, Blaho 1987) among many
    at random, always the same ones, that hold the tool above the base if there are any.
    """
    low, high = _range(robot)
    rng = np.random.default_rng(0)
    middle, reach = 0.5 * (low + high), MIDDLE * 0.5 * (high - low)
    postures = rng.uniform(middle - reach, middle + reach, (CANDIDATES, robot.n))
    kernels = customize(robot).unchecked
    tools = np.array([kernels.forward_kinematics(q)[:3, 3] for q in postures])
    smallest = [np.linalg.svd(kernels.jacobian(q), compute_uv=False)[-1] for q in postures]
    above = -tools @ robot.gravity >= HEIGHT * np.linalg.norm(robot.gravity) * np.abs(tools).max()
    return postures[int(np.argmax(smallest + np.max(smallest) * above))]


def tool_pose(robot: Robot, q: ArrayLike) -> Pose:
    """Return the pose of the tool at joint positions (n,), rad or m."""
    matrix = customize(robot).forward_kinematics(q)
    return Pose(matrix[:3, 3], matrix[:3, :3])


def _range(robot: Robot) -> tuple[Vector, Vector]:
    return np.clip(-np.pi, robot.q_min, robot.q_max), np.clip(np.pi, robot.q_min, robot.q_max)


def _descent(robot: Robot, goal: Pose, rows: Vector, start: Vector, tolerance: float) -> _Attempt:
    """Return the best posture found in a descent from one start."""
    kernels = customize(robot).unchecked
    q = np.clip(start, robot.q_min, robot.q_max)
    best = _Attempt(q, rows * _error(kernels, goal, q))
    error = best.error
    for _ in range(ITERATIONS):
        size = float(np.linalg.norm(error))
        if size < tolerance:
            break
        jacobian = rows[:, None] * kernels.jacobian(q)
        square = jacobian @ jacobian.T + 1e-2 * min(size, 1.0) * np.eye(6)
        change = jacobian.T @ np.linalg.solve(square, error)
        change *= min(1.0, 0.5 / max(float(np.abs(change).max()), 1e-300))
        moved = np.clip(q + change, robot.q_min, robot.q_max)
        if np.abs(moved - q).max() < 1e-15:
            break
        q = moved
        error = rows * _error(kernels, goal, q)
        if np.linalg.norm(error) < np.linalg.norm(best.error):
            best = _Attempt(q, error)
    return best


def _error(kernels, goal: Pose, q: Vector) -> Vector:
    matrix = kernels.forward_kinematics(q)
    return task_error(goal, Pose(matrix[:3, 3], matrix[:3, :3]), "log")


def _formatted(position: Vector) -> str:
    return ", ".join(f"{x:.4g}" for x in position)

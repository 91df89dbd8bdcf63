"""Inverse kinematics of single poses by damped Newton steps, and non-singular postures."""

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
"""Number of random initial guesses after the user's guess and the middle posture."""
MORE_RANDOM_STARTS = 150
"""Number of random initial guesses of `postures_at`."""
REACHED, DIFFERENT = 1e-10, 0.1
"""Bound for the norm of a solution's error (6,); bound for a joint's difference between solutions.
"""
ITERATIONS = 200
CANDIDATES, MIDDLE = 500, 0.6
"""Number of candidates of `dexterous_posture`, and the central fraction of the joint ranges."""
HEIGHT = 0.3
"""Smallest preferred height of the tool above the base, as a fraction of its reach."""


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
    """Return joint positions (n,), rad or m, within the limits at which the tool has `pose`.

    The search uses Newton steps with the logarithmic error, with damping in proportion to the
    error (Levenberg 1944; Sugihara 2011). It starts from `guess`, then from `middle_posture`, then
    from random postures with a fixed seed. It ends if the norm of the error (6,) is below
    `tolerance`. Only the task rows with the flags `controlled` (6,) count. Default: all rows.

    Raises:
        ManipDynError: If no solution is found. The message contains the nearest position and its
            error. Also if an argument is invalid.
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
            key=lambda attempt: float(np.linalg.norm(attempt.error)),
        )
    if np.linalg.norm(best.error) < tolerance:
        return best.q
    position, nearest = _formatted(goal.position), _formatted(goal.position - best.error[:3])
    raise ManipDynError(
        f"pose must be within reach and limits of '{robot.name}', got ({position}) m. The "
        f"nearest, at ({nearest}) m, is {np.linalg.norm(best.error[:3]):.3g} m and "
        f"{np.linalg.norm(best.error[3:]):.3g} rad away."
    )


def postures_at(
    robot: Robot, pose: Pose, controlled: Sequence[bool] | None = None
) -> Iterator[Vector]:
    """Yield postures (n,) at which the tool has `pose`.

    Two postures differ by more than `DIFFERENT` in at least one joint. The searches start from
    `middle_posture` and from random postures with a fixed seed.
    """
    goal, rows = checked_pose("pose", pose), controlled_rows(controlled)
    rng = np.random.default_rng(0)
    low, high = _range(robot)
    solutions: list[Vector] = []
    for k in range(MORE_RANDOM_STARTS + 1):
        start = rng.uniform(low, high) if k else middle_posture(robot)
        attempt = _descent(robot, goal, rows, start, REACHED)
        if np.linalg.norm(attempt.error) >= REACHED:
            continue
        q = unwound(robot, attempt.q)
        if all(np.abs(q - solution).max() > DIFFERENT for solution in solutions):
            solutions.append(q)
            yield q


def unwound(robot: Robot, q: Vector) -> Vector:
    """Return `q` (n,) with limited revolute joints shifted by full turns towards mid-range."""
    turns = np.zeros(robot.n)
    for i in np.flatnonzero(np.isfinite(robot.q_max - robot.q_min)):
        if robot.joint_types[i] != "prismatic":
            middle = 0.5 * (robot.q_min[i] + robot.q_max[i])
            turns[i] = np.round((middle - q[i]) / (2.0 * np.pi))
    return np.clip(q + 2.0 * np.pi * turns, robot.q_min, robot.q_max)


def controlled_rows(controlled: Sequence[bool] | None) -> Vector:
    """Return a mask (6,): 1 for controlled task rows, 0 for the others. None controls all rows."""
    return np.ones(6) if controlled is None else np.array(controlled, dtype=bool).astype(float)


def middle_posture(robot: Robot) -> Vector:
    """Return mid-range positions plus 0.3 rad or m (n,), so that arms are not stretched.

    Ranges are restricted to [-pi, pi], and the result to the joint limits.
    """
    low, high = _range(robot)
    return np.clip(0.5 * (low + high) + 0.3, robot.q_min, robot.q_max)


def dexterous_posture(robot: Robot) -> Vector:
    """Return a posture (n,) in the central part of the joint ranges, far from singularities.

    It maximizes the smallest singular value of the Jacobian (Klein, Blaho 1987) over random
    postures with a fixed seed. Postures with the tool well above the base are preferred.
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
    """Return the posture with the smallest error of a descent from `start`, and that error."""
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

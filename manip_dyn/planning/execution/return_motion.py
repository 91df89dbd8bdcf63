"""Polynomial motions from a moving state to a goal, or to rest as soon as possible.

They use only a fraction of the effort limits. The rest is reserved for the feedback, because of
disturbances and model errors.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.effort_model import EffortModel
from manip_dyn.planning.execution.sampled_motion import SampledMotion, cells
from manip_dyn.robot import Robot

EFFORT_FRACTIONS = (0.8, 0.9, 0.98)
"""Fractions of the effort limits that motions may use, in order of trial."""
SHORTEST, LONGEST, RATIO = 0.01, 60.0, 1.5
"""Range of tried durations (s), and ratio of consecutive durations."""
HALVINGS = 4
"""Number of bisections for the shortest feasible duration."""


def return_motion(
    robot: Robot,
    model: EffortModel,
    q: Vector,
    v: Vector,
    goal: Vector,
    spacing: float,
    shortest: float = SHORTEST,
) -> SampledMotion | None:
    """Return the fastest quintic polynomial from (q, v) to rest at `goal`, or None.

    The polynomial lasts at least `shortest` seconds and is sampled every `spacing` seconds. Its
    efforts are those of `model`.
    """
    rise = goal - q

    def coefficients(duration: float) -> Vector:
        begin = duration * v
        return np.array(
            [
                q,
                begin,
                0.0 * q,
                10.0 * rise - 6.0 * begin,
                -15.0 * rise + 8.0 * begin,
                6.0 * rise - 3.0 * begin,
            ]
        )

    return _shortest(robot, model, coefficients, spacing, shortest)


def stopping_motion(
    robot: Robot, model: EffortModel, q: Vector, v: Vector, spacing: float
) -> SampledMotion | None:
    """Return the fastest motion from (q, v) to rest with constant decelerations, or None.

    The motion is sampled every `spacing` seconds. Its efforts are those of `model`.
    """

    def coefficients(duration: float) -> Vector:
        begin = duration * v
        return np.array([q, begin, -0.5 * begin, 0.0 * q, 0.0 * q, 0.0 * q])

    return _shortest(robot, model, coefficients, spacing, SHORTEST)


def _shortest(
    robot: Robot, model: EffortModel, coefficients, spacing: float, shortest: float
) -> SampledMotion | None:
    for fraction in EFFORT_FRACTIONS:
        duration = shortest
        while duration < LONGEST:
            if _allowed(robot, model, coefficients(duration), duration, fraction):
                if duration > shortest:
                    duration = _shortened(robot, model, coefficients, duration, fraction)
                return _sampled(robot, model, coefficients(duration), duration, spacing)
            duration *= RATIO
    return None


def _shortened(
    robot: Robot, model: EffortModel, coefficients, longest: float, fraction: float
) -> float:
    shortest = longest / RATIO
    for _ in range(HALVINGS):
        middle = 0.5 * (shortest + longest)
        if _allowed(robot, model, coefficients(middle), middle, fraction):
            longest = middle
        else:
            shortest = middle
    return longest


def _allowed(
    robot: Robot, model: EffortModel, rows: Vector, duration: float, fraction: float
) -> bool:
    """Return whether positions, speeds and efforts satisfy their limits.

    An arm that is initially beyond a limit may return from there.
    """
    low, high = np.minimum(robot.q_min, rows[0]), np.maximum(robot.q_max, rows[0])
    fastest = np.maximum(robot.v_max, np.abs(rows[1] / duration))
    q, v, a = CHECKED[0] @ rows, CHECKED[1] @ rows / duration, CHECKED[2] @ rows / duration**2
    if np.any((q < low - 1e-9) | (q > high + 1e-9) | (np.abs(v) > fastest * (1.0 + 1e-9))):
        return False
    return bool(np.all(np.abs(model.efforts(robot, q, v, a)) <= fraction * robot.tau_max))


def _sampled(
    robot: Robot, model: EffortModel, rows: Vector, duration: float, spacing: float
) -> SampledMotion:
    times = cells(np.zeros(1), duration, spacing)
    q, v, _ = _motion(rows, times, duration)
    efforts = model.efforts(robot, *_motion(rows, 0.5 * (times[:-1] + times[1:]), duration))
    hold = model.holding(robot, q[-1])
    return SampledMotion(times, q, v, efforts, hold, hold)


def _motion(rows: Vector, times: Vector, duration: float) -> tuple[Vector, Vector, Vector]:
    """Return positions, velocities and accelerations (k, n) at times (k,), s."""
    zeroth, first, second = _powers(times / duration)
    return zeroth @ rows, first @ rows / duration, second @ rows / duration**2


def _powers(s: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the powers 0 to 5 of `s` (k,) and their first two derivatives, each (k, 6)."""
    k = np.arange(6)
    zeroth = s[:, None] ** k
    first, second = np.zeros_like(zeroth), np.zeros_like(zeroth)
    first[:, 1:] = k[1:] * zeroth[:, :-1]
    second[:, 2:] = k[2:] * first[:, 1:-1]
    return zeroth, first, second


CHECKED = _powers(np.linspace(0.0, 1.0, 24))
"""Powers of the points at which limits are checked, and their derivatives."""

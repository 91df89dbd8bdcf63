"""Whether a moving arm can be stopped in time, and why not."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector, distinct_digits
from manip_dyn.planning.interior_points.node_motion import efforts_at, inverse_kernels_of
from manip_dyn.robot import Robot

SHORTEST, LONGEST, TRIED = 1e-3, 20.0, 120
"""Durations that are tried, s, and how many."""
PLACES = 32


def why_not_stopped(robot: Robot, q: Vector, v: Vector) -> str:
    """Return why the arm cannot come to rest from a state (n,) by itself, or nothing.

    Looked at is the braking of all joints together, at constant decelerations.
    """
    z, why = np.linspace(0.0, 1.0, PLACES)[:, None], ""
    least, kernels = np.inf, inverse_kernels_of(robot)
    for duration in np.geomspace(SHORTEST, LONGEST, TRIED):
        place, speed = q + duration * v * z * (1.0 - 0.5 * z), v * (1.0 - z)
        tau = np.empty_like(place)
        efforts_at(kernels, place, speed, np.tile(-v / duration, (PLACES, 1)), tau)
        share = (np.abs(tau) / robot.tau_max).max(axis=0)
        beyond = np.maximum(place[-1] - robot.q_max, robot.q_min - place[-1])
        if share.max() <= 1.0 and beyond.max() <= 0.0:
            return ""
        lack = max(float(share.max()) - 1.0, 0.0) + max(float(beyond.max()), 0.0)
        if lack < least:
            least, i, j = lack, int(beyond.argmax()), int(share.argmax())
            times = distinct_digits(share[j], 1.0, digits=3)[0]
            why = (
                f"joint '{robot.joint_names[i]}' passes its limit by {beyond[i]:.3g} "
                f"{robot.unit(i)}"
                if beyond[i] > 0.0
                else f"joint '{robot.joint_names[j]}' needs {times} times its effort limit"
            )
    return why

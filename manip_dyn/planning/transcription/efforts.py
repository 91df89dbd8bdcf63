"""Efforts along a spline, by inverse dynamics."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.planning.interior_points.node_motion import efforts_at, inverse_kernels_of
from manip_dyn.planning.transcription.spline import Spline
from manip_dyn.robot import Robot


def efforts_of(robot: Robot, spline: Spline, count: int) -> Matrix:
    """Return the efforts (count + 1, n) at equal steps."""
    q, v, a = spline.joints(np.linspace(0.0, spline.duration, count + 1))
    tau = np.empty_like(q)
    efforts_at(inverse_kernels_of(robot), q, v, a, tau)
    return tau

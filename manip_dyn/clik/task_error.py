"""The error between a desired and an actual tool pose."""

from __future__ import annotations

import numpy as np

from manip_dyn.clik.paths import Pose
from manip_dyn.validate import Vector


def task_error(desired: Pose, actual: Pose) -> Vector:
    """Return position and orientation error (6,), base frame, m and (for small angles) rad.

    e_p = p_d - p and e_o = 1/2 sum_i n_i x n_d,i over the columns n_i of the rotation
    matrices (Luh, Walker, Paul 1980; Sariyildiz et al. 2011). |e_o| = |sin(angle)|.
    """
    error = np.empty(6)
    error[:3] = desired.position - actual.position
    error[3:] = 0.5 * np.cross(actual.rotation.T, desired.rotation.T).sum(axis=0)
    return error

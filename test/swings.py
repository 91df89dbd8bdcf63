"""Motions of one joint with a quadrature, for Rosenbrock methods; functions can be cached.

The state is (position, velocity, quadrature). The number of parameters selects the motion. None: a
shaken, damped, non-linear pendulum. One: the same with wrong derivatives. Two (damping and
stiffness): an oscillation. Three: the velocity follows a cosine at the rate of the first. Four: a
time, and the accelerations before and after it.
"""

import numpy as np
from numba import njit

import manip_dyn as md


@njit
def swing(t, y, p, out):
    """Write the rates of the motion selected by p."""
    out[0] = y[1]
    out[2] = 0.0
    if p.size < 2:  # forces depend on speed
        out[1] = -np.sin(y[0]) - 0.3 * y[0] * y[1] + 0.2 * y[1] ** 2 * np.cos(y[0])
        out[1] += 0.5 * np.cos(2.0 * t)
        out[2] = y[1] ** 2 + t * y[0]
    elif p.size == 2:
        out[1] = p[0] * y[1] + p[1] * y[0]
    elif p.size == 3:  # from 1 the velocity is cos t
        out[1] = p[0] * (y[1] - np.cos(t)) - np.sin(t)
    else:
        out[1] = p[1] if t < p[0] else p[2]


@njit
def slopes(t, y, p, out, by_time):
    """Write the derivatives of the rates, including those of the quadrature."""
    if p.size == 1:
        out[0, 0], out[0, 1] = -3.0, -1.0
    elif p.size == 2:
        out[0, 0], out[0, 1] = p[1], p[0]
    elif p.size == 3:
        out[0, 1], by_time[0] = p[0], p[0] * np.sin(t) - np.cos(t)
    else:
        out[0, 0] = -np.cos(y[0]) - 0.3 * y[1] - 0.2 * y[1] ** 2 * np.sin(y[0])
        out[0, 1] = -0.3 * y[0] + 0.4 * y[1] * np.cos(y[0])
        out[1, 0], out[1, 1] = t, 2.0 * y[1]
        by_time[0], by_time[1] = -np.sin(2.0 * t), y[0]


@njit
def weighted_slopes(t, y, p, out, by_time):
    """Write the derivatives multiplied by a mass 2 + sin y."""
    slopes(t, y, p, out, by_time)
    mass = 2.0 + np.sin(y[0])
    for column in range(3):
        out[0, column] *= mass
    by_time[0] *= mass
    out[0, 3] = mass


WAYS = {
    "differences": None,
    "differences, second order": md.Jacobian(positions=1),
    "exact": md.Jacobian(slopes, 1),
    "mass": md.Jacobian(weighted_slopes, 1, mass=True),
}

"""A ball above a floor, for time loops with events; its functions can be cached."""

import numpy as np
from numba import njit

GRAVITY = 9.81


def thrown(weight=GRAVITY, spring=0.0, reply=0.0):
    """Return the parameters of `ball` and `hit`."""
    return np.array([weight, spring, reply])


@njit
def ball(t, y, p, out):
    """y'' = -p[0] - p[1] y^3: its weight, and a spring."""
    out[0] = y[1]
    out[1] = -p[0] - p[1] * y[0] ** 3


@njit
def height(t, y, p, out):
    """Write the height above the floor."""
    out[0] = y[0]


RELAY, REBOUND, BOUNCE = range(3)


@njit
def hit(index, t, y, p):
    """Reverse the weight, or the ball's velocity, just below the floor or on it."""
    if p[2] == RELAY:
        p[0] = -p[0]
        return
    if p[2] == BOUNCE:
        y[0] = 0.0
    y[1] = -0.5 * y[1]

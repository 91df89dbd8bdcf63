"""Effort laws that several test files share."""

import numpy as np


def swing(t, q, v):
    """Return smooth efforts of time, position and velocity, small enough for any arm."""
    return 0.5 * np.sin(5.0 * q + 20.0 * t + np.arange(len(q))) - 0.2 * np.cos(q) ** 2 * v


def linear(t, q, v, p):
    """Return p[0] q + p[1] v + p[2]."""
    return p[0] * q + p[1] * v + p[2]

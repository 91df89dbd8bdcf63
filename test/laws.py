"""Effort laws that several files of tests compile."""

import numpy as np


def swing(t, q, v):
    """Return smooth efforts by time, position and velocity, gentle enough for any arm."""
    return 0.5 * np.sin(5.0 * q + 20.0 * t + np.arange(len(q))) - 0.2 * np.cos(q) ** 2 * v


def linear(t, q, v, p):
    """Return p[0] q + p[1] v + p[2]."""
    return p[0] * q + p[1] * v + p[2]

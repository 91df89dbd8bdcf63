"""Even grids of samples, as they were heard."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector


def missed(t: Vector) -> int:
    """Return how many samples of an even grid are missing between the first and the last."""
    if len(t) < 2:
        return 0
    return max(0, round(float((t[-1] - t[0]) / np.median(np.diff(t)))) + 1 - len(t))

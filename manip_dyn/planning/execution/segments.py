"""Segments: commanded efforts in a control period, with exact jump times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector

MOST_SEGMENTS = 96
"""Maximum number of segments of a command that records contain. A command has two per period of
the identified delay, and one per switch."""


class Segment(NamedTuple):
    """Efforts (n,) that start `offset` s after the measured state."""

    offset: float
    effort: Vector


def mean_effort(segments: list[Segment], period: float, delay: float = 0.0) -> Vector:
    """Return the constant efforts (n,) with the same impulse over a control period.

    Args:
        segments: Efforts for a measured state.
        period: Control period, s.
        delay: Time from the state to the beginning of the period in which the efforts act, s.
    """
    begins = [0.0, *(segment.offset for segment in segments[1:]), np.inf]
    durations = np.diff(np.clip(begins, delay, delay + period))
    return durations / period @ np.array([segment.effort for segment in segments])

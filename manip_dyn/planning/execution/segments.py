"""Segments: commanded efforts in a control period, with exact jump times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector


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
    segments = later(segments, delay) if delay else segments
    inside = [segment for segment in segments if segment.offset < period]
    ends = [segment.offset for segment in inside[1:]] + [period]
    weights = [(end - segment.offset) / period for segment, end in zip(inside, ends, strict=True)]
    return np.array(weights) @ np.array([segment.effort for segment in inside])


def distinct(segments: list[Segment]) -> list[Segment]:
    """Remove segments that last less than a nanosecond."""
    begins = [round(segment.offset * 1e9) for segment in segments] + [-1]
    return [s for s, begin, end in zip(segments, begins, begins[1:], strict=False) if begin != end]


def later(segments: list[Segment], elapsed: float) -> list[Segment]:
    """Return the segments that remain after `elapsed` seconds, with offsets from then."""
    first = max(k for k, row in enumerate(segments) if k == 0 or row.offset <= elapsed)
    shifted = [Segment(max(row.offset - elapsed, 0.0), row.effort) for row in segments[first:]]
    return distinct(shifted)

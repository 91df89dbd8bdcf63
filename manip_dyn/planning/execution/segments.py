"""Segments: what is commanded over a control period, with its jumps at their exact times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector


class Segment(NamedTuple):
    """Efforts (n,) from `offset` s after the measured state on."""

    offset: float
    effort: Vector


def mean_effort(segments: list[Segment], period: float) -> Vector:
    """Return the effort (n,) with the same impulse over `period` s, for a plain actuator."""
    inside = [segment for segment in segments if segment.offset < period]
    ends = [segment.offset for segment in inside[1:]] + [period]
    shares = [(end - segment.offset) / period for segment, end in zip(inside, ends, strict=True)]
    return np.array(shares) @ np.array([segment.effort for segment in inside])


def distinct(segments: list[Segment]) -> list[Segment]:
    """Drop what would be over within the nanosecond in which it begins: time is whole there."""
    begins = [round(segment.offset * 1e9) for segment in segments] + [-1]
    return [s for s, begin, end in zip(segments, begins, begins[1:], strict=False) if begin != end]


def later(segments: list[Segment], elapsed: float) -> list[Segment]:
    """Return what is left of segments `elapsed` s later."""
    begun = max(k for k, each in enumerate(segments) if k == 0 or each.offset <= elapsed)
    left = [Segment(max(each.offset - elapsed, 0.0), each.effort) for each in segments[begun:]]
    return distinct(left)

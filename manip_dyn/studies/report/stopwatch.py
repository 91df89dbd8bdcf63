"""CPU times of compiled runs: in turn, round after round, medians.

Each run is called from Python; what a call costs that computes nothing is taken off. All runs of
a chart, and of the charts that are compared, share their rounds, so that a slow minute of the
machine falls on all of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

from manip_dyn.bench.timing import Call, repetitions, seconds

CLOCK = time.process_time
RESOLUTION = 1e-9
"""s; of the clock, so no run counts as faster."""


class Timed(NamedTuple):
    """A run to time, and the same call when it has nothing to do."""

    run: Call
    idle: Call


def median_seconds(runs: Sequence[Timed], rounds: int, shortest: float) -> list[float]:
    """Return the median CPU time of each run, s.

    Args:
        runs: What to time.
        rounds: How often.
        shortest: Least CPU time of a run's repetitions in a round, s.
    """
    counts = [repetitions(each.run, shortest, CLOCK) for each in runs]
    rows = [
        [
            (seconds(each.run, count, CLOCK) - seconds(each.idle, count, CLOCK)) / count
            for each, count in zip(runs, counts, strict=True)
        ]
        for _ in range(rounds)
    ]
    columns = zip(*rows, strict=True)
    return [max(statistics.median(column), RESOLUTION) for column in columns]

"""CPU times of compiled runs: in turn, round after round, medians.

Each run is called from Python; what a call costs that computes nothing is taken off. All runs of
a chart, and of the charts that are compared, share their rounds, so that a slow minute of the
machine falls on all of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

Call = Callable[[], object]
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
    repetitions = [_repetitions(each.run, shortest) for each in runs]
    rows = [
        [
            (_seconds(each.run, count) - _seconds(each.idle, count)) / count
            for each, count in zip(runs, repetitions, strict=True)
        ]
        for _ in range(rounds)
    ]
    columns = zip(*rows, strict=True)
    return [max(statistics.median(column), RESOLUTION) for column in columns]


def _repetitions(run: Call, shortest: float) -> int:
    """Return how often to call to fill `shortest`; this is the warm-up too."""
    count = 1
    while _seconds(run, count) < shortest:
        count *= 2
    return count


def _seconds(run: Call, count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        run()
    return time.process_time() - began

"""Measured times: candidates run in turn in many rounds, and medians are reported."""

from __future__ import annotations

import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

ROUNDS = 15
SLICE = 2e-3
"""Seconds that a candidate runs in each round, at least."""

Call = Callable[[], object]
Clock = Callable[[], float]


class Candidate(NamedTuple):
    """Something to time: its name, a call without arguments, evaluations in one call."""

    name: str
    call: Call
    evaluations: int = 1


class Timing(NamedTuple):
    """What one candidate took: median microseconds per evaluation, and its ratio to the first.

    `ratio` is the median over the rounds of this time divided by the first candidate's.
    """

    name: str
    microseconds: float
    ratio: float


def compare(
    candidates: Sequence[Candidate], rounds: int = ROUNDS, clock: Clock = time.perf_counter
) -> list[Timing]:
    """Time the candidates in turn; the first is what the others are compared with."""
    repeats = [repetitions(each.call, SLICE, clock) for each in candidates]
    times = []
    for _ in range(rounds):
        times.append(
            [
                seconds(each.call, count, clock) / (count * each.evaluations) * 1e6
                for each, count in zip(candidates, repeats, strict=True)
            ]
        )
    return [
        Timing(
            each.name,
            statistics.median(row[i] for row in times),
            statistics.median(row[i] / row[0] for row in times),
        )
        for i, each in enumerate(candidates)
    ]


def setting(packages: Sequence[str]) -> Mapping[str, str]:
    """Return commit, processor and versions: what a time means nothing without."""
    return {
        "commit": commit(),
        "processor": _processor(),
        "Python": platform.python_version(),
    } | {name: found for name in packages if (found := _version(name))}


def timing_lines(timings: Sequence[Timing]) -> list[str]:
    """Return a line of a table for each candidate."""
    return [f"  {t.name:<46}{t.microseconds:>10.3f} us{t.ratio:>8.2f}" for t in timings]


def repetitions(call: Call, shortest: float, clock: Clock) -> int:
    """Return how often to call so that `shortest`, s, is filled; this is the warm-up too."""
    call()
    count = 1
    while seconds(call, count, clock) < shortest:
        count *= 2
    return count


def seconds(call: Call, count: int, clock: Clock) -> float:
    """Return what `count` calls take by a clock such as `time.process_time`, s."""
    began = clock()
    for _ in range(count):
        call()
    return clock() - began


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def commit() -> str:
    """Return the commit of this package, with ``-dirty`` if files were changed since.

    It is asked for once: what a process keeps does not change what it ran.
    """
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


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

"""Timing of candidates that take turns in many rounds; medians are reported."""

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
"""Smallest CPU time of a candidate in each round, s."""

Call = Callable[[], object]
Clock = Callable[[], float]


class Candidate(NamedTuple):
    """A function for timing: its name, a call without arguments, evaluations per call."""

    name: str
    call: Call
    evaluations: int = 1


class Timing(NamedTuple):
    """Median time of a candidate per evaluation, us, and its ratio to the first candidate.

    `ratio` is the median over the rounds of this time divided by that of the first candidate.
    """

    name: str
    microseconds: float
    ratio: float


def compare(
    candidates: Sequence[Candidate], rounds: int = ROUNDS, clock: Clock = time.perf_counter
) -> list[Timing]:
    """Time candidates in turn; ratios are relative to the first one."""
    repeats = [repetitions(candidate.call, SLICE, clock) for candidate in candidates]
    times = []
    for _ in range(rounds):
        times.append(
            [
                seconds(candidate.call, count, clock) / (count * candidate.evaluations) * 1e6
                for candidate, count in zip(candidates, repeats, strict=True)
            ]
        )
    return [
        Timing(
            candidate.name,
            statistics.median(row[i] for row in times),
            statistics.median(row[i] / row[0] for row in times),
        )
        for i, candidate in enumerate(candidates)
    ]


def setting(packages: Sequence[str]) -> Mapping[str, str]:
    """Return commit, processor and versions, which accompany every measured time."""
    return {
        "commit": commit(),
        "processor": _processor(),
        "Python": platform.python_version(),
    } | {name: text for name in packages if (text := _version(name))}


def timing_lines(timings: Sequence[Timing]) -> list[str]:
    """Return one line of text per candidate."""
    return [f"  {t.name:<46}{t.microseconds:>10.3f} us{t.ratio:>8.2f}" for t in timings]


def repetitions(call: Call, shortest: float, clock: Clock) -> int:
    """Return the number of calls that takes at least `shortest`, s; also warms up the call."""
    call()
    count = 1
    while seconds(call, count, clock) < shortest:
        count *= 2
    return count


def seconds(call: Call, count: int, clock: Clock) -> float:
    """Return the time of `count` calls by a clock such as `time.process_time`, s."""
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
    """Return the commit of this package, with ``-dirty`` if there are uncommitted changes.

    The result is cached, so all records of a process have the same commit.
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


# --------------------------------------------------------------------------- runs of studies
CLOCK = time.process_time
RESOLUTION = 1e-9
"""Resolution of the clock, s; a lower bound of all measured times."""


class Timed(NamedTuple):
    """A run for timing, and the same call without work, whose time is subtracted."""

    run: Call
    idle: Call


def median_seconds(runs: Sequence[Timed], rounds: int, shortest: float) -> list[float]:
    """Return the median CPU time of each run, s.

    Args:
        runs: Runs to time. They take turns in each round, so that load on the machine affects all.
        rounds: Number of rounds.
        shortest: Smallest CPU time of the repetitions of a run in a round, s.
    """
    counts = [repetitions(timed.run, shortest, CLOCK) for timed in runs]
    rows = [
        [
            (seconds(timed.run, count, CLOCK) - seconds(timed.idle, count, CLOCK)) / count
            for timed, count in zip(runs, counts, strict=True)
        ]
        for _ in range(rounds)
    ]
    columns = zip(*rows, strict=True)
    return [max(statistics.median(column), RESOLUTION) for column in columns]

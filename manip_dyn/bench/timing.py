"""Timing of candidates that are called in turn over many rounds.

Results are medians over the rounds.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

ROUNDS = 15
SLICE = 2e-3
"""Minimum time of each candidate in a round, s."""

Call = Callable[[], object]
Clock = Callable[[], float]


class Candidate(NamedTuple):
    """A function to time: its name, a call without arguments, and the evaluations per call."""

    name: str
    call: Call
    evaluations: int = 1


class Timing(NamedTuple):
    """Median time per evaluation (us) of a candidate, and its ratio to the first candidate.

    The ratio is computed in each round. `ratio` is the median over the rounds.
    """

    name: str
    microseconds: float
    ratio: float


def documented(code: str, names: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that evaluates a documented call.

    Args:
        code: Python code of the call, such as ``md.simulate(robot, q, v, tau, 1.0)``.
        names: Variables of the code.
    """
    return eval(f"lambda: {code}", names)  # the code is a constant of a suite


def compare(
    candidates: Sequence[Candidate], rounds: int = ROUNDS, clock: Clock = time.process_time
) -> list[Timing]:
    """Time the candidates in turn over many rounds; ratios are relative to the first one.

    The default clock is the CPU time, which depends little on other load.
    """
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
    """Return the commit, processor and versions that are stored with every measurement."""
    return {
        "commit": commit(),
        "processor": _processor(),
        "Python": platform.python_version(),
    } | {name: text for name in packages if (text := _version(name))}


def headline(title: str, call: str) -> str:
    """Return the title of a table and the documented call that it times, if there is one."""
    return f"{title}: {call}" if call else title


def timing_lines(timings: Sequence[Timing]) -> list[str]:
    """Return one line of text per candidate."""
    return [f"  {t.name:<46}{t.microseconds:>10.3f} us{t.ratio:>8.2f}" for t in timings]


def repetitions(call: Call, shortest: float, clock: Clock) -> int:
    """Return a number of calls that take at least `shortest` (s) together, after a warm-up.

    The last number is timed twice, because a garbage collection may interrupt a single call.
    """
    call()
    count = 1
    while any(seconds(call, count, clock) < shortest for _ in range(2)):
        count *= 2
    return count


def seconds(call: Call, count: int, clock: Clock) -> float:
    """Return the time (s) of `count` calls, measured with a clock such as `process_time`."""
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

    Without a Git repository it is ``unknown``. The result is cached, so all records of a process
    have the same commit.
    """
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    """Return the model name of the processor, with the family and model numbers if available.

    Virtual machines often hide the generation in the name: "AMD EPYC" may have SIMD units of 256
    or 512 bits.
    """
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    pairs = (line.partition(":") for line in reversed(lines))
    values = {key.strip(): value.strip() for key, _, value in pairs}
    name = values.get("model name", platform.processor())
    if not {"cpu family", "model"} <= values.keys():
        return name
    return f"{name} (family {values['cpu family']} model {values['model']})"


# --------------------------------------------------------------------------- runs of studies
CLOCK = time.process_time
RESOLUTION = 1e-9
"""Resolution of the clock (s), the lower bound of all returned times."""


class Timed(NamedTuple):
    """A call to time, and a call with the same overhead but no work; its time is subtracted."""

    run: Call
    idle: Call


def median_seconds(runs: Sequence[Timed], rounds: int, shortest: float) -> list[float]:
    """Return the median CPU time (s) of each run, less that of its idle call.

    Args:
        runs: Runs to time. Each round calls all of them in turn, so that other load affects all.
        rounds: Number of rounds.
        shortest: Minimum CPU time (s) of each run in a round; short runs are repeated.
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

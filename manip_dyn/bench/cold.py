"""`manip_dyn bench cold`: CPU time of first results with an empty and with a full cache.

The rows are the import, a first simulation, a first plan of each kind, a first tracked path, a
first mechanism, and one call of each kind for two robots. Two more rows measure the additional
time for a second mechanism and for other robots. Each row runs in a separate process with an empty
cache, then three times with the cache of the first run. Rows contain CPU seconds of the first and
of the fastest later run. There are no peers. Takes about 80 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

PACKAGES = ("manip_dyn", "numba", "llvmlite", "numpy", "scipy", "pin")
ROWS = {
    "import": "import of the names that examples use",
    "simulate": "md.simulate, PA-10",
    "zero_net_work": "md.plan_zero_net_work, IBM 7535",
    "minimum_time": "md.plan_minimum_time, IBM 7535",
    "track": "md.track, PA-10",
    "four_bar": "simulate_mechanism, four-bar",
    "hmmwv": "  the HMMWV with fixed steps",
    "readme": "one call of each kind, two robots",
    "other_robots": "  the same example, other robots",
}
"""Descriptions by name in `first_results`."""
AFTER = {"hmmwv": "four_bar", "other_robots": "readme"}
"""Preparation of a row: the result that fills its cache first, in a separate process."""
WARM_RUNS = 3


class Row(NamedTuple):
    """CPU seconds of the first run with an empty cache, and of the fastest later run."""

    name: str
    cold: float
    warm: float


def table(rows: Sequence[Row]) -> str:
    """Return a table with one line per result."""
    lines = [
        "CPU seconds of a new process, including startup and imports: the first with an empty "
        f"cache,\nand the fastest of {WARM_RUNS} later processes.",
        f"\n{'':<40}{'first':>8}{'later':>8}",
    ]
    lines += [f"{ROWS[row.name]:<40}{row.cold:>8.2f}{row.warm:>8.2f}" for row in rows]
    return "\n".join(lines)


def measure(names: Sequence[str] = tuple(ROWS)) -> list[Row]:
    """Time first results, each with its own empty cache.

    An indented row starts with the machine code of the previous row in the cache, so it measures
    the additional time. Python's bytecode cache is used as usual.
    """
    return [_row(name) for name in names]


def _row(name: str) -> Row:
    with tempfile.TemporaryDirectory(prefix="manip_dyn_bench_") as folder:
        if name in AFTER:
            _seconds(AFTER[name], folder)
        cold = _seconds(name, folder)
        return Row(name, cold, min(_seconds(name, folder) for _ in range(WARM_RUNS)))


def _seconds(name: str, folder: str) -> float:
    """Return the CPU seconds of a process that caches its machine code in `folder`."""
    environment = os.environ | {"MANIP_DYN_CACHE": folder, "NUMBA_CACHE_DIR": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "manip_dyn.bench.first_results", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=True)
    return float(done.stdout.split()[-1])

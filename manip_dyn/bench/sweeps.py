"""`manip_dyn bench sweeps`: a million closed-loop cases on a simulated cluster of 1,000 workers.

`md.sweep` runs unchanged and writes its files. A simulated scheduler replaces Dask's: workers have
a virtual clock, and the client's clock advances by its CPU time. The lengths of the cases are CPU
times of closed-loop executions, measured first. Rows contain the fraction of time in which the
workers compute, and the peak memory of the client process. There are no peers. Takes a few
minutes.
"""

from __future__ import annotations

import heapq
import itertools
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import manip_dyn as md
from manip_dyn.bench.timing import documented
from manip_dyn.ensembles import Task

CASES, WORKERS, MEASURED = 1_000_000, 1_000, 50
"""Number of cases, of workers, and of cases whose length is measured."""
OVERHEAD = 2e-3
"""Time of Dask's scheduler per task, s."""
SETTINGS = {
    "method": "zero_net_work",
    "start": [0.76, 0.2618],
    "goal": [0.0, 0.0],
    "duration": 5.0,
    "tolerance": 0.001,
}
"""Settings of the executions, which differ in the masses of the arm."""
CALL = "md.sweep(task, cases, out, scheduler=address)"
PACKAGES = ("manip_dyn", "numba", "distributed", "pyarrow")


class Row(NamedTuple):
    """Result of a sweep.

    Attributes:
        call: The documented call.
        cases: Number of cases.
        workers: Number of workers with one thread.
        seconds_per_case: Mean CPU time of a case, s.
        duration: Simulated duration of the sweep, s.
        busy: Fraction of the duration in which the workers compute.
        client_seconds: CPU time of the client, s.
        client_memory: Peak memory of the client process, including Python, MB.
        files: Number of files with results.
    """

    call: str
    cases: int
    workers: int
    seconds_per_case: float
    duration: float
    busy: float
    client_seconds: float
    client_memory: float
    files: int


def table(rows: Sequence[Row]) -> str:
    """Return one table per sweep."""
    return "\n".join(
        f"\n{row.call}, {row.cases} cases, {row.workers} workers\n"
        f"  length of a case                {row.seconds_per_case:>10.3f} s\n"
        f"  duration                        {row.duration:>10.1f} s\n"
        f"  workers busy                    {100.0 * row.busy:>10.1f} %\n"
        f"  client, CPU time                {row.client_seconds:>10.1f} s\n"
        f"  client, peak memory             {row.client_memory:>10.0f} MB\n"
        f"  files                           {row.files:>10}"
        for row in rows
    )


def measure(cases: int = CASES, workers: int = WORKERS, measured: int = MEASURED) -> list[Row]:
    """Run a sweep of `cases` closed-loop cases on `workers` simulated workers."""
    masses = md.Cases.random(cases, mass_scale=(0.9, 1.1))
    task = Task("execution", {"source": "ibm7535"}, SETTINGS)
    seconds, results = _executions(task, masses, measured)
    cluster = Cluster(workers, seconds)
    recorded = RecordedTask(task, results)
    names = {"md": md, "task": recorded, "cases": masses, "address": "simulated://cluster:1"}
    modules = {"distributed": cluster.module()}
    with tempfile.TemporaryDirectory(prefix="manip_dyn_bench_") as folder:
        out = Path(folder) / "out"
        with patch.dict(sys.modules, modules):
            documented(CALL, names | {"out": out})()
        cluster.run_client()
        files = len(list(out.glob("part-*.parquet")))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    busy = cluster.computed / (workers * cluster.now)
    mean = cluster.computed / cases
    client = cluster.client_seconds
    return [Row(CALL, cases, workers, mean, cluster.now, busy, client, memory, files)]


def _executions(
    task: Task, cases: md.Cases, count: int
) -> tuple[list[float], list[dict[str, Any]]]:
    """Return CPU times (s) and results of `count` cases that are spread over a sweep.

    Another process computes them, so that the memory of this one is that of the client.
    """
    some = [cases[int(i)] for i in np.linspace(0, len(cases) - 1, count)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_timed_cases, task, some).result()


def _timed_cases(
    task: Task, cases: Sequence[dict[str, Any]]
) -> tuple[list[float], list[dict[str, Any]]]:
    seconds, results = [], []
    task(**cases[0])  # compiles
    for case in cases:
        began = time.process_time()
        results.append(task(**case))
        seconds.append(time.process_time() - began)
    return seconds, results


class RecordedTask:
    """A task that returns recorded results instead of computing them."""

    def __init__(self, task: Task, results: Sequence[dict[str, Any]]):
        """Store the results, which are returned in turn."""
        self.columns, self.identity = task.columns, task.identity
        self._results = itertools.cycle(results)

    def __call__(self, **_case: Any) -> dict[str, Any]:
        """Return the next result."""
        return next(self._results)


class Cluster:
    """A client of a simulated cluster with the interface of Dask that `md.sweep` uses.

    A free worker starts the oldest task, `OVERHEAD` after the submission at the earliest. The
    client waits for results and computes between them, on the same virtual clock.
    """

    def __init__(self, workers: int, seconds: Sequence[float]):
        """Start workers, whose cases take the given times (s) in turn."""
        self.now = self.computed = self.client_seconds = 0.0
        self.loop = None
        self._workers = workers
        self._free = [0.0] * workers
        self._seconds = itertools.cycle(seconds)
        self._finished: list[tuple[float, int, SimpleNamespace]] = []
        self._count = itertools.count()
        self._began = time.process_time()

    def module(self) -> Any:
        """Return a module with the names of `distributed` that `md.sweep` uses."""
        return SimpleNamespace(
            Client=lambda *_arguments, **_options: self,
            as_completed=self._as_completed,
            KilledWorker=RuntimeError,
        )

    def run_client(self) -> None:
        """Advance the clock by the CPU time of the client since the last call."""
        elapsed = time.process_time() - self._began
        self.client_seconds += elapsed
        self.now += elapsed
        self._began = time.process_time()

    def nthreads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        return {str(i): 1 for i in range(self._workers)}

    def submit(
        self, function: Any, task: Any, chunk: Any, *arguments: Any, **_options: Any
    ) -> Any:
        """Add a task to the queue and return its future."""
        self.run_client()
        begin = max(self.now + OVERHEAD, heapq.heappop(self._free))
        length = sum(itertools.islice(self._seconds, len(chunk.cases)))
        self.computed += length
        heapq.heappush(self._free, begin + length)
        future = SimpleNamespace(
            result=lambda: self._result(function, task, chunk, *arguments), release=lambda: None
        )
        heapq.heappush(self._finished, (begin + length, next(self._count), future))
        return future

    def close(self, timeout: float) -> None:
        """Close the client."""

    def _result(self, function: Any, *arguments: Any) -> Any:
        """Return the rows of a task; computing them takes no time of the client."""
        self.run_client()
        rows = function(*arguments)
        self._began = time.process_time()
        return rows

    def _as_completed(self, _futures: Any, loop: Any) -> Any:
        return _Completed(self._finished, self)


class _Completed:
    """Iterator over futures in the order of their completion."""

    def __init__(self, finished: list, cluster: Cluster):
        self._finished, self._cluster = finished, cluster

    def __iter__(self) -> Iterator[Any]:
        while self._finished:
            self._cluster.run_client()
            end, _, future = heapq.heappop(self._finished)
            self._cluster.now = max(self._cluster.now, end)
            yield future

    def add(self, future: Any) -> None:
        """Do nothing: `Cluster.submit` has added the future."""

    def count(self) -> int:
        """Return the number of futures that have not been returned."""
        return len(self._finished)

"""`sweep`: one function over many cases, on all cores or on a cluster."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.core.checks import available_cores, whole_number
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.version import VERSION
from manip_dyn.ensembles.sweeps.cases import Cases, invalid_results
from manip_dyn.ensembles.sweeps.results import ResultParts, SweepResult, checked_folder
from manip_dyn.ensembles.sweeps.workers import (
    Chunk,
    Function,
    Row,
    by_cluster,
    by_processes,
    failed_row,
    solve_chunk,
)

MOST_IN_A_CHUNK, CHUNKS, MOST_CHUNKS = 64, 256, 1000
"""Default number of cases per chunk: at most 64, with at least 256 chunks if there are enough
cases, and at most 1000 chunks. A chunk is a file."""
KINDS: dict[Any, str] = {bool: "yes", int: "whole", float: "number", str: "text", list: "numbers"}


def sweep(
    function: Function,
    cases: Cases | Iterable[Mapping[str, Any]],
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Call a function for many cases, on all cores or on a Dask cluster.

    A case that fails becomes a row with the reason. With `out`, results are written chunk by
    chunk, and the same call continues after an interruption.

    Args:
        function: Function with the values of a case as keyword arguments. It returns a dictionary
            of numbers, strings or lists of numbers, optionally with ``success``, ``status`` and
            ``reason``.
        cases: The cases.
        out: Folder for results in Parquet files. Default: results are only returned.
        workers: Number of local processes; 1 for the calling process. Default: one per available
            core.
        scheduler: Address of a Dask scheduler that replaces the local processes.
        chunk: Number of cases per file, for a new folder, and maximum number per task. Default:
            automatic, with at most 1000 files.
        progress: Callback with the numbers of finished cases and of all cases.

    Returns:
        The results, one row per case, in order; identical for any number of workers.

    Raises:
        ManipDynError: If an argument is invalid, `out` has the results of another sweep, the
            scheduler is not reachable, or a library is missing.
    """
    cases = cases if isinstance(cases, Cases) else Cases(cases)
    for name, callback in (("function", function), ("progress", progress)):
        if not callable(callback) and (callback is not None or name == "function"):
            raise ManipDynError(f"{name} must be callable, got {callback!r}.")
    for name, number in (("workers", workers), ("chunk", chunk)):
        if number is not None:
            whole_number(name, number, 1)
    count = workers or available_cores()
    size = chunk or _chunk_size(len(cases))
    identity = cases.identity(f"{task_identity(function)} {VERSION}")
    run = _Run(function, cases, count, scheduler, identity, progress)
    if out is None:
        rows_: list[Row] = []
        run.through(size, set(), lambda _, rows: rows_.extend(rows))
        names = dict.fromkeys([*rows_[0], *(name for row in rows_ for name in row)])
        rows = [{name: row.get(name) for name in names} for row in rows_]
        return SweepResult(sorted(rows, key=lambda row: row["case"]))
    kinds = _column_kinds(cases, function)
    parts = ResultParts(checked_folder(out), identity, size, kinds)

    def keep(number: int, rows: list[Row]) -> None:
        parts.write(number, _valid_rows(rows, cases, kinds))

    with closing(parts):
        repeated = run.through(parts.chunk, set(parts.done), keep)
        return SweepResult(folder=parts.folder, repeated=repeated)


class _Run(NamedTuple):
    """Function, cases and workers of a sweep."""

    function: Function
    cases: Cases
    workers: int
    scheduler: str | None
    identity: str
    progress: Callable[[int, int], None] | None

    def through(self, size: int, done: set[int], keep: Callable[[int, list[Row]], None]) -> int:
        """Run the chunks that are not in `done`; return the number of cases in the others."""
        chunks = [chunk for chunk in _chunks(self.cases, size) if chunk.number not in done]
        repeated = finished = len(self.cases) - sum(len(chunk.cases) for chunk in chunks)
        self._report_progress(finished)
        for number, rows in _complete_chunks(chunks, self._solved(chunks)):
            keep(number, rows)
            finished += len(rows)
            self._report_progress(finished)
        return repeated

    def _solved(self, chunks: list[Chunk]) -> Iterator[tuple[Chunk, list[Row]]]:
        if self.scheduler is not None:
            return by_cluster(self.function, chunks, self.scheduler, self.identity)
        if self.workers == 1:
            return ((chunk, solve_chunk(self.function, chunk)) for chunk in chunks)
        return by_processes(self.function, chunks, self.workers)

    def _report_progress(self, finished: int) -> None:
        if self.progress:
            self.progress(finished, len(self.cases))


def task_identity(function: Function) -> str:
    """Return a string that identifies the function across processes.

    This is the attribute ``identity``, the name of a function, or a hash of another object (the
    name of its type if it cannot be pickled).
    """
    own = getattr(function, "identity", None)
    if own is None and not hasattr(function, "__qualname__"):
        try:
            own = hashlib.sha256(pickle.dumps(function)).hexdigest()
        except (pickle.PicklingError, AttributeError, TypeError):  # runs only in this process
            own = type(function).__qualname__
    return str(own or f"{function.__module__}.{function.__qualname__}")


def _complete_chunks(
    chunks: list[Chunk], done: Iterator[tuple[Chunk, list[Row]]]
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the number and the sorted rows of each chunk as soon as all its cases are done."""
    sizes = {item.number: len(item.cases) for item in chunks}
    partly: dict[int, list[Row]] = {}
    for chunk, rows in done:
        partly.setdefault(chunk.number, []).extend(rows)
        if len(partly[chunk.number]) == sizes[chunk.number]:
            yield chunk.number, sorted(partly.pop(chunk.number), key=lambda row: row["case"])


def _chunk_size(cases: int) -> int:
    """Return the default number of cases per chunk."""
    return max(1, min(MOST_IN_A_CHUNK, cases // CHUNKS), -(-cases // MOST_CHUNKS))


def _chunks(cases: Cases, size: int) -> Iterator[Chunk]:
    for number, first in enumerate(range(0, len(cases), size)):
        yield Chunk(number, first, cases[first : first + size])


def _column_kinds(cases: Cases, function: Function) -> dict[str, str]:
    """Return the predefined kinds of columns."""
    varied = {}
    for name in cases.names:
        kind = next((type(case[name]) for case in cases if case[name] is not None), None)
        varied[name] = KINDS.get(kind, "")
    return {"case": "whole", **varied, **getattr(function, "columns", {})} | {
        "success": "yes",
        "status": "text",
        "reason": "text",
    }


def _valid_rows(rows: list[Row], cases: Cases, kinds: dict[str, str]) -> list[Row]:
    """Replace rows that do not fit the table with rows that contain the reason."""
    wrong = invalid_results(rows, kinds)
    return [
        failed_row(row["case"], cases[row["case"]], "refused", wrong[i]) if i in wrong else row
        for i, row in enumerate(rows)
    ]

"""Chunks of cases on local worker processes or on a Dask cluster.

Local workers use Python's process pool. If a process dies, the chunks that were running are
repeated one by one. A case that kills its process is identified, and no other results are lost.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from manip_dyn.core.checks import truth
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module
from manip_dyn.core.results import Result
from manip_dyn.core.version import VERSION
from manip_dyn.ensembles.sweeps.cases import Cases

Row = dict[str, Any]
Function = Callable[..., Mapping[str, Any]]


class Chunk(NamedTuple):
    """Cases that are sent to a worker together, with the number of the first case."""

    number: int
    first: int
    cases: Cases


def solve_chunk(function: Function, chunk: Chunk) -> list[Row]:
    """Compute the rows of a chunk, case by case; invalid cases have the status `refused`."""
    rows = []
    for i, case in enumerate(chunk.cases):
        number, fault = chunk.first + i, chunk.cases.faults.get(i)
        refused = fault and failed_row(number, case, "refused", fault)
        rows.append(refused or solve_case(function, number, case))
    return rows


def solve_case(function: Function, number: int, case: Mapping[str, Any]) -> Row:
    """Compute the row of a case: number, values, results, and outcome.

    The outcome is ``success``, ``status`` and ``reason`` of the returned dictionary, with defaults
    for missing ones. After an exception the status is `refused` for a `ManipDynError`, else
    `error`.
    """
    try:
        results = _plain(function(**case))
        success = truth("the result 'success'", results.pop("success", True))
        for name in results:
            if name in ("case", *case):
                raise ManipDynError(f"result names must differ from case names, got '{name}'.")
    except ManipDynError as error:
        return failed_row(number, case, "refused", str(error))
    except (Exception, SystemExit) as error:
        return failed_row(number, case, "error", f"{type(error).__name__}: {error}")
    status = str(results.pop("status", "done" if success else "failed"))
    reason = _one_line(results.pop("reason", ""))
    ending = {"success": success, "status": status, "reason": reason}
    return {"case": number, **case, **results, **ending}


def failed_row(number: int, case: Mapping[str, Any], status: str, reason: str) -> Row:
    """Return the row of a case without results."""
    reason = _one_line(reason)
    return {"case": number, **case, "success": False, "status": status, "reason": reason}


def _one_line(reason: Any) -> str:
    """Convert a reason to one line of valid UTF-8."""
    text = " ".join(str(reason or "").split())
    return text.encode("utf-8", "backslashreplace").decode()


def lost_rows(chunk: Chunk) -> list[Row]:
    """Return rows without results for a chunk that killed its workers repeatedly."""
    reason = "the worker process died repeatedly on this case"
    return [
        failed_row(chunk.first + i, case, "lost", reason) for i, case in enumerate(chunk.cases)
    ]


def split_chunk(chunk: Chunk, size: int = 1) -> list[Chunk]:
    """Divide a chunk into tasks of at most `size` cases each."""
    return [
        Chunk(chunk.number, chunk.first + i, chunk.cases[i : i + size])
        for i in range(0, len(chunk.cases), size)
    ]


def _plain(result: Any) -> Row:
    """Convert results to plain numbers, strings and lists of numbers."""
    if result is None:
        return {}
    if isinstance(result, Result):
        raise ManipDynError(
            f"the function must return a dictionary with the numbers to store, got "
            f"{type(result).__name__}."
        )
    if not isinstance(result, Mapping):
        raise ManipDynError(
            f"the function must return a dictionary of results, got {type(result).__name__}."
        )
    return {str(name): _value(value) for name, value in result.items()}


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


ATTEMPTS = 3
"""Number of processes in turn in which a case is tried alone."""

_packed = b""


def by_processes(
    function: Function, chunks: Iterable[Chunk], count: int
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield each chunk with its rows on completion, computed by `count` processes.

    Raises:
        ManipDynError: If processes cannot start, or the function cannot be pickled.
    """
    try:
        packed = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ManipDynError(
            f"the function cannot be sent to other processes ({error}); define it in a module, "
            "or set workers=1."
        ) from error
    waiting, check = deque(chunks), True
    while waiting:
        under_way = yield from _run_pool(packed, waiting, count, check)
        check = False
        for chunk in under_way:
            yield chunk, _run_alone(packed, chunk)


def _run_pool(
    packed: bytes, waiting: deque[Chunk], count: int, check: bool
) -> Generator[tuple[Chunk, list[Row]], None, list[Chunk]]:
    """Yield finished chunks; after a process has died, return the chunks that were running."""
    running: dict[Future[list[Row]], Chunk] = {}
    pool = _pool(packed, min(count, len(waiting)))
    try:
        if check:
            _check_pool(pool)
        while waiting or running:
            while waiting and len(running) <= count:  # one more keeps all processes busy
                running[pool.submit(_solve_in_process, waiting[0])] = waiting[0]
                waiting.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: running[future].number):
                rows = future.result()
                yield running.pop(future), rows
    except BrokenProcessPool:
        for future, chunk in list(running.items()):
            if future.done() and future.exception() is None:
                del running[future]
                yield chunk, future.result()
        return sorted(running.values(), key=lambda chunk: chunk.number)
    finally:
        _shut_down(pool, bool(running))
    return []


def _check_pool(pool: ProcessPoolExecutor) -> None:
    """Raise `ManipDynError` if processes cannot start, or cannot load the function."""
    try:
        pool.submit(_load_function).result()
    except BrokenProcessPool as error:
        raise ManipDynError(
            "another process cannot start; run the sweep under "
            'if __name__ == "__main__":, or set workers=1.'
        ) from error


def _run_alone(packed: bytes, chunk: Chunk) -> list[Row]:
    """Compute the rows of a chunk in a separate process, if necessary case by case."""
    for _ in range(ATTEMPTS if len(chunk.cases) == 1 else 1):
        pool = _pool(packed, 1)
        try:
            return pool.submit(_solve_in_process, chunk).result()
        except BrokenProcessPool:
            continue
        finally:
            _shut_down(pool, False)
    if len(chunk.cases) == 1:
        return lost_rows(chunk)
    return [row for one in split_chunk(chunk) for row in _run_alone(packed, one)]


def _pool(packed: bytes, count: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, initializer=_start_worker, initargs=(packed,))


def _shut_down(pool: ProcessPoolExecutor, under_way: bool) -> None:
    """End the processes, immediately if their results are not required."""
    processes = list((getattr(pool, "_processes", None) or {}).values()) if under_way else []
    pool.shutdown(wait=not under_way, cancel_futures=True)
    for process in processes:
        process.terminate()


def _start_worker(packed: bytes) -> None:
    """Store the function, ignore Ctrl-C, and exit with the parent process."""
    global _packed
    _packed = packed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _solve_in_process(chunk: Chunk) -> list[Row]:
    return solve_chunk(_function(), chunk)


def _load_function() -> None:
    _function()


@cache
def _function() -> Function:
    try:
        return pickle.loads(_packed)
    except Exception as error:  # imports may raise any exception
        raise ManipDynError(
            f"another process cannot load the function ({type(error).__name__}: {error}); define "
            "it in an importable module, or set workers=1."
        ) from error


TASKS_PER_THREAD, MOST_IN_A_TASK = 4, 64
"""Minimum number of tasks per thread of a cluster, if there are enough cases, and maximum number
of cases per task."""
IN_ADVANCE = 2
"""Number of tasks per thread of a cluster that are submitted at the same time."""
REPORT_PERIOD = 1.0
"""Time between reports of the number of threads, s."""
CONNECT_TIMEOUT = 10.0
"""Maximum waiting time for a scheduler, s."""
_one_at_a_time = threading.Lock()


def by_cluster(
    function: Function, chunks: Sequence[Chunk], address: str, identity: str
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield parts of the chunks with their rows on completion; Dask repeats those of lost workers.

    The number of cases per task depends on the number of threads of the cluster. A new task is
    submitted when one has finished, so that the client and the scheduler store few tasks.

    Raises:
        ManipDynError: If the scheduler is not reachable or fails, or a worker cannot run the task.
    """
    distributed = required_module("distributed", "a cluster needs", "sweep")
    client = _connect(distributed, address)
    try:
        threads = _Threads(client)
        waiting = _tasks(threads, chunks)
        first = islice(waiting, IN_ADVANCE * threads.count())
        running = distributed.as_completed(
            [_submit(client, function, task, identity) for task in first], loop=client.loop
        )
        for future in running:
            chunk, rows = _wait_for(distributed, future, address)
            missing = IN_ADVANCE * threads.count() - running.count()
            for task in islice(waiting, max(missing, 0)):
                running.add(_submit(client, function, task, identity))
            if rows is not None:
                yield chunk, rows
            elif len(chunk.cases) == 1:
                yield chunk, lost_rows(chunk)
            else:
                for one in split_chunk(chunk):
                    running.add(_submit(client, function, one, identity))
            future.release()
    finally:
        client.close(timeout=2)


def _tasks(threads: _Threads, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks, divided for the threads that the cluster has at present."""
    cases = sum(len(chunk.cases) for chunk in chunks)
    for chunk in chunks:
        share = cases // (TASKS_PER_THREAD * threads.count())
        yield from split_chunk(chunk, max(1, min(MOST_IN_A_TASK, share)))


class _Threads:
    """The number of threads of a cluster, which the scheduler reports once per second.

    With a thousand workers, a report takes milliseconds, about as long as the client needs for a
    task.
    """

    def __init__(self, client: Any):
        """Store the client, which requests the first report on first use."""
        self._client, self._count, self._expires = client, 1, -math.inf

    def count(self) -> int:
        """Return the number of threads, or 1 if no worker has started."""
        now = time.monotonic()
        if now >= self._expires:
            self._count = max(sum(self._client.nthreads().values()), 1)
            self._expires = now + REPORT_PERIOD
        return self._count


def _error_message(error: Exception) -> str:
    return str(error) or type(error).__name__


def _connect(distributed: Any, address: str) -> Any:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # would repeat the error
    try:
        _check_address(address)
        return distributed.Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except Exception as error:  # OSError, TimeoutError, or ValueError for an invalid address
        raise ManipDynError(
            "scheduler must be the address of a running Dask scheduler such as "
            f"tcp://192.168.0.10:8786, got '{address}': {_error_message(error)}."
        ) from error


def _check_address(address: str) -> None:
    """Raise an error if a TCP address has no port or does not respond; clients report it late."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.port is None:
        raise ValueError("an address without a port")
    if parts.scheme == "tcp":
        socket.create_connection((parts.hostname, parts.port), CONNECT_TIMEOUT).close()


def _submit(client: Any, function: Function, chunk: Chunk, identity: str) -> Any:
    key = f"manip_dyn_sweep-{identity[:16]}-{chunk.number}-{chunk.first}-{len(chunk.cases)}"
    future = client.submit(_solve_on_cluster, function, chunk, VERSION, key=key, pure=False)
    future.chunk = chunk
    return future


def _wait_for(distributed: Any, future: Any, address: str) -> tuple[Chunk, list[Row] | None]:
    """Return a chunk with its rows, or None for the rows if it killed its workers."""
    try:
        return future.chunk, future.result()
    except distributed.KilledWorker:
        return future.chunk, None
    except ManipDynError:
        raise
    except Exception as error:
        raise ManipDynError(
            f"the cluster at '{address}' failed ({type(error).__name__}: {error}); its workers "
            f"must have manip_dyn {VERSION}. Finished chunks are stored; repeat the command to "
            "continue."
        ) from error


def _solve_on_cluster(function: Function, chunk: Chunk, version: str) -> list[Row]:
    """Compute the rows of a chunk in a worker, with one thread at a time."""
    if version != VERSION:
        raise ManipDynError(
            f"workers must have manip_dyn {version} like the sweep, got {VERSION}."
        )
    with _one_at_a_time:
        return solve_chunk(function, chunk)

"""Chunks of cases on worker processes of this machine or on a Dask cluster.

Local workers use Python's process pool. When a process dies, the chunks that were running are
repeated one by one. A case that kills its process is identified and costs no other results.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from manip_dyn.core.checks import truth
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module
from manip_dyn.core.results import Result
from manip_dyn.core.version import VERSION

Row = dict[str, Any]
Function = Callable[..., Mapping[str, Any]]


class Chunk(NamedTuple):
    """Cases that are sent to a worker together, by the number of the first of them."""

    number: int
    first: int
    cases: list[dict[str, Any]]
    faults: Mapping[int, str] = {}
    """Why cases of it cannot be done, by their numbers, see `Cases.faults`."""


def solve_chunk(function: Function, chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk, each case by itself."""
    rows = []
    for number, case in enumerate(chunk.cases, chunk.first):
        fault = chunk.faults.get(number)
        refused = fault and failed_row(number, case, "refused", fault)
        rows.append(refused or solve_case(function, number, case))
    return rows


def solve_case(function: Function, number: int, case: Mapping[str, Any]) -> Row:
    """Return the row of a case: its number, its values, the results, and how it ended.

    What the function returns under ``success``, ``status`` and ``reason`` says how it ended. An
    exception is a row with the status ``refused`` for a `ManipDynError`, else ``error``.
    """
    try:
        found = _plain(function(**case))
        success = truth("the result 'success'", found.pop("success", True))
        for name in found:
            if name in ("case", *case):
                raise ManipDynError(f"the function returns '{name}', which is the case's own name")
    except ManipDynError as error:
        return failed_row(number, case, "refused", str(error))
    except (Exception, SystemExit) as error:
        return failed_row(number, case, "error", f"{type(error).__name__}: {error}")
    status = str(found.pop("status", "done" if success else "failed"))
    reason = _one_line(found.pop("reason", ""))
    ending = {"success": success, "status": status, "reason": reason}
    return {"case": number, **case, **found, **ending}


def failed_row(number: int, case: Mapping[str, Any], status: str, reason: str) -> Row:
    """Return the row of a case without results."""
    reason = _one_line(reason)
    return {"case": number, **case, "success": False, "status": status, "reason": reason}


def _one_line(reason: Any) -> str:
    """Return a reason on one line, as any file can keep it."""
    text = " ".join(str(reason or "").split())
    return text.encode("utf-8", "backslashreplace").decode()


def lost_rows(chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk on which every worker died."""
    reason = "the worker process died on this case, again and again"
    return [
        failed_row(chunk.first + i, case, "lost", reason) for i, case in enumerate(chunk.cases)
    ]


def split_chunk(chunk: Chunk) -> list[Chunk]:
    """Return chunks of one case each."""
    cases = enumerate(chunk.cases, chunk.first)
    return [Chunk(chunk.number, number, [case], chunk.faults) for number, case in cases]


def _plain(result: Any) -> Row:
    """Return results as a table keeps them: plain numbers, texts, lists of numbers."""
    if result is None:
        return {}
    if isinstance(result, Result):
        raise ManipDynError(
            f"the function returns a {type(result).__name__}; expected a dictionary with the "
            "numbers of it that are to be kept"
        )
    if not isinstance(result, Mapping):
        raise ManipDynError(
            f"the function returns a {type(result).__name__}; expected a dictionary of results"
        )
    return {str(name): _value(value) for name, value in result.items()}


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


ATTEMPTS = 3
"""How many processes a case may lose before it is given up."""

_packed = b""


def by_processes(
    function: Function, chunks: Iterable[Chunk], count: int
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield each chunk with its rows, as they get done, in `count` processes.

    Raises:
        ManipDynError: If processes cannot be started, or the function cannot be sent to them.
    """
    try:
        packed = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ManipDynError(
            f"the function cannot be sent to other processes ({error}); expected one that a "
            "module defines, or workers=1"
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
    """Yield what gets done; return, once a process died, what was under way then."""
    running: dict[Future[list[Row]], Chunk] = {}
    pool = _pool(packed, min(count, len(waiting)))
    try:
        if check:
            _check_pool(pool)
        while waiting or running:
            while waiting and len(running) <= count:  # one more, so that none has to wait
                running[pool.submit(_solve_in_process, waiting[0])] = waiting[0]
                waiting.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda each: running[each].number):
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
    """Raise `ManipDynError` if processes cannot be started, or cannot load the function."""
    try:
        pool.submit(_load_function).result()
    except BrokenProcessPool as error:
        raise ManipDynError(
            "another process cannot be started; expected a script that starts its sweep under "
            'if __name__ == "__main__":, or workers=1'
        ) from error


def _run_alone(packed: bytes, chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk by a process of its own; then case by case."""
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
    """End the processes, at once if what they do is not wanted any more."""
    processes = list((getattr(pool, "_processes", None) or {}).values()) if under_way else []
    pool.shutdown(wait=not under_way, cancel_futures=True)
    for process in processes:
        process.terminate()


def _start_worker(packed: bytes) -> None:
    """Keep the function; Ctrl-C is the parent's, and without it there is nothing to do."""
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
    except Exception as error:  # whatever a module raises that is imported
        raise ManipDynError(
            f"the function cannot be loaded by another process ({type(error).__name__}: {error}); "
            "expected one of a module that it can import, or workers=1"
        ) from error


CONNECT_TIMEOUT = 10.0
"""How long a scheduler may take to answer, s."""
_one_at_a_time = threading.Lock()


def by_cluster(
    function: Function, chunks: Iterable[Chunk], address: str, identity: str
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield each chunk with its rows, as they get done; Dask repeats what lost its worker.

    Raises:
        ManipDynError: If there is no scheduler, it goes away, or its workers cannot run this.
    """
    distributed = required_module("distributed", "a cluster needs", "sweep")
    client = _connect(distributed, address)
    try:
        first = [_submit(client, function, chunk, identity) for chunk in chunks]
        running = distributed.as_completed(first, loop=client.loop)
        for future in running:
            chunk, rows = _wait_for(distributed, future, address)
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


def _error_message(error: Exception) -> str:
    return str(error) or type(error).__name__


def _connect(distributed: Any, address: str) -> Any:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it tells it all again
    try:
        _check_address(address)
        return distributed.Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except Exception as error:  # OSError, TimeoutError, ValueError of a bad address
        raise ManipDynError(
            f"the scheduler '{address}' cannot be reached ({_error_message(error)}); expected the "
            "address of a running Dask scheduler, such as tcp://192.168.0.10:8786"
        ) from error


def _check_address(address: str) -> None:
    """Raise what keeps a TCP address from being connected: clients say it at length, and late."""
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
    """Return a chunk with its rows; without them if one worker after another died on it."""
    try:
        return future.chunk, future.result()
    except distributed.KilledWorker:
        return future.chunk, None
    except ManipDynError:
        raise
    except Exception as error:
        raise ManipDynError(
            f"the cluster at '{address}' does not go on ({type(error).__name__}: {error}); "
            f"expected workers with manip_dyn {VERSION}. What is written is kept: the same "
            "command goes on from there"
        ) from error


def _solve_on_cluster(function: Function, chunk: Chunk, version: str) -> list[Row]:
    """Return the rows of a chunk, in a worker; its threads take turns."""
    if version != VERSION:
        raise ManipDynError(
            f"a worker has manip_dyn {VERSION}; expected {version}, which the sweep has"
        )
    with _one_at_a_time:
        return solve_chunk(function, chunk)

"""Chunks on the cores of this machine, by processes that may die.

Python's own process pool: it needs no other library, and where a process dies it says so. What
was under way then is done again, each chunk by itself, so that a case that kills its process is
found and costs nobody else's results.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.sweeps.rows import Chunk, Function, Row, apart, lost, solved

TRIES = 3
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
        under_way = yield from _together(packed, waiting, count, check)
        check = False
        for chunk in under_way:
            yield chunk, _alone(packed, chunk)


def _together(
    packed: bytes, waiting: deque[Chunk], count: int, check: bool
) -> Generator[tuple[Chunk, list[Row]], None, list[Chunk]]:
    """Yield what gets done; return, once a process died, what was under way then."""
    running: dict[Future[list[Row]], Chunk] = {}
    pool = _pool(packed, min(count, len(waiting)))
    try:
        if check:
            _check(pool)
        while waiting or running:
            while waiting and len(running) <= count:  # one more, so that none has to wait
                running[pool.submit(_solved, waiting[0])] = waiting[0]
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
        _end(pool, bool(running))
    return []


def _check(pool: ProcessPoolExecutor) -> None:
    """Raise `ManipDynError` if processes cannot be started, or cannot load the function."""
    try:
        pool.submit(_loaded).result()
    except BrokenProcessPool as error:
        raise ManipDynError(
            "another process cannot be started; expected a script that starts its sweep under "
            'if __name__ == "__main__":, or workers=1'
        ) from error


def _alone(packed: bytes, chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk by a process of its own; then case by case."""
    for _ in range(TRIES if len(chunk.cases) == 1 else 1):
        pool = _pool(packed, 1)
        try:
            return pool.submit(_solved, chunk).result()
        except BrokenProcessPool:
            continue
        finally:
            _end(pool, False)
    if len(chunk.cases) == 1:
        return lost(chunk)
    return [row for one in apart(chunk) for row in _alone(packed, one)]


def _pool(packed: bytes, count: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, initializer=_begin, initargs=(packed,))


def _end(pool: ProcessPoolExecutor, under_way: bool) -> None:
    """End the processes, at once if what they do is not wanted any more."""
    processes = list((getattr(pool, "_processes", None) or {}).values()) if under_way else []
    pool.shutdown(wait=not under_way, cancel_futures=True)
    for process in processes:
        process.terminate()


def _begin(packed: bytes) -> None:
    """Keep the function; Ctrl-C is the parent's, and without it there is nothing to do."""
    global _packed
    _packed = packed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _solved(chunk: Chunk) -> list[Row]:
    return solved(_function(), chunk)


def _loaded() -> None:
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

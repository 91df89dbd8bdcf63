"""Chunks on a Dask cluster that runs already."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.version import VERSION
from manip_dyn.ensembles.sweeps.needed import needed
from manip_dyn.ensembles.sweeps.rows import Chunk, Function, Row, apart, lost, solved

PATIENCE = 10.0
"""How long a scheduler may take to answer, s."""
_one_at_a_time = threading.Lock()


def by_cluster(
    function: Function, chunks: Iterable[Chunk], address: str, identity: str
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield each chunk with its rows, as they get done; Dask repeats what lost its worker.

    Raises:
        ManipDynError: If there is no scheduler, it goes away, or its workers cannot run this.
    """
    distributed = needed("distributed", "a cluster")
    client = _connected(distributed, address)
    try:
        first = [_submitted(client, function, chunk, identity) for chunk in chunks]
        running = distributed.as_completed(first, loop=client.loop)
        for future in running:
            chunk, rows = _awaited(distributed, future, address)
            if rows is not None:
                yield chunk, rows
            elif len(chunk.cases) == 1:
                yield chunk, lost(chunk)
            else:
                for one in apart(chunk):
                    running.add(_submitted(client, function, one, identity))
            future.release()
    finally:
        client.close(timeout=2)


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _connected(distributed: Any, address: str) -> Any:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it tells it all again
    try:
        _knock(address)
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:  # OSError, TimeoutError, ValueError of a bad address
        raise ManipDynError(
            f"the scheduler '{address}' cannot be reached ({_why(error)}); expected the "
            "address of a running Dask scheduler, such as tcp://192.168.0.10:8786"
        ) from error


def _knock(address: str) -> None:
    """Raise what keeps a TCP address from being connected: clients say it at length, and late."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.port is None:
        raise ValueError("an address without a port")
    if parts.scheme == "tcp":
        socket.create_connection((parts.hostname, parts.port), PATIENCE).close()


def _submitted(client: Any, function: Function, chunk: Chunk, identity: str) -> Any:
    key = f"manip_dyn_sweep-{identity[:16]}-{chunk.number}-{chunk.first}-{len(chunk.cases)}"
    future = client.submit(_solved, function, chunk, VERSION, key=key, pure=False)
    future.chunk = chunk
    return future


def _awaited(distributed: Any, future: Any, address: str) -> tuple[Chunk, list[Row] | None]:
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


def _solved(function: Function, chunk: Chunk, version: str) -> list[Row]:
    """Return the rows of a chunk, in a worker; its threads take turns."""
    if version != VERSION:
        raise ManipDynError(
            f"a worker has manip_dyn {VERSION}; expected {version}, which the sweep has"
        )
    with _one_at_a_time:
        return solved(function, chunk)

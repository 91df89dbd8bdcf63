"""Lets one process make what several lack, while the others wait for it.

Nodes that start together, or the workers of a test run, would otherwise compile the same
functions beside each other. Each file of the cache has a lock: a byte of one file in the same
folder, with a number that comes from the file's name. The system takes the locks from a process
that ends, however it ends. Nobody depends on them: where there are none, or another process holds
one for long (it may be stopped), everything is made as if there were no other process.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from manip_dyn.core.uninterrupted import answer

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0
"""For how long another process is waited for, s."""
PAUSE = 0.01
"""How long until it is asked again, s."""


class _Held(threading.local):
    """What this thread holds: for each `turns` that it is in, the locks."""

    def __init__(self) -> None:
        self.turns: list[list[tuple[int, int]]] = []


_held = _Held()


@contextmanager
def turns() -> Iterator[None]:
    """Hand over all locks at the end that are waited for inside."""
    _held.turns.append([])
    try:
        yield
    finally:
        for file, place in _held.turns.pop():
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def wait_for_turn(path: Path) -> bool:
    """Wait until no other process makes a file of the cache; return whether one did.

    Outside of `turns`, and where files cannot be locked, nothing is waited for.
    """
    file = _opened(path.parent) if _held.turns and fcntl else None
    if file is None:
        return False
    place = int.from_bytes(hashlib.sha256(path.name.encode()).digest()[:7], "big")
    end, waited = time.monotonic() + PATIENCE, False
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            time.sleep(PAUSE)
            answer()  # LLVM is not at work
            waited = True
        except OSError:  # a file system without locks
            return waited
        else:
            _held.turns[-1].append((file, place))
            return waited
    return waited


@cache
def _opened(folder: Path) -> int | None:
    """Return the open file of the locks; it stays open, or the system would take all of them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / ".locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None

"""The folder of a sweep, into which one sweep writes at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from manip_dyn.core.errors import ManipDynError

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


def folder_of(given: str | Path) -> Path:
    """Return a path that is given for a folder."""
    if not isinstance(given, (str, Path)) or not str(given):
        raise ManipDynError(f"the folder of the results is {given!r}; expected a path")
    return Path(given)


def locked(folder: Path) -> IO[bytes]:
    """Return a file that only this sweep holds; the system takes it from one that is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / LOCK).open("wb")
    except OSError as error:
        raise ManipDynError(
            f"'{folder}' cannot be written: {error.strerror or error}; expected a folder that can"
        ) from error
    try:
        if fcntl:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise ManipDynError(
            f"a sweep that runs writes into '{folder}'; expected another folder, or its end"
        ) from error
    except OSError:  # a file system without locks
        return held
    if _is_there(held, folder / LOCK):
        return held
    held.close()
    return locked(folder)  # one that ended without results took the file away


def _is_there(held: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(held.fileno()), path.stat())
    except OSError:
        return False

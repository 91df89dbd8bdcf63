"""Files that other processes see whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step, with its folder; raises `OSError` if that cannot be done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())  # a cache may be shared by several users
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


@cache
def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_checked(path: Path, content: bytes) -> None:
    """Write a file as `write_whole` does, with a checksum for `read_checked`."""
    write_whole(path, hashlib.sha256(content).digest() + content)


def read_checked(path: Path) -> bytes | None:
    """Return what was written, or None if there is nothing whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:32], content[32:]
    return content if hashlib.sha256(content).digest() == checksum else None

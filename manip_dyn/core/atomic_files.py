"""Atomic writing of files, and files with a checksum."""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path


def write_atomically(path: Path, content: bytes, private: bool = False) -> None:
    """Replace a file atomically: other processes see the previous file or all of the new one.

    Args:
        path: The file. Its folder is created if necessary.
        content: Content of the file.
        private: Whether only this user may write the file and a new folder, independent of the
            umask.

    Raises:
        OSError: If the file cannot be written.
    """
    path.parent.mkdir(0o755 if private else 0o777, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, (0o644 if private else 0o666) & ~_umask())
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
    """Write the SHA-256 checksum of the content (32 bytes) and the content to a private file."""
    write_atomically(path, hashlib.sha256(content).digest() + content, private=True)


def checked_content(file: bytes) -> bytes | None:
    """Return the content of a file that `write_checked` wrote, or None if it is damaged.

    Args:
        file: All bytes of the file.
    """
    checksum, content = file[:32], file[32:]
    return content if hashlib.sha256(content).digest() == checksum else None

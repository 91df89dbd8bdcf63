"""Files that other processes see whole or not at all."""

from __future__ import annotations

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

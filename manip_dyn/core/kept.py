"""Files that keep machine code: written whole, with a checksum, for one kind of machine."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba

from manip_dyn.core.files import write_whole
from manip_dyn.core.generated import warn_once


def platform_of(context: Any) -> str:
    """Return what machine code depends on besides its source: versions and the processor."""
    return _platform_of(context.codegen().magic_tuple())


@cache
def _platform_of(processor: tuple) -> str:
    versions = numba.__version__, llvmlite.__version__, platform.python_version()
    return repr((*versions, *processor))


def read(path: Path) -> bytes | None:
    """Return what was written, or None if there is nothing whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:32], content[32:]
    return content if hashlib.sha256(content).digest() == checksum else None


def write(path: Path, content: bytes) -> None:
    """Write, or warn once that nothing can be kept."""
    try:
        write_whole(path, hashlib.sha256(content).digest() + content)
    except OSError as error:
        reason = error.strerror or error
        warn_once(f"machine code cannot be kept in '{path.parent}' ({reason})")

"""The user's cache folder: where it is, and for which machines machine code is kept in it."""

from __future__ import annotations

import os
import platform
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba


def cache_directory() -> Path:
    """Return where generated modules go: ``MANIP_DYN_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("MANIP_DYN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "manip_dyn"


def platform_of(context: Any) -> str:
    """Return what machine code depends on besides its source: versions and the processor."""
    return _platform_of(context.codegen())


@cache
def _platform_of(codegen: Any) -> str:
    versions = numba.__version__, llvmlite.__version__, platform.python_version()
    return repr((*versions, *codegen.magic_tuple()))


_warned: list[str] = []


def warn_once(what: str) -> None:
    """Warn that something of the cache folder does not work, but only of the first such thing."""
    if not _warned:
        _warned.append(what)
        warnings.warn(
            f"{what}; kernels are compiled anew in each process. Set MANIP_DYN_CACHE to a folder "
            "that can be written",
            stacklevel=2,
        )

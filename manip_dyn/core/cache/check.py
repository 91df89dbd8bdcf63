"""Whether compiled code can be kept."""

from __future__ import annotations

import os

from manip_dyn.core.cache.folder import cache_directory
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_whole

ROOM = 2**20
"""Bytes of a large piece of machine code."""


def why_not_written() -> str:
    """Write a file into the cache folder and remove it; return why that cannot be done, or "".

    Permissions alone do not say so, least of all to root.
    """
    probe = cache_directory() / f"probe_{os.getpid()}"
    try:
        write_whole(probe, bytes(ROOM))
        probe.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def check_cache() -> None:
    """Refuse a cache folder into which nothing can be written.

    Raises:
        ManipDynError: If it is one.
    """
    if why_not := why_not_written():
        raise ManipDynError(
            f"the cache folder '{cache_directory()}' cannot be written ({why_not}): what it does "
            "not have is compiled anew in each process; expected one that can, such as another "
            "MANIP_DYN_CACHE"
        )

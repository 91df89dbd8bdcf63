"""Whether compiled code can be kept."""

from __future__ import annotations

import os

from manip_dyn.core.cache.folder import cache_directory
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_whole


def check_cache() -> None:
    """Write a file into the cache folder and remove it: only that tells whether it can be done.

    Raises:
        ManipDynError: If it cannot; permissions alone do not say so, least of all to root.
    """
    folder = cache_directory()
    probe = folder / f"probe_{os.getpid()}"
    try:
        write_whole(probe, b"")
        probe.unlink()
    except OSError as error:
        raise ManipDynError(
            f"the cache folder '{folder}' cannot be written ({error.strerror or error}), without "
            "which everything is compiled anew in each process; expected one that can, such as "
            "another MANIP_DYN_CACHE"
        ) from error

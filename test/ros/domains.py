"""Domains of ROS that no other process on this machine uses: who has locked a file has its domain."""

from __future__ import annotations

import fcntl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

NUMBERS = range(1, 101)
"""Their ports lie below those that systems give away."""
STRANGERS = 101
"""A domain in which nothing is ever expected."""


@dataclass(frozen=True)
class Domain:
    """A domain that is ours for as long as the file is open.

    Attributes:
        number: Its number.
        file: The locked file.
    """

    number: int
    file: TextIO


def taken() -> Domain:
    """Return a domain that nobody else has; it is given back when the process ends."""
    folder = Path(tempfile.gettempdir()) / "manip_dyn_ros_domains"
    folder.mkdir(exist_ok=True)
    for number in NUMBERS:
        file = (folder / str(number)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
        else:
            return Domain(number, file)
    raise RuntimeError(f"all domains of {folder} are in use")

"""A domain of ROS that no other process on this machine uses: it belongs to who locks a file."""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

NUMBERS = range(1, 101)
"""Their ports lie below those that systems give away."""
STRANGERS = 101
"""A domain in which nothing is ever expected."""
_locked = []


def taken() -> str:
    """Return the number of a domain that nobody else has, until this process ends."""
    folder = Path(tempfile.gettempdir()) / "manip_dyn_ros_domains"
    folder.mkdir(exist_ok=True)
    for number in NUMBERS:
        file = (folder / str(number)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
        else:
            _locked.append(file)
            return str(number)
    raise RuntimeError(f"all domains of {folder} are in use")

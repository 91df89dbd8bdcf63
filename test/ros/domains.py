"""A domain of ROS that no other process on this machine uses: it belongs to who locks a file.

One in which somebody listens is left alone, too: a node that was started by hand, or one that
outlived the tests that had the domain before.
"""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

NUMBERS = range(1, 101)
"""Their ports lie below those that systems give away."""
FIRST_PORT, PORTS = 7400, 250
"""Of domain 0, and how many a domain has, by the RTPS specification (9.6.2.3)."""
STRANGERS = 101
"""A domain in which nothing is ever expected."""
_locked = []


def taken() -> str:
    """Return the number of a domain that nobody else has, until this process ends."""
    folder = Path(tempfile.gettempdir()) / "manip_dyn_ros_domains"
    folder.mkdir(exist_ok=True)
    heard = listened()
    for number in NUMBERS:
        if number in heard:
            continue
        file = (folder / str(number)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
        else:
            _locked.append(file)
            return str(number)
    raise RuntimeError(f"all domains of {folder} are in use")


def listened() -> set[int]:
    """Return the domains in whose ports (7400 + 250 per domain) somebody receives on UDP."""
    ports = [
        int(line.split()[1].rpartition(":")[2], 16)
        for table in map(Path, ("/proc/net/udp", "/proc/net/udp6"))
        if table.exists()
        for line in table.read_text().splitlines()[1:]
    ]
    return {(port - FIRST_PORT) // PORTS for port in ports}

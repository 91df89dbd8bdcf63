"""A ROS domain that no other process on this machine uses, reserved by a locked file.

Domains with open ports are skipped, too: they belong to nodes that were started by hand or that
outlived the tests of this domain.
"""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

NUMBERS = range(1, 101)
"""Domains with ports below the ephemeral range."""
FIRST_PORT, PORTS = 7400, 250
"""First port of domain 0 and ports per domain (RTPS specification, 9.6.2.3)."""
STRANGERS = 101
"""A domain without nodes under test."""
_locked = []


def reserved_domain() -> str:
    """Reserve a domain until this process ends and return its number."""
    folder = Path(tempfile.gettempdir()) / "manip_dyn_ros_domains"
    folder.mkdir(exist_ok=True)
    occupied = domains_in_use()
    for number in NUMBERS:
        if number in occupied:
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


def domains_in_use() -> set[int]:
    """Return the domains with open UDP ports (7400 + 250 per domain)."""
    ports = [
        int(line.split()[1].rpartition(":")[2], 16)
        for table in map(Path, ("/proc/net/udp", "/proc/net/udp6"))
        if table.exists()
        for line in table.read_text().splitlines()[1:]
    ]
    return {(port - FIRST_PORT) // PORTS for port in ports}

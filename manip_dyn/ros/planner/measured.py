"""What was heard of the arm."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.core.checks import Vector


class Measured(NamedTuple):
    """The arm's state: stamp, ns, positions (n,), rad or m, and velocities (n,), per s."""

    stamp_ns: int
    q: Vector
    v: Vector

"""What the modes of the tracker call, as the path begins and goes on."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import NamedTuple

from manip_dyn.clik import TrackingSample


class Calls(NamedTuple):
    """What a mode calls.

    Attributes:
        begun: When the path begins, with the stamp at path time 0, ns.
        before_step: Before every step of the reference.
        told: With every new stamp, ns, and the sample that belongs to it.
        lock: Held meanwhile, where time passes in a thread of its own.
    """

    begun: Callable[[int], None]
    before_step: Callable[[], None]
    told: Callable[[int, TrackingSample], None]
    lock: RLock

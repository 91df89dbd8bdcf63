"""The priority of a process that must not disturb those it listens to."""

from __future__ import annotations

import os
from contextlib import suppress


def give_way(nice: int) -> None:
    """Take less of the processor than others: a nice value, and no fixed priority.

    One that was inherited, of a demo that was started with `chrt -f` or with a negative nice
    value, is for its nodes. To be called before the process has threads of its own.

    Args:
        nice: The nice value from now on, unless it is a greater one already.
    """
    if hasattr(os, "sched_setscheduler"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(max(nice - os.nice(0), 0))

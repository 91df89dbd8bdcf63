"""The priority of a process that must not disturb those it listens to."""

from __future__ import annotations

import os
from contextlib import suppress


def give_way(nice: int) -> None:
    """Take the processor after others: a nice value, and the lowest fixed priority if any.

    One that was inherited, of a demo that was started with `chrt -f`, is for its nodes. It is
    lowered and not given up: a listener that waits for the processor may hold what its publishers
    need, a lock of the shared memory between them, and is what reliable ones repeat messages for.
    To be called before the process has threads of its own.

    Args:
        nice: The nice value from now on, unless it is a greater one already.
    """
    if hasattr(os, "sched_setscheduler"):
        policy = os.sched_getscheduler(0)
        with suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(os.sched_get_priority_min(policy)))
    os.nice(max(nice - os.nice(0), 0))

"""The priority of a process that must not disturb those it listens to."""

from __future__ import annotations

import os
from contextlib import suppress


def give_way(nice: int, prompt: bool = False) -> None:
    """Take the processor after others: a nice value, and no fixed priority or the lowest.

    One that was inherited, of a demo that was started with `chrt -f` or with a negative nice
    value, is for its nodes. To be called before the process has threads of its own.

    Args:
        nice: The nice value from now on, unless it is a greater one already.
        prompt: Whether a fixed priority that was inherited becomes the lowest one instead of none:
            a listener to reliable topics that is kept waiting makes their publishers repeat. One
            to topics that may be missed disturbs them less where it waits.
    """
    if hasattr(os, "sched_setscheduler"):
        policy = os.sched_getscheduler(0)
        fixed = policy in (os.SCHED_FIFO, os.SCHED_RR)
        kept = policy if fixed and prompt else os.SCHED_OTHER
        with suppress(OSError):
            os.sched_setscheduler(0, kept, os.sched_param(os.sched_get_priority_min(kept)))
    os.nice(max(nice - os.nice(0), 0))

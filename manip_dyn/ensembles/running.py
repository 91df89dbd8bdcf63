"""Motions in the lanes of all cores: chunks of them, each in a thread without Python's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.lanes.loop import run
from manip_dyn.ensembles.lanes.series_loop import run_series
from manip_dyn.ensembles.lanes.space import Cases, Kept, Method, Room, Rules, kept_for, room_for

SHARES = 8
"""Chunks of each thread, so that none waits long for another at the end."""


def checked_threads(threads: Any) -> int:
    """Return a number of threads; None is one for each core that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ManipDynError(f"threads is {threads!r}; expected a whole number above 0")
    return threads


def run_all(
    cases: Cases, rules: Rules, method: Method, samples: int, threads: int, fixed: int
) -> Kept:
    """Run all motions, and return what is kept of them.

    Args:
        cases: The motions.
        rules: What rules the loop.
        method: The method's numbers.
        samples: Samples of each motion.
        threads: Threads.
        fixed: Rows that a Taylor series needs once.
    """
    motions = len(cases.starts)
    try:
        kept = kept_for(motions, samples, rules.joints)
    except MemoryError as error:
        raise ManipDynError(
            f"{motions} times {samples} samples do not fit into memory; expected a longer "
            "sample_period, or fewer motions"
        ) from error

    def some(first: int, last: int) -> None:
        room = rooms.pop() if rooms else by_reference(room_for(cases, rules, top, fixed))
        loop(*problem, room, results, first, last)
        rooms.append(room)

    limits = method.limits[0]
    top = int(max(limits["order"], limits["absolute_order"]))
    loop: Any = run_series if rules.width else run
    problem = [by_reference(each) for each in (cases, rules, method)]
    results, rooms = by_reference(kept), list[Room]()  # rooms that no thread is in

    chunk = max(-(-motions // (threads * SHARES)), LANES) if threads > 1 else motions
    firsts = range(0, motions, chunk)
    lasts = [min(first + chunk, motions) for first in firsts]
    if threads == 1 or len(firsts) == 1:
        for first, last in zip(firsts, lasts, strict=True):
            some(first, last)
        return kept
    some(0, 0)  # this thread compiles the loop, where Ctrl-C is heard meanwhile
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(some, firsts, lasts))
    return kept

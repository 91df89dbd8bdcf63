"""Motions in the lanes of all cores: chunks of them, each in a thread without Python's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.lanes.loop import run
from manip_dyn.ensembles.lanes.space import Cases, Kept, Method, Rules, kept_for, room_for

SHARES = 8
"""Chunks of each thread, so that none waits long for another at the end."""


def checked_threads(threads: Any) -> int:
    """Return a number of threads; None is one for each core that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ManipDynError(f"threads is {threads!r}; expected a whole number above 0")
    return threads


def run_all(cases: Cases, rules: Rules, method: Method, samples: int, threads: int) -> Kept:
    """Run all motions, and return what is kept of them."""
    motions = len(cases.starts)
    try:
        kept = kept_for(motions, samples, rules.joints)
    except MemoryError as error:
        raise ManipDynError(
            f"{motions} motions with {samples} samples each do not fit into memory; expected a "
            "longer sample_period, or fewer motions"
        ) from error

    def some(first: int) -> None:
        last = min(first + chunk, motions)
        run(cases, rules, method, room_for(cases, rules), kept, first, last)

    chunk = max(-(-motions // (threads * SHARES)), LANES)
    firsts = range(0, motions, chunk)
    if threads == 1 or len(firsts) == 1:
        for first in firsts:
            some(first)
        return kept
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(some, firsts))
    return kept

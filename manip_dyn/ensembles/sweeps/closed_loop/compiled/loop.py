"""The closed loop, compiled: measure, command, and let the arm move, period by period."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.ensembles.sweeps.closed_loop.compiled.arm import advance
from manip_dyn.ensembles.sweeps.closed_loop.compiled.switching import switch
from manip_dyn.ensembles.sweeps.closed_loop.compiled.tracking import DONE, Command, track

OVER, ASKING, DIVERGED = 0, 1, 2
"""How a run ended: as long as it was to be, `PlanExecutor` is asked, or no finite state."""
TRACK, SWITCH = 0, 1
"""What finds the efforts."""


class Loop(NamedTuple):
    """What a run has, beside arm and law.

    Attributes:
        period: Between measurements, s.
        delay: From a measurement until its command acts, s.
        lead: By how much the executor's time is behind that of the run, s.
        horizon: How far ahead efforts are needed, s.
        offsets: Of the segments of the commands that act, a ring (r, m), s.
        efforts: Of these (r, m, n), N m or N.
        counts: How many there are (r,).
        noise: Of measurements (k, 2 n).
        states: The arm's states at measurements (k + 1, 2 n), written.
    """

    period: float
    delay: float
    lead: float
    horizon: float
    offsets: Matrix
    efforts: Matrix
    counts: Vector
    noise: Matrix
    states: Matrix
    q: Vector
    v: Vector


@compiled(short=True, python=False)
def let_pass(kernels, arm, loop, number, y, scratch):
    """Move the arm by the period after measurement `number`, under the commands that act."""
    ring, period = loop.counts.size, loop.period
    now, end = number * period, (number + 1) * period
    whole = int(np.floor(loop.delay / period + 1e-9))
    change = now + max(loop.delay - whole * period, 0.0)
    while end - now > 1e-12:
        which = max(number - whole - (now < change - 1e-12), -1)
        place, begin = (which + ring) % ring, which * period
        until, acting = end, 0
        if now < change - 1e-12:
            until = min(until, change)
        for k in range(int(loop.counts[place])):
            starts = begin + np.rint(loop.offsets[place, k] * 1e9) * 1e-9
            if starts <= now + 1e-12:
                acting = k
            else:
                until = min(until, starts)
        pushed = arm.push_begin <= now + 1e-12 and now < arm.push_end - 1e-12
        for edge in (arm.push_begin, arm.push_end):
            if edge > now + 1e-12:
                until = min(until, edge)
        for i in range(loop.q.size):
            scratch.tau[i] = loop.efforts[place, acting, i] + (arm.push[i] if pushed else 0.0)
        advance(kernels, arm, y, until - now, scratch)
        now = until


@compiled(short=True)
def run(kernels, arm, law, followed, switched, loop, scratch, mode, first, y):
    """Go on from measurement `first`; return how it ended, and the next measurement's number.

    Where `ASKING`, the state of that measurement stands in `loop.q` and `loop.v`.
    """
    n, last = loop.q.size, loop.noise.shape[0]
    q, v, ring = loop.q, loop.v, loop.counts.size
    for number in range(first, last):
        for i in range(n):
            loop.states[number, i], loop.states[number, n + i] = y[i], y[n + i]
            q[i], v[i] = y[i] + loop.noise[number, i], y[n + i] + loop.noise[number, n + i]
            if not (abs(y[i]) < 1e6 and abs(y[n + i]) < 1e9):
                return DIVERGED, number
        place, t = number % ring, number * loop.period - loop.lead
        command = Command(loop.offsets[place], loop.efforts[place], loop.counts[place : place + 1])
        if mode == TRACK:
            found = track(kernels, law, followed, t, loop.horizon, q, v, command)
        else:
            found = switch(kernels, law, switched, loop.horizon, q, v, command)
        if found != DONE:
            return ASKING, number
        let_pass(kernels, arm, loop, number, y, scratch)
    for i in range(2 * n):
        loop.states[last, i] = y[i]
    return OVER, last


@compiled(short=True)
def one_period(kernels, arm, loop, number, y, scratch):
    """Let one period pass under commands that are there."""
    let_pass(kernels, arm, loop, number, y, scratch)

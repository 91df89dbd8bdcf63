"""A sampled motion followed by feedback: what `PlanExecutor` does on its plan, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.ensembles.sweeps.closed_loop.compiled.law import correct, limit

SAME = 1e-9
"""Times that differ by less are the same, s."""
DONE, ASK = 0, 1
"""Whether a period's efforts were found, or `PlanExecutor` has to find them."""


class Followed(NamedTuple):
    """The reference: a `planning.execution.SampledMotion` from time `begin` on.

    Attributes:
        begin: s.
        off_plan: Error of a joint from which on another motion is needed, rad or m.
        stopping: Whether another one is needed at the end of this.
        integrates: Whether errors are summed before the end, too.
        heard: When a state was heard last, s, NaN before the first; and when the arm began to
            rest at the goal, NaN before, (2,).
    """

    times: Vector
    q: Matrix
    v: Matrix
    efforts: Matrix
    hold: Vector
    wait: Vector
    goal: Vector
    begin: float
    off_plan: float
    stopping: bool
    integrates: bool
    heard: Vector
    q_ref: Vector
    v_ref: Vector
    correction: Vector


class Command(NamedTuple):
    """Segments: offsets (m,), s, efforts (m, n), and their number (1,)."""

    offsets: Vector
    efforts: Matrix
    number: Vector


@compiled(short=True, python=False)
def reference(followed, t):
    """Write the reference's state at t, s, by cubic interpolation."""
    times, q_ref, v_ref = followed.times, followed.q_ref, followed.v_ref
    last, n = times.size - 1, followed.q_ref.size
    if t >= times[last] or t <= 0.0:
        k = last if t >= times[last] else 0
        for i in range(n):
            q_ref[i] = followed.q[k, i]
            v_ref[i] = 0.0 if k == last else followed.v[k, i]
        return
    k = cell(times, t)
    h = times[k + 1] - times[k]
    s = (t - times[k]) / h
    for i in range(n):
        rise = followed.q[k + 1, i] - followed.q[k, i]
        here, there = h * followed.v[k, i], h * followed.v[k + 1, i]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        q_ref[i] = followed.q[k, i] + s * (here + s * (bent + s * turned))
        v_ref[i] = (here + s * (2.0 * bent + 3.0 * s * turned)) / h


@compiled(short=True, python=False)
def cell(times, t):
    """Return the cell that t, s, is in."""
    return max(np.searchsorted(times, t, side="right") - 1, 0)


@compiled(short=True, python=False)
def track(kernels, law, followed, t, horizon, q, v, command):
    """Write the efforts that answer the state (q, v) at t, s; return `DONE` or `ASK`."""
    n, times = q.size, followed.times
    end = followed.begin + times[times.size - 1]
    reference(followed, t - followed.begin)
    q_ref, v_ref = followed.q_ref, followed.v_ref
    farthest = 0.0
    for i in range(n):
        farthest = max(farthest, abs(q[i] - q_ref[i]))
    if not farthest <= followed.off_plan or (followed.stopping and t >= end):
        return ASK
    watch(law, followed, t, end, q, v)
    correct(kernels, law, q, v, q_ref, v_ref, followed.correction)
    count, begin = 0, t - followed.begin
    if begin < 0.0:
        command.offsets[0] = 0.0
        add(kernels, law, followed, q, followed.wait, command, 0)
        count = 1
    last = followed.wait
    for k in range(cell(times, begin), times.size):
        offset = max(times[k] - begin, 0.0)
        if count > 0 and offset >= horizon - SAME:
            break
        effort = followed.efforts[k] if k < followed.efforts.shape[0] else followed.hold
        if count > 0 and offset < SAME:
            count -= 1
        same = count > 0
        for i in range(n):
            same = same and effort[i] == last[i]
        if same:
            continue
        if count == command.offsets.size:
            return ASK
        command.offsets[count] = offset
        add(kernels, law, followed, q, effort, command, count)
        last = effort
        count += 1
    command.number[0] = count
    return DONE


@compiled(short=True, python=False)
def add(kernels, law, followed, q, effort, command, place):
    """Write the efforts of a segment: those of the reference with the correction."""
    for i in range(q.size):
        law.wanted[i] = effort[i] + followed.correction[i]
    limit(kernels, law, q, command.efforts[place])


@compiled(short=True, python=False)
def watch(law, followed, t, end, q, v):
    """Sum up the error, and notice the arrival."""
    over, heard = t >= end, followed.heard[0]
    if heard == heard and (over or followed.integrates) and law.saturated[0] == 0.0:
        for i in range(q.size):
            law.sum[i] += (t - heard) * (followed.q_ref[i] - q[i])
    rests = over
    for i in range(q.size):
        rests = rests and abs(q[i] - followed.goal[i]) <= law.tolerance
        rests = rests and abs(v[i]) <= 10.0 * law.tolerance
    if rests and followed.heard[1] != followed.heard[1]:
        followed.heard[1] = end if heard != heard or heard <= end else t
    followed.heard[0] = t

"""Across a change point: a position where the constraints depend on each other, and motions cross.

A slider-crank whose crank is as long as its rod has one, and a parallelogram two. The motion goes
on smoothly, but beside the point its equations are ill-conditioned: with the condition number c,
errors of positions grow by c in velocities and c^2 in accelerations, and no step that begins or
ends there can meet a narrow tolerance. So one step leads from this side to the other. Where two
such steps of different lengths do not tell the same motion, none is determined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError

BESIDE = 300.0
"""A condition number by so much larger than the least one so far is beside a change point."""
LOST = 1e5
"""By so much larger, and nothing can be computed there."""
LONGER, LONGEST, SHORTEST = 1.5, 18, -3
"""Steps are longer and longer, up to this power, until two of them end on the other side; after a
kink, which is none that a shorter step has, they begin with this one."""
KINK = 0.2
"""How far a step may be from that of the mean velocity, as a share of it: where it is further
beside a change point, it has gone over to another motion."""
AGREEMENT, LARGEST = 1e3, 0.3
"""By how many tolerances the two may differ, and by how much at most, relative."""


def kink(t: Vector, q: Vector, v: Vector) -> Vector:
    """Return how far each step between samples (k, N) is from that of its mean velocity (k - 1,).

    As a share of its length: (h w)^2 / 12 for a motion of the angular frequency w.
    """
    lengths = np.diff(t)[:, np.newaxis]
    off = np.abs(np.diff(q, axis=0) - 0.5 * lengths * (v[1:] + v[:-1])).max(axis=1)
    fastest = np.abs(v).max(axis=1)
    return off / np.maximum(lengths[:, 0] * np.maximum(fastest[1:], fastest[:-1]), 1e-12)


class State(NamedTuple):
    """Time, s, coordinates (N,), their rates (N,), and the condition number there."""

    t: float
    q: Vector
    v: Vector
    condition: float


Step = Callable[[State, float], State]
"""Takes one step, or steps as tolerances ask, from a state to a time."""


def across(
    state: State,
    length: float,
    least: float,
    step: Step,
    steps: Step,
    rtol: float,
    kinked: bool = False,
) -> State | None:
    """Return a state on the other side of a change point; None where none is determined.

    Args:
        state: The last one that is not beside the change point.
        length: Of the step that ended beside it, s.
        least: Least condition number so far.
        step: Takes one step.
        steps: Takes those that the tolerances ask for.
        rtol: Relative tolerance.
        kinked: Whether that step has gone over to another motion.
    """
    found = _beyond(state, length, least, step, kinked)
    near, far = next(found, None), next(found, None)
    if near is None or far is None:
        return None
    try:
        check = steps(near, far.t)
    except ManipDynError:
        return None
    gap = max(
        np.abs(check.q - far.q).max() / (1.0 + np.abs(far.q).max()),
        np.abs(check.v - far.v).max() / (1.0 + np.abs(far.v).max()),
    )
    return near if gap < min(AGREEMENT * rtol, LARGEST) else None


def between(first: State, last: State, t: float) -> tuple[Vector, Vector]:
    """Return coordinates and rates (N,) at a time between two states, by the cubic of both."""
    length = last.t - first.t
    x = (t - first.t) / length
    q = (1.0 + 2.0 * x) * (1.0 - x) ** 2 * first.q + x**2 * (3.0 - 2.0 * x) * last.q
    q = q + length * x * (1.0 - x) * ((1.0 - x) * first.v - x * last.v)
    v = 6.0 * x * (1.0 - x) * (last.q - first.q) / length
    return q, v + (1.0 - x) * (1.0 - 3.0 * x) * first.v + x * (3.0 * x - 2.0) * last.v


def _beyond(
    state: State, length: float, least: float, step: Step, kinked: bool
) -> Iterator[State]:
    """Yield where longer and longer steps end, unless it is beside the change point."""
    for trial in range(SHORTEST if kinked else 1, LONGEST):
        t = state.t + length * LONGER**trial
        try:
            found = step(state, t)
        except ManipDynError:
            continue
        pair = (np.array(each) for each in ((state.t, t), (state.q, found.q), (state.v, found.v)))
        if found.condition < BESIDE * least and kink(*pair)[0] < KINK:
            yield found

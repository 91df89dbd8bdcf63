"""Change points: positions where the constraints depend on each other, and motions cross.

A slider-crank whose crank is as long as its rod has one, and a parallelogram two. The motion
continues smoothly, but near the point its equations are ill-conditioned. With the condition number
c, errors of positions grow by c in velocities and by c^2 in accelerations, and no step that begins
or ends there meets a narrow tolerance. One step therefore leads from one side to the other. If two
such steps of different lengths disagree, no motion is determined.

Near a change point the constraints have several solutions for the same independent coordinates,
and the start of Newton's method decides which one it finds. After a wide step that may belong to
another motion. Between steps that rotate a body far, the coordinates are therefore followed in
small steps along the cubic through both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.state_space import GROWTH, expand, needs_repartition
from manip_dyn.multibody.equations.tables import Forces, Links, Memory, Motion
from manip_dyn.multibody.model.mechanism import Mechanism

NEAR_CHANGE_POINT = 300.0
"""A condition number by so much larger than the least one so far is beside a change point."""
SINGULAR = 1e5
"""By so much larger, and nothing can be computed there."""
LONGER, LONGEST, SHORTEST = 1.5, 18, -3
"""Steps are longer and longer, up to this power, until two of them end on the other side; after a
kink, which is none that a shorter step has, they begin with this one."""
KINK = 0.2
"""How far a step may be from that of the mean velocity, as a share of it: where it is further
beside a change point, it has gone over to another motion."""
AGREEMENT, LARGEST = 1e3, 0.3
"""By how many tolerances the two may differ, and by how much at most, relative."""


def step_kinks(t: Vector, q: Vector, v: Vector) -> Vector:
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


def cross_change_point(
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
    found = _states_beyond(state, length, least, step, kinked)
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


def interpolate_state(first: State, last: State, t: float) -> tuple[Vector, Vector]:
    """Return coordinates and rates (N,) at a time between two states, by the cubic of both."""
    length = last.t - first.t
    x = (t - first.t) / length
    q = (1.0 + 2.0 * x) * (1.0 - x) ** 2 * first.q + x**2 * (3.0 - 2.0 * x) * last.q
    q = q + length * x * (1.0 - x) * ((1.0 - x) * first.v - x * last.v)
    v = 6.0 * x * (1.0 - x) * (last.q - first.q) / length
    return q, v + (1.0 - x) * (1.0 - 3.0 * x) * first.v + x * (3.0 * x - 2.0) * last.v


def _states_beyond(
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
        if found.condition < NEAR_CHANGE_POINT * least and step_kinks(*pair)[0] < KINK:
            yield found


WIDE_TURN, SMALL_TURN = 0.1, 0.04
"""rad: a body that turns by more from step to step is followed by so much at a time."""
MAX_SUBSTEPS = 100
"""Small steps for a wide one."""
BRANCH_DISTANCE = 1e-6
"""m and per Euler parameter: coordinates that differ by more belong to different motions."""


class BranchSamples(NamedTuple):
    """Coordinates (k, N) and rates (k, N) of k steps, as far as they could be assembled.

    Attributes:
        q: Coordinates.
        v: Their rates.
        strayed: Whether the solution has gone over to another motion.
        condition: Largest condition number on the way through wide steps; 0 without any.
    """

    q: Matrix
    v: Matrix
    strayed: bool
    condition: float


def has_loops(mechanism: Mechanism) -> bool:
    """Return whether joints close a loop; without one, no motions cross."""
    group: dict[str, str] = {}

    def first(name: str) -> str:
        while name in group:
            name = group[name]
        return name

    for joint in mechanism.joints:
        one, other = map(first, joint.bodies)
        if one == other:
            return True
        group[one] = other
    return False


def expand_along_branch(
    t: Vector,
    y: Matrix,
    memory: Memory,
    start: tuple[Vector, Vector],
    worst: Vector,
    closely: bool,
) -> BranchSamples:
    """Return all coordinates at times (k,) of states (k, 2 n) that were just solved for.

    Args:
        t: Times, s.
        y: States.
        memory: That they were solved with.
        start: Coordinates (N,) and angles of springs (f,) where they begin.
        worst: As `expand` takes it.
        closely: Whether to follow wide steps in small ones.
    """
    solved = _assembled(y[-1], memory, len(start[0]))
    q, v = _expanded(y, memory, start, worst)
    counts = _substep_counts(q) if closely and len(q) > 1 else np.ones(1)
    condition = 0.0
    if (counts > 1).any():
        states, places = _refined(t, y[: len(q)], counts)
        condition = _largest_condition(states, memory, start)
        q, v = _expanded(states, memory, start, worst)
        places = places[places < len(q)]
        q, v = q[places], v[places]
    elsewhere = solved is not None and bool(np.abs(solved - q[-1]).max() > BRANCH_DISTANCE)
    strayed = len(q) < len(y) or elsewhere
    return BranchSamples(q, v, strayed, condition)


def _assembled(y: Vector, memory: Memory, size: int) -> Vector | None:
    """Return the coordinates (N,) on the branch that the memory is on; None if it is not there."""
    q, here = memory.group(Motion).q, y[: len(y) // 2]
    reached = bool((q[memory.group(Links).independent] == here).all())
    return q[:size].copy() if reached else None


def _restore_start(memory: Memory, start: tuple[Vector, Vector]) -> None:
    memory.group(Links).flags[0] = 0
    memory.group(Motion).q[: len(start[0])] = start[0]
    memory.group(Forces).angles[:] = start[1]


def _expanded(
    y: Matrix, memory: Memory, start: tuple[Vector, Vector], worst: Vector
) -> tuple[Matrix, Matrix]:
    _restore_start(memory, start)
    q, v = np.empty((2, len(y), len(start[0])))
    done = expand(y, memory, q, v, worst)
    return q[:done], v[:done]


def _largest_condition(y: Matrix, memory: Memory, start: tuple[Vector, Vector]) -> float:
    _restore_start(memory, start)
    beyond, largest = np.zeros(1), 0.0
    for state in y:
        needs_repartition(0.0, state, memory, beyond)
        largest = max(largest, beyond[0])
    return float(GROWTH * memory.group(Links).limits[1] * (1.0 + largest))


def _substep_counts(q: Matrix) -> np.ndarray:
    """Return into how many small steps each one between rows of q (k, N) is divided (k - 1,)."""
    parameters = np.diff(q, axis=0).reshape(len(q) - 1, -1, 7)[:, :, 3:]
    turned = 2.0 * np.linalg.norm(parameters, axis=2).max(axis=1)
    counts = np.ceil(np.minimum(turned / SMALL_TURN, MAX_SUBSTEPS)).astype(int)
    return np.where(turned > WIDE_TURN, counts, 1)


def _refined(t: Vector, y: Matrix, counts: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """Return states with others between them, and where the given ones are."""
    n = y.shape[1] // 2
    rows = [y[:1]]
    for k, count in enumerate(counts):
        first, last = (State(t[i], y[i, :n], y[i, n:], np.nan) for i in (k, k + 1))
        times = t[k] + (t[k + 1] - t[k]) * np.arange(1, count) / count
        rows += [
            np.concatenate(interpolate_state(first, last, time))[np.newaxis] for time in times
        ]
        rows.append(y[k + 1 : k + 2])
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(counts)])

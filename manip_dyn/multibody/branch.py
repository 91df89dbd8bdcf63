"""Along one branch: all coordinates at the steps of a solution, without a jump to another motion.

Where motions cross, at a change point, the constraints have several solutions for the same
independent coordinates, and the one that Newton's method finds depends on where it begins. From
one wide step to the next that may be another motion's. So between steps that turn a body far, the
coordinates are followed in small ones along the cubic of both ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody.change_point import State, between
from manip_dyn.multibody.equations.expansion import expand
from manip_dyn.multibody.equations.memory import Memory
from manip_dyn.multibody.equations.state_space import GROWTH, needs_repartition
from manip_dyn.multibody.equations.tables import Forces, Links, Motion
from manip_dyn.multibody.model.mechanism import Mechanism

WIDE, SMALL = 0.1, 0.04
"""rad: a body that turns by more from step to step is followed by so much at a time."""
MOST = 100
"""Small steps for a wide one."""
APART = 1e-6
"""m and per Euler parameter: coordinates that differ by more belong to different motions."""


class Followed(NamedTuple):
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


def followed(
    t: Vector,
    y: Matrix,
    memory: Memory,
    start: tuple[Vector, Vector],
    worst: Vector,
    closely: bool,
) -> Followed:
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
    counts = _counts(q) if closely and len(q) > 1 else np.ones(1)
    condition = 0.0
    if (counts > 1).any():
        states, places = _closer(t, y[: len(q)], counts)
        condition = _largest_condition(states, memory, start)
        q, v = _expanded(states, memory, start, worst)
        places = places[places < len(q)]
        q, v = q[places], v[places]
    elsewhere = solved is not None and bool(np.abs(solved - q[-1]).max() > APART)
    strayed = len(q) < len(y) or elsewhere
    return Followed(q, v, strayed, condition)


def _assembled(y: Vector, memory: Memory, size: int) -> Vector | None:
    """Return the coordinates (N,) on the branch that the memory is on; None if it is not there."""
    q, here = memory.group(Motion).q, y[: len(y) // 2]
    reached = bool((q[memory.group(Links).independent] == here).all())
    return q[:size].copy() if reached else None


def _stand(memory: Memory, start: tuple[Vector, Vector]) -> None:
    memory.group(Links).flags[0] = 0
    memory.group(Motion).q[: len(start[0])] = start[0]
    memory.group(Forces).angles[:] = start[1]


def _expanded(
    y: Matrix, memory: Memory, start: tuple[Vector, Vector], worst: Vector
) -> tuple[Matrix, Matrix]:
    _stand(memory, start)
    q, v = np.empty((2, len(y), len(start[0])))
    done = expand(y, memory, q, v, worst)
    return q[:done], v[:done]


def _largest_condition(y: Matrix, memory: Memory, start: tuple[Vector, Vector]) -> float:
    _stand(memory, start)
    beyond, largest = np.zeros(1), 0.0
    for state in y:
        needs_repartition(0.0, state, memory, beyond)
        largest = max(largest, beyond[0])
    return float(GROWTH * memory.group(Links).limits[1] * (1.0 + largest))


def _counts(q: Matrix) -> np.ndarray:
    """Return into how many small steps each one between rows of q (k, N) is divided (k - 1,)."""
    parameters = np.diff(q, axis=0).reshape(len(q) - 1, -1, 7)[:, :, 3:]
    turned = 2.0 * np.linalg.norm(parameters, axis=2).max(axis=1)
    counts = np.ceil(np.minimum(turned / SMALL, MOST)).astype(int)
    return np.where(turned > WIDE, counts, 1)


def _closer(t: Vector, y: Matrix, counts: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """Return states with others between them, and where the given ones are."""
    n = y.shape[1] // 2
    rows = [y[:1]]
    for k, count in enumerate(counts):
        first, last = (State(t[i], y[i, :n], y[i, n:], np.nan) for i in (k, k + 1))
        times = t[k] + (t[k + 1] - t[k]) * np.arange(1, count) / count
        rows += [np.concatenate(between(first, last, time))[np.newaxis] for time in times]
        rows.append(y[k + 1 : k + 2])
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(counts)])

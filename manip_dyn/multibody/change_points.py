"""Change points: positions where constraints become dependent and several motions meet.

A parallelogram and a slider-crank with crank and rod of equal length have change points. The
motion continues smoothly, but near such a point its equations are ill-conditioned. If the
condition number is c, position errors are amplified by c in velocities and by c^2 in
accelerations. A step that starts or ends near the point cannot satisfy tight tolerances, so a
single step crosses it. If two such steps of different lengths disagree, the motion is not
determined.

Near a change point the constraints have several solutions for the same independent coordinates,
and the initial guess of Newton's method selects one. After a wide step, this solution may belong
to another motion. Steps that rotate a body by a large angle are therefore divided into small steps
along the cubic through both ends.
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
"""Ratio of the condition number to its minimum above which a position is near a change point."""
SINGULAR = 1e5
"""Ratio above which a position is singular, so that no motion can be computed from it."""
LONGER, LONGEST, SHORTEST = 1.5, 18, -3
"""Growth factor of trial steps, exclusive upper end of its powers, and first power after a kink.
Trials end when two steps have crossed the change point."""
KINK = 0.2
"""Largest relative deviation of a step from uniformly accelerated motion. A step near a change
point with a larger deviation has changed to another motion."""
AGREEMENT, LARGEST = 1e3, 0.3
"""Largest allowed relative difference between the two steps: as a multiple of the tolerance, and
as an absolute limit."""


def step_kinks(t: Vector, q: Vector, v: Vector) -> Vector:
    """Return the relative deviations (k - 1,) of k - 1 steps from uniformly accelerated motion.

    The samples q, v have the shape (k, N). For a step h of a harmonic motion with the angular
    frequency w, the deviation is about (h w)^2 / 12.
    """
    lengths = np.diff(t)[:, np.newaxis]
    deviations = np.abs(np.diff(q, axis=0) - 0.5 * lengths * (v[1:] + v[:-1])).max(axis=1)
    fastest = np.abs(v).max(axis=1)
    return deviations / np.maximum(lengths[:, 0] * np.maximum(fastest[1:], fastest[:-1]), 1e-12)


class State(NamedTuple):
    """Time in seconds, coordinates (N,), their rates (N,), and the condition number."""

    t: float
    q: Vector
    v: Vector
    condition: float


Step = Callable[[State, float], State]
"""Function that integrates from a state to a time."""


def cross_change_point(
    state: State,
    length: float,
    least: float,
    step: Step,
    steps: Step,
    rtol: float,
    kinked: bool = False,
) -> State | None:
    """Return a state beyond a change point, or None if no steps cross it or they disagree.

    Args:
        state: Last state that is not near the change point.
        length: Length of the step that ended near the change point, s.
        least: Smallest condition number of the motion.
        step: Function that integrates in one step.
        steps: Function that integrates in steps that satisfy the tolerances.
        rtol: Relative tolerance.
        kinked: Whether the last step changed to another motion. Shorter steps are then tried
            first.
    """
    states = _states_beyond(state, length, least, step, kinked)
    near, far = next(states, None), next(states, None)
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
    """Return coordinates and rates (N,) at a time between two states, by cubic interpolation."""
    length = last.t - first.t
    x = (t - first.t) / length
    q = (1.0 + 2.0 * x) * (1.0 - x) ** 2 * first.q + x**2 * (3.0 - 2.0 * x) * last.q
    q = q + length * x * (1.0 - x) * ((1.0 - x) * first.v - x * last.v)
    v = 6.0 * x * (1.0 - x) * (last.q - first.q) / length
    return q, v + (1.0 - x) * (1.0 - 3.0 * x) * first.v + x * (3.0 * x - 2.0) * last.v


def _states_beyond(
    state: State, length: float, least: float, step: Step, kinked: bool
) -> Iterator[State]:
    """Yield the end states of steps of growing length that are beyond the change point."""
    for trial in range(SHORTEST if kinked else 1, LONGEST):
        t = state.t + length * LONGER**trial
        try:
            end = step(state, t)
        except ManipDynError:
            continue
        ends = (np.array(pair) for pair in ((state.t, t), (state.q, end.q), (state.v, end.v)))
        if end.condition < NEAR_CHANGE_POINT * least and step_kinks(*ends)[0] < KINK:
            yield end


WIDE_TURN, SMALL_TURN = 0.1, 0.04
"""Rotation of a body per step above which the step is divided, and rotation per substep, rad."""
MAX_SUBSTEPS = 100
"""Maximum number of substeps of a step."""
BRANCH_DISTANCE = 1e-6
"""Difference above which coordinates belong to different motions, m or Euler parameters."""


class BranchSamples(NamedTuple):
    """Coordinates and rates at k steps, up to the first state that cannot be assembled.

    Attributes:
        q: Coordinates (k, N).
        v: Rates of the coordinates (k, N).
        strayed: Whether the solution has changed to another motion, or cannot be assembled.
        condition: Largest condition number along wide steps; 0 if there are none.
    """

    q: Matrix
    v: Matrix
    strayed: bool
    condition: float


def has_loops(mechanism: Mechanism) -> bool:
    """Return whether joints form a closed loop; otherwise there are no change points."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while name in group:
            name = group[name]
        return name

    for joint in mechanism.joints:
        first_root, second_root = map(root, joint.bodies)
        if first_root == second_root:
            return True
        group[first_root] = second_root
    return False


def expand_along_branch(
    t: Vector,
    y: Matrix,
    memory: Memory,
    start: tuple[Vector, Vector],
    worst: Vector,
    closely: bool,
) -> BranchSamples:
    """Return all coordinates and rates at the states of a solution.

    Args:
        t: Times (k,), s.
        y: States of the independent coordinates (k, 2 n).
        memory: Memory of the solution.
        start: Coordinates (N,) and spring angles (f,) at the start of the solution.
        worst: Largest violations, see `expand`.
        closely: Whether to divide wide steps.
    """
    solved = _assembled(y[-1], memory, len(start[0]))
    q, v = _expanded(y, memory, start, worst)
    counts = _substep_counts(q) if closely and len(q) > 1 else np.ones(1)
    condition = 0.0
    if (counts > 1).any():
        states, indices = _refined(t, y[: len(q)], counts)
        condition = _largest_condition(states, memory, start)
        q, v = _expanded(states, memory, start, worst)
        indices = indices[indices < len(q)]
        q, v = q[indices], v[indices]
    different = solved is not None and bool(np.abs(solved - q[-1]).max() > BRANCH_DISTANCE)
    strayed = len(q) < len(y) or different
    return BranchSamples(q, v, strayed, condition)


def _assembled(y: Vector, memory: Memory, size: int) -> Vector | None:
    """Return the coordinates (N,) in the memory if they belong to the state y, else None."""
    q, independent = memory.array(Motion, "q"), y[: len(y) // 2]
    current = bool((q[memory.array(Links, "independent")] == independent).all())
    return q[:size].copy() if current else None


def _restore_start(memory: Memory, start: tuple[Vector, Vector]) -> None:
    memory.array(Links, "flags")[0] = 0
    memory.array(Motion, "q")[: len(start[0])] = start[0]
    memory.array(Forces, "angles")[:] = start[1]


def _expanded(
    y: Matrix, memory: Memory, start: tuple[Vector, Vector], worst: Vector
) -> tuple[Matrix, Matrix]:
    _restore_start(memory, start)
    q, v = np.empty((2, len(y), len(start[0])))
    count = expand(y, memory, q, v, worst)
    return q[:count], v[:count]


def _largest_condition(y: Matrix, memory: Memory, start: tuple[Vector, Vector]) -> float:
    _restore_start(memory, start)
    excess, largest = np.zeros(1), 0.0
    for state in y:
        needs_repartition(0.0, state, memory, excess)
        largest = max(largest, excess[0])
    return float(GROWTH * memory.array(Links, "limits")[1] * (1.0 + largest))


def _substep_counts(q: Matrix) -> np.ndarray:
    """Return the number of substeps (k - 1,) of each step between rows of q (k, N)."""
    parameters = np.diff(q, axis=0).reshape(len(q) - 1, -1, 7)[:, :, 3:]
    rotations = 2.0 * np.linalg.norm(parameters, axis=2).max(axis=1)
    counts = np.ceil(np.minimum(rotations / SMALL_TURN, MAX_SUBSTEPS)).astype(int)
    return np.where(rotations > WIDE_TURN, counts, 1)


def _refined(t: Vector, y: Matrix, counts: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """Insert interpolated states; return all states and the indices of the original ones."""
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

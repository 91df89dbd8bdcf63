"""Position and speed limits at the ends of cells: active limits and residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, inlined


class Transfer(NamedTuple):
    """Start, goal and limits of a motion.

    Attributes:
        start: State (2 n,), at rest.
        goal: State (2 n,), at rest.
        limits: Limits of the efforts (n,).
        low: Lower limits of the state (2 n,).
        high: Upper limits of the state (2 n,).
        scale: Scales of state differences (2 n,): the largest distance between start and goal, and
            this distance divided by the first duration.
    """

    start: Vector
    goal: Vector
    limits: Vector
    low: Vector
    high: Vector
    scale: Vector


class ActiveLimits(NamedTuple):
    """The limits that are rows of the linear program, with capacity for k limits.

    Attributes:
        node: Node indices.
        component: Indices in the state.
        side: 1 for upper limits, -1 for lower limits.
    """

    node: NDArray[np.int64]
    component: NDArray[np.int64]
    side: NDArray[np.int64]


@inlined(counted=False)
def clearance(transfer, states, node, component, side):
    """Return the distance of a state from one of its limits, positive inside."""
    if side > 0:
        return transfer.high[component] - states[node, component]
    return states[node, component] - transfer.low[component]


@compiled(short=True, python=False, counted=False)
def limit_excess(transfer, states):
    """Return the scaled sum of all limit violations between both ends."""
    result = 0.0
    for k in range(1, states.shape[0] - 1):
        for i in range(states.shape[1]):
            over, under = states[k, i] - transfer.high[i], transfer.low[i] - states[k, i]
            result += max(over, under, 0.0) / transfer.scale[i]
    return result


@compiled(short=True, python=False, counted=False)
def add_near_limits(transfer, states, near, watched, count):
    """Add the limits within the scaled distance `near` of a state; return the limit count."""
    for k in range(1, states.shape[0] - 1):
        for i in range(states.shape[1]):
            for side in range(-1, 2, 2):
                distance = clearance(transfer, states, k, i, side)
                if distance > near * transfer.scale[i] or count == watched.node.shape[0]:
                    continue
                is_listed = False
                for r in range(count):
                    if watched.node[r] == k and watched.component[r] == i:
                        is_listed = is_listed or watched.side[r] == side
                if not is_listed:
                    watched.node[count] = k
                    watched.component[count] = i
                    watched.side[count] = side
                    count += 1
    return count


@compiled(short=True, python=False, counted=False)
def residuals(transfer, states, watched, count, out):
    """Write the scaled distance to the goal (2 n,) and the clearances of the active limits.

    Return the sum of the absolute distances to the goal.
    """
    cells, m = states.shape[0] - 1, states.shape[1]
    for i in range(m):
        out[i] = (transfer.goal[i] - states[cells, i]) / transfer.scale[i]
    for r in range(count):
        i = watched.component[r]
        distance = clearance(transfer, states, watched.node[r], i, watched.side[r])
        out[m + r] = distance / transfer.scale[i]
    return absolute_sum(out, m)


@inlined(counted=False)
def absolute_sum(values, m):
    """Return the sum of the absolute values of the first m values."""
    result = 0.0
    for i in range(m):
        result += abs(values[i])
    return result


def largest_residual(transfer: Transfer, states: Vector) -> float:
    """Return the largest scaled distance from the goal or beyond a limit."""
    missed, inside = np.abs(transfer.goal - states[-1]), states[1:-1]
    beyond = np.maximum(inside - transfer.high, transfer.low - inside).max(axis=0)
    largest = float((np.maximum(missed, beyond) / transfer.scale).max())
    return largest if np.isfinite(largest) else np.inf

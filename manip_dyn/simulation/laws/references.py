"""Plans as schedules, and as references for feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.simulation.laws.effort_laws import Schedule

INSIDE = 1e-12
"""How far inside a step its ends are counted, s, where a reference jumps."""


@runtime_checkable
class Planned(Protocol):
    """What a law takes of a `Plan`, which see."""

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time t, s."""

    def samples(self, period: float) -> Any:
        """Return times and efforts, each held until the next."""


class References(NamedTuple):
    """Motions to follow: times (g,), s; positions and velocities (g, 2 n); rows of each (N, 2)."""

    knots: Vector
    states: Vector
    ranges: Vector


def schedule_of(robot: Robot, plan: Any, period: float) -> Schedule:
    """Return the efforts of a plan, held for `period`, s, at most where they change smoothly."""
    _check(robot, plan)
    held = {round(t * 1e9): effort for t, effort in plan.samples(period)}
    return Schedule(robot, list(held), list(held.values()))


def stops_of(robot: Robot, plan: Any, period: float = 0.0) -> Schedule:
    """Return no efforts, but where steps have to end: accelerations of the plan may jump there."""
    times = np.unique(_whole([*plan.knots, 0.0, plan.t_final]))
    return Schedule(robot, times.tolist(), list(np.zeros((len(times), robot.n))))


def references_of(robot: Robot, plans: Sequence[Any], period: float) -> References:
    """Return the motions of plans at their knots and every `period`, s, between them."""
    knots, states, ranges = [], [], []
    first = 0
    for plan in plans:
        _check(robot, plan)
        times = _times(plan, period)
        knots.append(times)
        states += [np.concatenate(plan.state(t)) for t in times]
        ranges.append((first, first + len(times)))
        first += len(times)
    return References(np.concatenate(knots), np.array(states), np.array(ranges))


def targets(q: Vector) -> References:
    """Return references that stand at positions (k, n)."""
    count = len(q)
    places = np.arange(count)
    states = np.concatenate([q, np.zeros_like(q)], axis=1)
    return References(np.zeros(count), states, np.stack([places, places + 1], axis=1))


def _times(plan: Any, period: float) -> Vector:
    even = np.arange(0.0, plan.t_final, period)
    return 1e-9 * np.unique(_whole([*plan.knots, *even, 0.0, plan.t_final]))


def _whole(times: ArrayLike) -> Vector:
    """Return times, s, in whole nanoseconds, as steps end."""
    return np.round(1e9 * np.asarray(times)).astype(np.int64)


def _check(robot: Robot, plan: Any) -> None:
    if plan.robot.joint_names != robot.joint_names:
        raise ManipDynError(
            f"the plan is for '{plan.robot.name}' with joints {', '.join(plan.joint_names)}; "
            f"expected those of '{robot.name}': {', '.join(robot.joint_names)}"
        )

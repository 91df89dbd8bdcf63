"""Effort laws: joint efforts as functions of time and state, saturated at the limits.

Times are whole nanoseconds. A switch therefore happens exactly at the requested time, and two runs
agree bit for bit. Plans become schedules, and references for feedback.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

ROUNDED = 1.0 + 1e-9
"""Share of a limit from which on an effort is beyond it."""


@runtime_checkable
class EffortLaw(Protocol):
    """Joint efforts over time."""

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act from `time_ns` on, N m or N."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return the first jump of the efforts after `time_ns`, or None."""


class Schedule:
    """Piecewise constant efforts: each holds until the next begins, the last one for good.

    Before its first time the first effort acts.

    Attributes:
        times_ns: When each begins (k), ns.
        efforts: What acts from then on, within the limits, (n,) each.
        cut_off: Of which joints (n,) an effort was beyond the limit.
    """

    def __init__(self, robot: Robot, times_ns: Sequence[int], efforts: Sequence[ArrayLike]):
        """Take efforts (k, n) from `times_ns` (k,) on; rising times, finite efforts."""
        checked_robot(robot)
        given: Any
        for name, given in (("times", times_ns), ("efforts", efforts)):
            if not hasattr(given, "__len__"):
                raise ManipDynError(f"an effort schedule has {name} {given!r}; expected a list")
        if len(times_ns) != len(efforts) or len(times_ns) == 0:
            raise ManipDynError(
                f"an effort schedule has {len(times_ns)} times and {len(efforts)} efforts; "
                "expected as many of both, and at least one"
            )
        for time in times_ns:
            if not isinstance(time, (int, float, np.number)) or time % 1 != 0:
                raise ManipDynError(
                    f"an effort schedule has the time {time} ns; expected whole nanoseconds"
                )
        for before, after in pairwise(times_ns):
            if after <= before:
                raise ManipDynError(
                    f"an effort schedule has the time {after} ns after {before} ns; "
                    "expected rising times"
                )
        self._robot = robot
        self.times_ns = [int(time) for time in times_ns]
        wanted = [finite_vector("effort", effort, robot.n) for effort in efforts]
        self.efforts = [np.clip(effort, -robot.tau_max, robot.tau_max) for effort in wanted]
        self.cut_off = beyond(robot, np.array(wanted))

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts that act from `time_ns` on."""
        return self.efforts[max(bisect_right(self.times_ns, time_ns) - 1, 0)]

    def next_switch(self, time_ns: int) -> int | None:
        """Return the time of the next effort after `time_ns`."""
        place = max(bisect_right(self.times_ns, time_ns), 1)
        return self.times_ns[place] if place < len(self.times_ns) else None

    def check_for(self, robot: Robot) -> None:
        """Refuse another robot than the one whose limits the efforts keep; masses may differ.

        Raises:
            ManipDynError: If its joints have other names or effort limits.
        """
        own = self._robot
        if robot is own:
            return
        for what, these, those in (
            ("joints", list(own.joint_names), list(robot.joint_names)),
            ("effort limits", own.tau_max.tolist(), robot.tau_max.tolist()),
        ):
            if these != those:
                raise ManipDynError(
                    f"effort is a schedule for '{own.name}' with the {what} {these}; expected one "
                    f"for '{robot.name}', {those}"
                )

    def preceded_by(self, time_ns: int, effort: Vector) -> Schedule:
        """Return the schedule with `effort` (n,) acting from `time_ns` until its first time."""
        return Schedule(
            self._robot, [time_ns, *self.times_ns], [np.asarray(effort), *self.efforts]
        )


def beyond(robot: Robot, efforts: Vector) -> NDArray[np.bool_]:
    """Return of which joints (n,) an effort (k, n) is beyond its limit, rounding apart."""
    return np.any(np.abs(efforts) > ROUNDED * robot.tau_max, axis=0)


def held(robot: Robot, effort: ArrayLike) -> Schedule:
    """Return a constant effort."""
    return Schedule(robot, [0], [effort])


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
    _check_plan(robot, plan)
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
        _check_plan(robot, plan)
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


def _check_plan(robot: Robot, plan: Any) -> None:
    if plan.robot.joint_names != robot.joint_names:
        raise ManipDynError(
            f"the plan is for '{plan.robot.name}' with joints {', '.join(plan.joint_names)}; "
            f"expected those of '{robot.name}': {', '.join(robot.joint_names)}"
        )

"""Effort laws: joint efforts as functions of time and state, saturated at the limits.

Times are whole nanoseconds. A switch therefore occurs exactly at the requested time, and two runs
agree bit for bit. Plans are converted to schedules and to references for feedback.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.core.checks import MOST_NANOSECONDS, Matrix, Vector, finite_array, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

ROUNDED = 1.0 + 1e-9
"""Multiple of its limit above which an effort counts as exceeding the limit."""
_MOST_PLANS = 64
"""Number of plans whose samples are cached."""


@runtime_checkable
class EffortLaw(Protocol):
    """Interface of a law that determines the joint efforts over time."""

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,), N m or N, that act after `time_ns`."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return the time (ns) of the first jump of the efforts after `time_ns`, or None."""


class Pieces(NamedTuple):
    """Piecewise constant efforts for compiled code.

    Attributes:
        times_ns: Start times (k,), ns.
        efforts: Efforts (k, n), N m or N.
        current: Array (n,) for the efforts of an interval, which compiled code sets.
        span: Array (2,) for start and end of the interval, s, which compiled code sets.
    """

    times_ns: np.ndarray
    efforts: Matrix
    current: Vector
    span: Vector


def no_pieces(n: int, switches_ns: Sequence[int] = ()) -> Pieces:
    """Return zero efforts of n joints for compiled code, with times at which steps end, ns."""
    times = np.array([0, *switches_ns], dtype=np.int64)
    return Pieces(times, np.zeros((len(times), n)), np.empty(n), np.empty(2))


class Schedule:
    """Piecewise constant efforts. Each acts until the next one starts, the last one indefinitely.

    The first effort also acts before its start time.

    Attributes:
        times_ns: Start times of the k efforts, ns.
        efforts: List of k efforts (n,), clipped to the limits.
        cut_off: Flags (n,) of the joints with clipped efforts.
    """

    def __init__(
        self, robot: Robot, times_ns: Sequence[int], efforts: Sequence[ArrayLike] | Matrix
    ):
        """Set efforts (k, n), N m or N, that start at `times_ns` (k,), increasing whole numbers.

        Raises:
            ManipDynError: If there are no efforts, their number differs from that of the times, or
                a number is invalid.
        """
        checked_robot(robot)
        values: Any
        for name, values in (("times", times_ns), ("efforts", efforts)):
            if not hasattr(values, "__len__"):
                raise ManipDynError(f"effort schedule {name} must be a list, got {values!r}.")
        if len(times_ns) != len(efforts) or len(times_ns) == 0:
            raise ManipDynError(
                "effort schedule must have the same number of times and efforts, at least one, "
                f"got {len(times_ns)} and {len(efforts)}."
            )
        for time in times_ns:
            if not isinstance(time, (int, float, np.number)) or time % 1 != 0:
                raise ManipDynError(
                    f"effort schedule times must be whole nanoseconds, got {time}."
                )
        for before, after in pairwise(times_ns):
            if after <= before:
                raise ManipDynError(
                    f"effort schedule times must increase, got {before} ns followed by {after} ns."
                )
        self._robot = robot
        self.times_ns = [int(time) for time in times_ns]
        unclipped = finite_array("efforts", efforts, (len(efforts), robot.n))
        self.efforts = list(np.clip(unclipped, -robot.tau_max, robot.tau_max))
        self.cut_off = exceeds_limits(robot, unclipped).any(axis=0)

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act after `time_ns`."""
        return self.efforts[max(bisect_right(self.times_ns, time_ns) - 1, 0)]

    def next_switch(self, time_ns: int) -> int | None:
        """Return the start time (ns) of the first effort after `time_ns`, or None."""
        index = max(bisect_right(self.times_ns, time_ns), 1)
        return self.times_ns[index] if index < len(self.times_ns) else None

    def pieces(self) -> Pieces:
        """Return the efforts for compiled code."""
        times = [min(time, MOST_NANOSECONDS) for time in self.times_ns]
        return Pieces(
            np.array(times), np.array(self.efforts), np.empty(self._robot.n), np.empty(2)
        )

    def check_for(self, robot: Robot) -> None:
        """Check that a robot has the joints and effort limits of the schedule; masses may differ.

        Raises:
            ManipDynError: If joint names or effort limits differ.
        """
        own = self._robot
        if robot is own:
            return
        for name, actual, expected in (
            ("joints", list(own.joint_names), list(robot.joint_names)),
            ("effort limits", own.tau_max.tolist(), robot.tau_max.tolist()),
        ):
            if actual != expected:
                raise ManipDynError(
                    f"effort must be a schedule for '{robot.name}' with the {name} {expected}, "
                    f"got one for '{own.name}' with {actual}."
                )

    def preceded_by(self, time_ns: int, effort: Vector) -> Schedule:
        """Return this schedule after an initial `effort` (n,), which starts at `time_ns`."""
        return Schedule(
            self._robot, [time_ns, *self.times_ns], [np.asarray(effort), *self.efforts]
        )


def exceeds_limits(robot: Robot, efforts: Matrix) -> NDArray[np.bool_]:
    """Return flags (k, n) of efforts (k, n) above the limit of the joint, except for rounding."""
    return np.abs(efforts) > ROUNDED * robot.tau_max


def held(robot: Robot, effort: ArrayLike) -> Schedule:
    """Return a schedule with one constant effort (n,)."""
    return Schedule(robot, [0], [finite_vector("effort", effort, robot.n)])


@lru_cache(maxsize=32)
def unpowered(robot: Robot) -> Schedule:
    """Return a schedule of zero efforts."""
    return held(robot, np.zeros(robot.n))


INSIDE = 1e-12
"""Distance from the ends of a step at which a reference with jumps is evaluated, s."""


@runtime_checkable
class Planned(Protocol):
    """Methods by which effort laws recognize a `Plan`."""

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time t, s."""

    def samples(self, period: float) -> Any:
        """Return pairs of a time, s, and the efforts (n,) held from it until the next time."""


class ReferenceMotions(NamedTuple):
    """Sampled motions: times (g,), s, states (g, 2 n), and row ranges of the motions (N, 2)."""

    knots: Vector
    states: Vector
    ranges: Vector


def schedule_of(robot: Robot, plan: Any, period: float) -> Schedule:
    """Return the schedule of a plan, with smooth efforts held for at most `period` (s)."""
    _check_plan(robot, plan)
    times, efforts = _sampled_efforts(plan, period)
    return Schedule(robot, times, efforts)


@lru_cache(maxsize=_MOST_PLANS)
def _sampled_efforts(plan: Any, period: float) -> tuple[list[int], list[Vector]]:
    """Return the times (ns) and the efforts of a plan; later calls for the plan are fast."""
    efforts = {round(t * 1e9): effort for t, effort in plan.samples(period)}
    return list(efforts), list(efforts.values())


@lru_cache(maxsize=_MOST_PLANS)
def _sampled_states(plan: Any, period: float) -> tuple[Vector, Matrix]:
    """Return the times (k,), s, and the states (k, 2 n) of a plan."""
    times = _times(plan, period)
    return times, np.array([np.concatenate(plan.state(t)) for t in times])


def stops_of(robot: Robot, plan: Any, period: float = 0.0) -> Schedule:
    """Return a schedule of zero efforts that switches where the plan's accelerations may jump."""
    times = np.unique(_whole([*plan.knots, 0.0, plan.t_final]))
    return Schedule(robot, times.tolist(), list(np.zeros((len(times), robot.n))))


def references_of(robot: Robot, plans: Sequence[Any], period: float) -> ReferenceMotions:
    """Sample the motions of plans at their knots and every `period` (s) in between."""
    knots, states, ranges = [], [], []
    first = 0
    for plan in plans:
        _check_plan(robot, plan)
        times, rows = _sampled_states(plan, period)
        knots.append(times)
        states.append(rows)
        ranges.append((first, first + len(times)))
        first += len(times)
    return ReferenceMotions(np.concatenate(knots), np.concatenate(states), np.array(ranges))


def targets(q: Vector) -> ReferenceMotions:
    """Return k constant references: positions `q` (k, n) with zero velocity."""
    count = len(q)
    rows = np.arange(count)
    states = np.concatenate([q, np.zeros_like(q)], axis=1)
    return ReferenceMotions(np.zeros(count), states, np.stack([rows, rows + 1], axis=1))


def _times(plan: Any, period: float) -> Vector:
    even = np.arange(0.0, plan.t_final, period)
    return 1e-9 * np.unique(_whole([*plan.knots, *even, 0.0, plan.t_final]))


def _whole(times: ArrayLike) -> Vector:
    """Convert times from seconds to whole nanoseconds, at which steps end."""
    return np.round(1e9 * np.asarray(times)).astype(np.int64)


def _check_plan(robot: Robot, plan: Any) -> None:
    if plan.robot.joint_names != robot.joint_names:
        raise ManipDynError(
            f"plan must have the joints of '{robot.name}', {', '.join(robot.joint_names)}, got "
            f"those of '{plan.robot.name}': {', '.join(plan.joint_names)}."
        )

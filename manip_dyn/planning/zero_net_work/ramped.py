"""Zero-net-work plans for actuators whose efforts cannot jump: bang-bang with finite ramps.

Fan (2003) names them as future work. Every joint has one switch between two levels, all arrive
together (`ramps`), and linear programs make the motion fast (`ramped_search`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.plan import FiniteRamps, Plan
from manip_dyn.planning.zero_net_work.ramped_motion import RampedMotion
from manip_dyn.planning.zero_net_work.ramped_search import MISS, RampedSearch, Result
from manip_dyn.planning.zero_net_work.ramps import Ramps
from manip_dyn.robot import Robot

SHORTEST, RATIO, LONGEST = 1.2, 1.4, 3.0
"""Durations of initial guesses: over that without ramps, of one to the next, over the expected."""
GROWTH = (0.1, 0.2, 0.4, 0.7, 1.0)
"""Shares of the displacement by which an initial guess grows."""
MOST_GUESSES = 3
"""Up to so many joints, all initial guesses are tried; else until one leads to the goal."""
MARGIN, TIGHTENINGS = 1.5, 6
"""By how much more than it was passed a limit is tightened, and how often."""
CHECKED, WITHIN = 200, 1e-9
"""Parts of a motion at whose ends limits are checked, and by how much one may be passed."""
FULL, FAST = 0.999, 0.9
"""Shares of a limit from which on an effort is at it, and a joint would rather cruise."""


class _Task(NamedTuple):
    """A motion to find, and the efforts (n,) that hold the arm at both ends."""

    robot: Robot
    start: Vector
    goal: Vector
    holds: tuple[Vector, Vector]
    slew_rate: Vector


_Found = tuple[RampedSearch, Result]


def slew_rates(robot: Robot, slew_rate: ArrayLike) -> Vector:
    """Return the slew rates (n,) that one number or one per joint means."""
    given = np.full(robot.n, slew_rate) if np.ndim(slew_rate) == 0 else slew_rate
    rates = finite_vector("slew_rate", given, robot.n)
    for joint, rate in zip(robot.joint_names, rates, strict=True):
        if not rate > 0.0:
            raise ManipDynError(
                f"slew_rate of joint '{joint}' is {rate:g}; expected a number above 0"
            )
    return rates


def with_ramps(plan: Plan, hold: Vector, slew_rate: Vector) -> Plan:
    """Return a plan with finite ramps between the same postures.

    Args:
        plan: The plan without them.
        hold: Efforts (n,) that hold the arm at the start.
        slew_rate: Slew rates (n,), N m/s or N/s.

    Raises:
        ManipDynError: If none is found.
    """
    if plan.t_final == 0.0:
        return plan
    robot = plan.robot
    task = _Task(robot, plan.q0, plan.qf, (hold, plan.hold), slew_rate)
    search, found = _fastest(task, plan.t_final)
    t_final, times = search.ramps.duration(found.x), search.ramps.parted(found.x)[1]
    status = "solved" if found.best else "near_minimum"
    reason = f"{_described(robot, search.ramps, found)}; {plan.t_final:.6g} s without ramps"
    motion = RampedMotion(robot, search.ramps, found.x, *search.nodes(found.x, CHECKED))
    return Plan(
        robot,
        plan.q0,
        plan.qf,
        t_final,
        times.T.tolist(),
        [t_final] * robot.n,
        motion,
        plan.hold,
        plan.method,
        status,
        reason,
        ramps=FiniteRamps(slew_rate, motion.corners, plan.t_final),
    )


def _expected(task: _Task, t_final: float) -> float:
    """Return how long the motion takes about: `t_final`, s, where ramps do not matter.

    Where they do, a double integrator with full efforts F takes t_final for a distance that ramps
    alone, of slope r, make in the cube root of 8 F / r t_final^2.
    """
    rise = float(np.max(task.robot.tau_max / task.slew_rate))
    return max(t_final, float(np.cbrt(8.0 * rise * t_final**2)))


def _described(robot: Robot, ramps: Ramps, found: Result) -> str:
    shares = np.abs(ramps.parted(found.x)[0] / ramps.limit).max(axis=0)
    full = [robot.joint_names[i] for i in np.flatnonzero(shares > FULL)]
    switches = "one switch" if ramps.levels == 2 else f"{ramps.levels - 1} switches"
    at = f"full efforts of {', '.join(full)}" if full else "no joint reaches its full effort"
    best = "none faster is near" if found.best else "faster ones may be near"
    return f"{switches} per joint with finite ramps; {at}; {best}"


def _fastest(task: _Task, t_final: float) -> _Found:
    """Return the fastest motion found within all limits, and the search it comes from."""
    found, reason = _tried(task, _guesses(task, 2, t_final))
    if not found:
        found, reason = _tried(task, _guesses(task, 3, t_final))
    elif _would_cruise(task.robot, *_quickest(found)):
        found += _tried(task, _with_middles(task, *_quickest(found)))[0]
        if task.robot.n <= MOST_GUESSES:
            found += _tried(task, _guesses(task, 3, t_final))[0]
    if not found:
        rates = ", ".join(f"{rate:g}" for rate in np.unique(task.slew_rate))
        raise ManipDynError(
            f"no motion with efforts that change by at most {rates} per second was found: {reason}"
        )
    return _quickest(found)


def _tried(
    task: _Task, guesses: Iterable[tuple[RampedSearch, Vector]]
) -> tuple[list[_Found], str]:
    """Return the motions within all limits that guesses lead to, or why there are none."""
    found: list[_Found] = []
    reason = "no search converged"
    for search, x in guesses:
        result, passed = _within_limits(task.robot, search, x)
        if not passed:
            found.append((search, result))
            if task.robot.n > MOST_GUESSES:
                break
        elif result.miss < MISS:
            reason = passed
    return found, reason


def _quickest(found: list[_Found]) -> _Found:
    return min(found, key=lambda each: float(each[1].x[-1]))


def _would_cruise(robot: Robot, search: RampedSearch, found: Result) -> bool:
    """Return whether a joint comes to its speed limit: it would cruise if it had three levels."""
    speeds = np.abs(search.nodes(found.x, CHECKED)[1][:, robot.n :]).max(axis=0)
    return bool(np.any(speeds > FAST * robot.v_max))


def _guesses(task: _Task, levels: int, t_final: float) -> Iterator[tuple[RampedSearch, Vector]]:
    """Yield searches with their initial guesses."""
    expected, duration = _expected(task, t_final), SHORTEST * t_final
    while duration < LONGEST * expected:
        grown = _grown(task, levels, duration, expected)
        if grown is not None:
            yield grown
        duration *= RATIO


def _with_middles(
    task: _Task, search: RampedSearch, found: Result
) -> Iterator[tuple[RampedSearch, Vector]]:
    """Yield the search with three levels that begins with what one with two found."""
    ramps, x = search.ramps.with_middle(found.x)
    yield RampedSearch(task.robot, task.start, task.goal, ramps), x


def _grown(
    task: _Task, levels: int, duration: float, scale: float
) -> tuple[RampedSearch, Vector] | None:
    """Return the motion to which one by little of the displacement grows, or None.

    The switches part the motion evenly. Short and slow motions are nearly linear; each longer
    one starts from the last one's efforts.
    """
    robot, (begin, end) = task.robot, task.holds
    efforts, grown = np.tile(begin, (levels, 1)), None
    for share in GROWTH:
        goal = task.start + share * (task.goal - task.start)
        hold = begin if share < 1.0 else end
        ramps = Ramps(begin, hold, robot.tau_max, task.slew_rate, scale, levels)
        search = RampedSearch(robot, task.start, goal, ramps)
        lasting = share**0.25 * duration
        switches = lasting * np.arange(1, levels)[:, None] / levels + np.zeros((1, robot.n))
        x = search.arriving(ramps.joined(efforts, switches, lasting))
        if x is None:
            return None
        efforts, grown = ramps.parted(x)[0], (search, x)
    return grown


def _within_limits(robot: Robot, search: RampedSearch, x: Vector) -> tuple[Result, str]:
    """Return the fastest motion near `x` within all limits, and what it passes after all."""
    low = np.concatenate([robot.q_min, -robot.v_max])
    high = np.concatenate([robot.q_max, robot.v_max])
    least, most = low.copy(), high.copy()
    for _ in range(TIGHTENINGS):
        result = search.improve(x, least, most)
        if not result.miss < MISS:
            return result, "no search converged"
        states = search.nodes(result.x, CHECKED)[1]
        under, over = low - states.min(axis=0), states.max(axis=0) - high
        if max(under.max(), over.max()) <= WITHIN:
            return result, ""
        least = least + MARGIN * np.maximum(under, 0.0)
        most = most - MARGIN * np.maximum(over, 0.0)
        x = result.x
    joint = robot.joint_names[int(np.argmax(np.maximum(under, over))) % robot.n]
    return result, f"joint '{joint}' would pass a limit of position or speed"

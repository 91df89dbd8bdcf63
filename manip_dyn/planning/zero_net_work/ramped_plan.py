"""Zero-net-work plans for actuators with finite slew rates, by linear programs.

Fan (2003) mentions such actuators as future work. Every joint has one switch between two levels,
or two switches between three levels, and all joints arrive together (see `ramps`).

Near a motion, the final state is a linear function of the parameters of `ramps`. The change of the
parameters that reduces the duration most within the effort, speed and position limits solves a
linear program in a trust region (Fletcher, de la Maza 1989, as for minimum time). Violations are
penalized. At a vertex solution, the number of active conditions equals the number of parameters.
The last programs are then Newton steps, and the motion arrives up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.solvers import Damping, damped_newton
from manip_dyn.planning.plan import FiniteRamps, Plan
from manip_dyn.planning.zero_net_work.ramps import Corners, RampedFlow, RampedMotion, Ramps
from manip_dyn.robot import Robot

NODES = 24
"""Number of equal intervals of a motion, between which the programs limit positions and speeds."""
NUDGE = 1e-6
"""Step of finite differences of the parameters."""
ITERATIONS = 120
"""Maximum number of iterations, each with up to `SHRINKS` programs."""
PENALTY = 8.0
"""Penalty of a scaled violation of 1, such as missing the goal by the distance, in time scales."""
WIDEST, FIRST, SHRINKS = 0.5, 0.1, 16
"""Largest and initial trust radius, and maximum number of its reductions per iteration."""
GAIN = 2e-6
"""Predicted gain below which the iteration ends, in time scales."""
CLOSE, TIGHT = 0.5, 1e-6
"""Scaled distances from a limit below which it is a row of the program, and below which it is
active."""
CORRECTIONS = 3
"""Maximum number of chord steps to satisfy the conditions."""
TOWARDS_FIRST = Damping(most=15, converged=1e-6, shrink=0.4, least=1e-3)
"""Parameters of Newton's method for initial guesses; the tolerance is scaled."""
ARRIVAL_TOLERANCE, SETTLED_TOLERANCE = 1e-9, 1e-11
"""Largest final distance from rest at the goal, and the distance at which corrections stop: rad or
m, and rad/s or m/s."""
STRICT = 100.0
"""Factor of overlaps of ramps (s) in `RampedResult.miss`. With an overlap, efforts would jump."""


class Evaluation(NamedTuple):
    """Scaled end state and slacks of a motion.

    Attributes:
        ends: Difference of the final state from rest at the goal (2 n,).
        left: Slacks (k,): durations of the levels between ramps, then distances of positions and
            velocities from their limits.
    """

    ends: Vector
    left: Vector


class RampedResult(NamedTuple):
    """Result of the linear programs.

    Attributes:
        x: Parameters of the motion, see `ramps`.
        miss: Largest distance from rest at the goal (rad or m, and rad/s or m/s), or `STRICT`
            times the overlap of ramps (s) if that is larger.
        best: Whether the last program finds no faster motion nearby.
    """

    x: Vector
    miss: float
    best: bool


class RampedSearch:
    """Search for ramped motions from a start to a goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, ramps: Ramps):
        """Prepare motions from rest at `start` (n,) to rest at `goal` (n,)."""
        zero, self._flow, self.ramps = np.zeros(robot.n), RampedFlow(robot), ramps
        self._start, self._goal = np.concatenate([start, zero]), np.concatenate([goal, zero])
        distance = np.abs(goal - start).max()
        self._scale = np.repeat([distance, 4.0 * distance / ramps.scale], robot.n)
        self._low, self._high = np.full((2, 2 * robot.n), [[-np.inf], [np.inf]])

    def nodes(self, x: Vector, parts: int) -> tuple[Vector, Vector]:
        """Return times (k,), s, and states (k, 2 n) at corners and ends of equal intervals.

        Args:
            x: Parameters of the motion.
            parts: Number of equal intervals.
        """
        equal = np.linspace(0.0, self.ramps.duration(x), parts + 1)
        return self._nodes(self.ramps.corners(x), equal)

    def _nodes(self, corners: Corners, equal: Vector) -> tuple[Vector, Vector]:
        times = np.unique(np.concatenate([equal, corners.edges]))
        return times, self._flow.states(self._start, times, corners.efforts(times))

    def arriving(self, x: Vector) -> Vector | None:
        """Return a motion that arrives, with the same times as `x` and other levels, or None.

        Limits are ignored.
        """
        size = self.ramps.levels * self.ramps.n

        def step(x: Vector, here: Evaluation) -> tuple[Vector, float] | None:
            slopes = self._slopes(x, here, size)
            if not np.all(np.isfinite(slopes.ends)):
                return None
            step = np.zeros(len(x))
            step[:size] = np.linalg.lstsq(slopes.ends, -here.ends, rcond=None)[0]
            return step, 1.0

        x, _, arrived = damped_newton(
            x, self._reached(x), self._reached, _end_distance, step, TOWARDS_FIRST
        )
        return x if arrived else None

    def improve(self, x: Vector, low: Vector, high: Vector) -> RampedResult:
        """Improve the motion `x` by linear programs, if possible until no nearby one is faster.

        Args:
            x: Parameters of the initial motion.
            low: Lower limits of positions and velocities (2 n,).
            high: Upper limits of positions and velocities (2 n,).
        """
        self._low, self._high = low, high
        x = np.clip(x, *self.ramps.bounds())
        here, trust, best = self._reached(x), FIRST, False
        for _ in range(ITERATIONS):
            value = _merit(x, here)
            if not np.isfinite(value):
                break
            slopes = self._slopes(x, here)
            for _ in range(SHRINKS):
                step, model = _program(x, here, slopes, self.ramps.bounds(), trust)
                there = self._reached(x + step)
                step, there = self._corrected(x, step, there, slopes)
                hoped, gained = value - model, value - _merit(x + step, there)
                best = hoped < GAIN
                if gained >= 0.1 * hoped or (best and self._miss(there) < ARRIVAL_TOLERANCE):
                    break
                trust = 0.3 * min(trust, float(np.abs(step).max()))
            if gained > 0.0 or (best and self._miss(there) < self._miss(here)):
                x, here = x + step, there
            elif not best:
                break
            if best:
                break
            if gained > 0.5 * hoped:
                trust = min(2.0 * trust, WIDEST)
        x, here = self._settled(x, here)
        return RampedResult(x, self._miss(here), best)

    def _settled(self, x: Vector, here: Evaluation) -> tuple[Vector, Evaluation]:
        """Correct the motion `x` to arrive up to rounding; return it and its evaluation."""
        for _ in range(CORRECTIONS):
            if self._miss(here) < SETTLED_TOLERANCE or not np.isfinite(_merit(x, here)):
                break
            step, here = self._corrected(x, 0.0 * x, here, self._slopes(x, here))
            x = x + step
        return x, here

    def _corrected(
        self, x: Vector, step: Vector, there: Evaluation, slopes: Evaluation
    ) -> tuple[Vector, Evaluation]:
        """Correct a step so that the motion arrives and satisfies the active limits.

        The correction uses chord steps with the derivatives at `x` (second-order correction;
        Nocedal, Wright 2006, section 18.3).

        Args:
            x: Parameters before the step.
            step: The step.
            there: Evaluation after the step.
            slopes: Derivatives at `x`.

        Returns:
            The corrected step and its evaluation.
        """
        low, high = self.ramps.bounds()
        for _ in range(CORRECTIONS):
            free = (x + step > low) & (x + step < high)
            tight = there.left < TIGHT
            rows = np.vstack([slopes.ends, slopes.left[tight]])[:, free]
            lack = np.concatenate([there.ends, np.minimum(there.left[tight], 0.0)])
            if not np.all(np.isfinite(lack)):
                break
            back = step.copy()
            back[free] -= np.linalg.lstsq(rows, lack, rcond=1e-10)[0]
            back = np.clip(x + back, low, high) - x
            reached = self._reached(x + back)
            if not _violation(reached) < _violation(there):
                break
            step, there = back, reached
        return step, there

    def _reached(self, x: Vector) -> Evaluation:
        corners, equal = self.ramps.corners(x), np.linspace(0.0, self.ramps.duration(x), NODES + 1)
        times, states = self._nodes(corners, equal)
        inside = states[np.searchsorted(times, equal[1:-1])]
        left = np.concatenate([self._high - inside, inside - self._low]) / self._scale
        room = corners.room / self.ramps.scale
        ends = (states[-1] - self._goal) / self._scale
        return Evaluation(ends, np.concatenate([room, left.ravel()]))

    def _miss(self, at: Evaluation) -> float:
        lack = -at.left[: self.ramps.levels * self.ramps.n].min() * self.ramps.scale
        return float(max(np.abs(at.ends * self._scale).max(), STRICT * lack))

    def _slopes(self, x: Vector, here: Evaluation, size: int | None = None) -> Evaluation:
        """Return differences of the evaluation by `x`, or by its first `size` components."""
        ends, left = [], []
        for k in range(size or len(x)):
            moved = x.copy()
            moved[k] += NUDGE if x[k] < 0.5 else -NUDGE
            there, step = self._reached(moved), moved[k] - x[k]
            ends.append((there.ends - here.ends) / step)
            with np.errstate(invalid="ignore"):
                left.append((there.left - here.left) / step)
        return Evaluation(np.array(ends).T, np.array(left).T)


def _end_distance(at: Evaluation) -> float:
    """Return the sum of the scaled deviations of the final state from rest at the goal."""
    return float(np.abs(at.ends).sum())


def _violation(at: Evaluation) -> float:
    return float(np.abs(at.ends).sum() + np.maximum(-at.left, 0.0).sum())


def _merit(x: Vector, at: Evaluation) -> float:
    """Return the merit: the duration plus the penalty of violations, in time scales."""
    return float(x[-1] + PENALTY * _violation(at))


def _program(
    x: Vector, here: Evaluation, slopes: Evaluation, bounds: tuple[Vector, Vector], trust: float
) -> tuple[Vector, float]:
    """Return the best step within the trust radius and its merit; 0 and inf without one."""
    size, ends, (low, high) = len(x), len(here.ends), bounds
    near = here.left < CLOSE
    k = int(near.sum())
    cost = np.zeros(size + 2 * ends + k)
    cost[size - 1], cost[size:] = 1.0, PENALTY
    equal = np.hstack([slopes.ends, np.eye(ends), -np.eye(ends), np.zeros((ends, k))])
    below = np.hstack([-slopes.left[near], np.zeros((k, 2 * ends)), -np.eye(k)])
    box = np.full((len(cost), 2), (0.0, np.inf))
    box[:size, 0] = np.maximum((low - x) / trust, -1.0)
    box[:size, 1] = np.minimum((high - x) / trust, 1.0)
    from scipy.optimize import linprog  # slow to load, and few plans have ramps

    solution = linprog(
        cost, below, here.left[near] / trust, equal, -here.ends / trust, box, options=TOLERANCES
    )
    if solution.x is None:
        return 0.0 * x, np.inf
    step = np.clip(x + trust * solution.x[:size], low, high) - x
    return step, float(x[-1] + trust * solution.fun)


TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


SHORTEST, RATIO, LONGEST = 1.2, 1.4, 3.0
"""Durations of initial guesses: ratio of the first one to the duration without ramps, ratio of
consecutive durations, and largest ratio to the expected duration."""
GROWTH = (0.1, 0.2, 0.4, 0.7, 1.0)
"""Fractions of the displacement to which an initial guess is extended step by step."""
MOST_GUESSES = 3
"""Maximum number of joints for which all initial guesses are tried. With more joints, the first
solution is used."""
MARGIN, TIGHTENINGS = 1.5, 6
"""Factor of the excess by which an exceeded limit is tightened, and number of tightenings."""
CHECKED, WITHIN = 200, 1e-9
"""Number of intervals at whose ends limits are checked, and the tolerance of the check."""
FULL, FAST = 0.999, 0.9
"""Fraction of an effort limit above which an effort is full, and fraction of a speed limit above
which a third level is tried."""


class _RampedTask(NamedTuple):
    """Start, goal and slew rates of a search, and the efforts that hold the arm at both ends."""

    robot: Robot
    start: Vector
    goal: Vector
    holds: tuple[Vector, Vector]
    slew_rate: Vector


_Candidate = tuple[RampedSearch, RampedResult]


def checked_slew_rates(robot: Robot, slew_rate: ArrayLike) -> Vector:
    """Check one slew rate for all joints or one for each joint, and return slew rates (n,)."""
    values = np.full(robot.n, slew_rate) if np.ndim(slew_rate) == 0 else slew_rate
    rates = finite_vector("slew_rate", values, robot.n)
    for joint, rate in zip(robot.joint_names, rates, strict=True):
        if not rate > 0.0:
            raise ManipDynError(f"slew_rate of joint '{joint}' must be above 0, got {rate:g}.")
    return rates


def plan_with_ramps(plan: Plan, hold: Vector, slew_rate: Vector) -> Plan:
    """Return a plan with finite ramps between the postures of another plan.

    Args:
        plan: The plan without ramps. It is returned unchanged if no joint must move.
        hold: Efforts (n,) that hold the arm at the start.
        slew_rate: Slew rates (n,), N m/s or N/s.

    Raises:
        ManipDynError: If no such plan is found.
    """
    if plan.t_final == 0.0:
        return plan
    robot = plan.robot
    task = _RampedTask(robot, plan.q0, plan.qf, (hold, plan.hold), slew_rate)
    search, result = _fastest_motion(task, plan.t_final)
    t_final, times = search.ramps.duration(result.x), search.ramps.parted(result.x)[1]
    status = "solved" if result.best else "near_minimum"
    reason = f"{_described(robot, search.ramps, result)}; {plan.t_final:.6g} s without ramps"
    motion = RampedMotion(robot, search.ramps, result.x, *search.nodes(result.x, CHECKED))
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


def _expected(task: _RampedTask, t_final: float) -> float:
    """Return the approximate duration (s) with ramps; `t_final` if ramps have no effect.

    If ramps dominate, the duration is the cube root of 8 F / r t_final^2 for an effort limit F and
    a slew rate r. A double integrator takes this time for the same distance under ramps alone.
    """
    rise = float(np.max(task.robot.tau_max / task.slew_rate))
    return max(t_final, float(np.cbrt(8.0 * rise * t_final**2)))


def _described(robot: Robot, ramps: Ramps, result: RampedResult) -> str:
    shares = np.abs(ramps.parted(result.x)[0] / ramps.limit).max(axis=0)
    full = [robot.joint_names[i] for i in np.flatnonzero(shares > FULL)]
    switches = "one switch" if ramps.levels == 2 else f"{ramps.levels - 1} switches"
    at = f"full efforts of {', '.join(full)}" if full else "no joint reaches its full effort"
    best = "none faster is near" if result.best else "faster ones may be near"
    return f"{switches} per joint with finite ramps; {at}; {best}"


def _fastest_motion(task: _RampedTask, t_final: float) -> _Candidate:
    """Return the fastest motion within all limits, and the search that found it."""
    candidates, reason = _try_guesses(task, _guesses(task, 2, t_final))
    if not candidates:
        candidates, reason = _try_guesses(task, _guesses(task, 3, t_final))
    elif _would_cruise(task.robot, *_fastest_candidate(candidates)):
        candidates += _try_guesses(task, _with_middles(task, *_fastest_candidate(candidates)))[0]
        if task.robot.n <= MOST_GUESSES:
            candidates += _try_guesses(task, _guesses(task, 3, t_final))[0]
    if not candidates:
        rates = ", ".join(f"{rate:g}" for rate in np.unique(task.slew_rate))
        raise ManipDynError(
            f"no motion with efforts that change by at most {rates} per second was found: "
            f"{reason}."
        )
    return _fastest_candidate(candidates)


def _try_guesses(
    task: _RampedTask, guesses: Iterable[tuple[RampedSearch, Vector]]
) -> tuple[list[_Candidate], str]:
    """Improve initial guesses; return the motions within all limits, and a reason for failures.

    For arms with many joints, stop at the first success, see `MOST_GUESSES`.
    """
    candidates: list[_Candidate] = []
    reason = "no search converged"
    for search, x in guesses:
        result, passed = _within_limits(task.robot, search, x)
        if not passed:
            candidates.append((search, result))
            if task.robot.n > MOST_GUESSES:
                break
        elif result.miss < ARRIVAL_TOLERANCE:
            reason = passed
    return candidates, reason


def _fastest_candidate(candidates: list[_Candidate]) -> _Candidate:
    return min(candidates, key=lambda candidate: float(candidate[1].x[-1]))


def _would_cruise(robot: Robot, search: RampedSearch, result: RampedResult) -> bool:
    """Return whether a joint almost reaches its speed limit, and may need three levels."""
    speeds = np.abs(search.nodes(result.x, CHECKED)[1][:, robot.n :]).max(axis=0)
    return bool(np.any(speeds > FAST * robot.v_max))


def _guesses(
    task: _RampedTask, levels: int, t_final: float
) -> Iterator[tuple[RampedSearch, Vector]]:
    """Yield searches and their initial guesses, with increasing durations."""
    expected, duration = _expected(task, t_final), SHORTEST * t_final
    while duration < LONGEST * expected:
        grown = _grow_motion(task, levels, duration, expected)
        if grown is not None:
            yield grown
        duration *= RATIO


def _with_middles(
    task: _RampedTask, search: RampedSearch, result: RampedResult
) -> Iterator[tuple[RampedSearch, Vector]]:
    """Yield a search with three levels, with the solution for two levels as initial guess."""
    ramps, x = search.ramps.with_middle(result.x)
    yield RampedSearch(task.robot, task.start, task.goal, ramps), x


def _grow_motion(
    task: _RampedTask, levels: int, duration: float, scale: float
) -> tuple[RampedSearch, Vector] | None:
    """Return a search and its initial guess, by continuation in the displacement, or None.

    The switches divide the motion into equal intervals. Short, slow motions are nearly linear. The
    initial guess of each longer motion has the efforts of the previous motion.
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


def _within_limits(robot: Robot, search: RampedSearch, x: Vector) -> tuple[RampedResult, str]:
    """Return the fastest motion near `x` within all limits, and "" or the reason for a failure."""
    low = np.concatenate([robot.q_min, -robot.v_max])
    high = np.concatenate([robot.q_max, robot.v_max])
    least, most = low.copy(), high.copy()
    for _ in range(TIGHTENINGS):
        result = search.improve(x, least, most)
        if not result.miss < ARRIVAL_TOLERANCE:
            return result, "no search converged"
        states = search.nodes(result.x, CHECKED)[1]
        under, over = low - states.min(axis=0), states.max(axis=0) - high
        if max(under.max(), over.max()) <= WITHIN:
            return result, ""
        least = least + MARGIN * np.maximum(under, 0.0)
        most = most - MARGIN * np.maximum(over, 0.0)
        x = result.x
    joint = robot.joint_names[int(np.argmax(np.maximum(under, over))) % robot.n]
    return result, f"joint '{joint}' would pass a position or speed limit"

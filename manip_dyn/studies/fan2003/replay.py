"""Replays of the thesis's controller and of its printed switching times.

The controller (Fan 2003, figures 3.13 and 6.4, appendices A.4, A.7, A.10) compares the position of
every joint with its switching position. A joint is driven before its switching position, braked
after it, and held once it is within the distance `near` of its goal. `controlled` holds such a
joint with zero acceleration, so that it retains its speed.

`literal` applies the holding laws of the thesis as printed. They act once a joint is within the
distance `near` of its goal. Their effort would hold the joint *at its goal and at rest* while the
other joint moves. The efforts are tau1 of eq. 6.53, and tau2 = tau1 (c2 + c3) / (c1 + c2 + 2 c3)
of eq. 6.55, which is valid only for a straight elbow: its mass matrix has M11 = c1 + c2 + 2 c3 and
M12 = c2 + c3. For the cylindrical arm they are tau1 = 0 (eq. 5.68) and F2 = -m2 r1 w^2 (eq. 5.70)
with the mass m2, the radius r1 and the angular velocity w. A joint that arrives with a nonzero
speed drifts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.extremals import certificate
from manip_dyn.planning.minimum_time.flow import trajectory_of
from manip_dyn.planning.minimum_time.shooting import Shooter
from manip_dyn.planning.minimum_time.structures import (
    Guess,
    Switching,
    assembled,
    effort_signs,
    full,
)
from manip_dyn.planning.zero_net_work.shooting import locked_joint_engine, locked_joint_kernels
from manip_dyn.robot import Robot

# ---------------------------------------------------------------------- literal holding laws
STEP, CLOSE = 5e-4, 1e-12
"""Integration step, and resolution of the times at which comparisons change, s."""
STOP_TIME = 2.0
"""`Tstop` of A.7, s."""


class Spread(NamedTuple):
    """Variation of a motion with the last printed digits of positions and with late decisions.

    Attributes:
        runs: Number of motions.
        arrived: Number of motions that arrive.
        earliest: First arrival time, s; NaN if no motion arrives.
        latest: Last arrival time, s; NaN if no motion arrives.
        drift: Largest drift of an arrived joint, rad or m; NaN if no motion arrives.
    """

    runs: int
    arrived: int
    earliest: float
    latest: float
    drift: float

    def covers(self, t: float, half_unit: float) -> bool:
        """Return whether a printed time `t`, ± `half_unit`, is in the range of arrival times."""
        return self.arrived > 0 and self.earliest - half_unit <= t <= self.latest + half_unit


class Literal(NamedTuple):
    """A motion under the literal holding laws.

    Attributes:
        latched: Whether an arrived joint remains under its holding law (A.7, `Nfinal`). If not, it
            is tested again at every step (A.10).
        arrived: Whether each joint was within `near` of its goal, or beyond it, at some time.
        together: Whether all joints are within `near` of their goals, or beyond them, at the end.
        t_arrival: First arrival time of each joint (n,), s; NaN if it does not arrive.
        t_end: Final time, s: all joints have arrived, or the time limit has passed.
        drift: Largest distance of each joint from its goal after its arrival (n,), rad or m; 0 if
            it does not arrive.
        at_end: Final distances from the goal (n,), rad or m.
        speed: Final speeds (n,), rad/s or m/s.
        times: Sample times (k,), s.
        states: Positions and velocities (k, 2 n).
        efforts: Efforts (k, n), N m or N.
    """

    latched: bool
    arrived: bool
    together: bool
    t_arrival: Vector
    t_end: float
    drift: Vector
    at_end: Vector
    speed: Vector
    times: Vector
    states: Matrix
    efforts: Matrix


def literal(
    robot: Robot,
    start: Vector,
    goal: Vector,
    q_switch: Vector,
    near: float,
    latched: bool = True,
    late: float = 0.0,
) -> Literal:
    """Return the motion of two joints under the literal holding laws.

    The motion is integrated by RK4. A step ends when a comparison changes.

    Args:
        robot: The arm with two joints.
        start: Initial positions (n,) at rest, not below the goal.
        goal: Goal positions (n,).
        q_switch: Switching positions (n,); NaN for a joint that starts at its goal.
        near: Distance from the goal within which a joint is held (`Xerror`), rad or m.
        latched: Whether an arrived joint remains under its holding law.
        late: Delay of the efforts after a change, s.
    """
    n, limits = robot.n, robot.tau_max
    kernels = customize(robot).in_place
    switch = np.where(np.isnan(q_switch), goal, q_switch)
    y, k, locked = np.concatenate([start, np.zeros(n)]), np.empty((4, 2 * n)), np.empty(n)
    drive, rows, t = np.ones(2 * n), [], 0.0
    held = np.zeros(n, dtype=bool)

    def compared(q: Vector) -> tuple[Any, ...]:
        """Return whether each joint is braked, then whether each joint is held."""
        within = q - goal < near
        return (*(q < switch).tolist(), *(held | within if latched else within).tolist())

    @cache
    def driven(comparison: tuple[Any, ...]) -> tuple[Vector, list[int]]:
        """Return the efforts (n,) of joints that are not held, and the indices of held joints."""
        return np.where(comparison[:n], limits, -limits), np.flatnonzero(comparison[n:]).tolist()

    def efforts(state: Vector, comparison: tuple[Any, ...]) -> Vector:
        """Return the efforts (n,) for a state."""
        effort, holding = driven(comparison)
        if holding:
            effort = effort.copy()
        for i in holding:
            at_goal = state.copy()
            at_goal[i], at_goal[n + i] = goal[i], 0.0
            drive[:n], drive[n:], drive[n + i] = effort, 1.0, 0.0
            kernels.locked_joint_efforts(at_goal, drive, locked)
            effort[i] = locked[i]
        return effort

    def rates(state: Vector, comparison: tuple[Any, ...], out: Vector) -> Vector:
        out[:n] = state[n:]
        kernels.forward_dynamics(state[:n], state[n:], efforts(state, comparison), out[n:])
        return out

    def moved(h: float, comparison: tuple[Any, ...]) -> Vector:
        rates(y, comparison, k[0])
        rates(y + 0.5 * h * k[0], comparison, k[1])
        rates(y + 0.5 * h * k[1], comparison, k[2])
        rates(y + h * k[2], comparison, k[3])
        return y + h / 6.0 * (k[0] + 2.0 * (k[1] + k[2]) + k[3])

    comparison = compared(y[:n])
    while True:
        within = y[:n] - goal < near
        held = held | within
        rows.append((t, y.copy(), efforts(y, comparison)))
        if (held if latched else within).all() or t > STOP_TIME:
            break
        z, h, changed = moved(STEP, comparison), STEP, False
        if compared(z[:n]) != comparison:
            low, changed = 0.0, True
            while h - low > CLOSE:
                middle = 0.5 * (low + h)
                if compared(moved(middle, comparison)[:n]) != comparison:
                    h = middle
                else:
                    low = middle
            h += late
            z = moved(h, comparison)
        y, t = z, t + h
        if changed:
            comparison = compared(y[:n])
    times, states, taus = (np.array(column) for column in zip(*rows, strict=True))
    there = np.logical_or.accumulate(states[:, :n] - goal < near)
    t_arrival = np.where(there[-1], times[there.argmax(axis=0)], np.nan)
    drift = np.where(there, np.abs(states[:, :n] - goal), 0.0).max(axis=0)
    end = np.abs(y[:n] - goal)
    speed = np.abs(y[n:])
    return Literal(
        latched,
        not np.isnan(t_arrival).any(),
        bool(within.all()),
        t_arrival,
        t,
        drift,
        end,
        speed,
        times,
        states,
        taus,
    )


def spread(
    robot: Robot,
    start: Vector,
    goal: Vector,
    q_switch: Vector,
    near: float,
    half_unit: float,
    late: Sequence[float],
) -> Spread:
    """Return the variation of the motion under the literal holding laws.

    The switching position of each moving joint is varied by 0 and ± `half_unit`, and the decisions
    are delayed by each of `late`, s. See `literal` for the other arguments.
    """
    moving = ~np.isnan(q_switch)
    shifts = itertools.product(*((-1.0, 0.0, 1.0) if one else (0.0,) for one in moving))
    motions = [
        literal(robot, start, goal, q_switch + half_unit * np.array(shift), near, True, delay)
        for shift, delay in itertools.product(shifts, late)
    ]
    times = [float(motion.t_arrival.max()) for motion in motions if motion.arrived]
    drifts = [float(motion.drift.max()) for motion in motions if motion.arrived]
    return Spread(
        len(motions),
        len(times),
        min(times, default=np.nan),
        max(times, default=np.nan),
        max(drifts, default=np.nan),
    )


# ----------------------------------------------------------------------------- zero acceleration
TOLERANCES: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
LONGEST = 4.0
"""Time limit of a replay of the controller, s."""


class Controlled(NamedTuple):
    """A motion of the thesis's controller.

    Attributes:
        arrived: Whether every joint came within `near` of its goal.
        q_switch: Switching positions (n,).
        t_switch: Switching time of each joint (n,), s; NaN if it does not switch.
        t_arrival: Time at which holding of each joint begins (n,), s; 0 for a joint that starts
            at its goal, NaN for a joint that is never held.
        t_end: Final time, s: all joints are held, a braked joint has stopped before its goal, or
            the time limit has passed.
        miss: Largest final distance from the goal of a joint that is not held, rad or m, or 0.
        farthest: Index of this joint, or 0 if all joints are held.
        times: Sample times (k,), s.
        states: Positions and velocities (k, 2 n).
        efforts: Efforts (k, n), N m or N.
    """

    arrived: bool
    q_switch: Vector
    t_switch: Vector
    t_arrival: Vector
    t_end: float
    miss: float
    farthest: int
    times: Vector
    states: Matrix
    efforts: Matrix


def controlled(
    robot: Robot, start: Vector, goal: Vector, q_switch: Vector, near: float, period: float
) -> Controlled:
    """Return the motion of the arm under the controller of the thesis (appendices A.4 and A.7).

    Each joint is accelerated to its switching position, then braked, and held at its goal.

    The times at which joints reach these positions are computed by root finding. The motion
    therefore does not depend on a control period.

    Args:
        robot: The arm.
        start: Initial positions (n,) at rest.
        goal: Goal positions (n,).
        q_switch: Switching positions (n,); NaN for a joint that starts at its goal.
        near: Distance from the goal within which a joint is held, rad or m.
        period: Maximum time between samples, s.
    """
    n, engine = robot.n, locked_joint_engine(robot.n)
    space, efforts = engine.space(**TOLERANCES), customize(robot).in_place.locked_joint_efforts
    toward, y = np.where(start < goal, 1.0, -1.0), np.concatenate([start, np.zeros(n)])
    kernels = locked_joint_kernels(robot)
    driven, braked = start != goal, np.zeros(n, dtype=bool)
    t_switch, t_arrival = np.full(n, np.nan), np.where(driven, np.nan, 0.0)
    drive, effort, rows, t, stopped = np.empty(2 * n), np.empty(n), [], 0.0, False

    def past(y: Vector) -> Vector:
        """Return how far each joint (n,) is beyond the end of its phase; -1 if it is held."""
        displacement = toward * np.where(braked, y[:n] - goal, y[:n] - q_switch)
        return np.where(driven, displacement + np.where(braked, near, 0.0), -1.0)

    def moved(duration: float) -> Vector:
        z = y.copy()
        if duration > 0.0:
            engine.run(0.0, duration, (kernels, drive), z, space)
        return z

    def excess(duration: float) -> float:
        return float(past(moved(duration)).max())

    while True:
        drive[:n] = toward * robot.tau_max * np.where(braked, -1.0, 1.0)
        drive[n:] = driven
        efforts(y, drive, effort)
        rows.append((t, y.copy(), np.where(driven, drive[:n], effort)))
        if stopped or not driven.any() or t > LONGEST:
            break
        step = period
        if excess(step) >= 0.0:
            step = brentq(excess, 0.0, step, xtol=1e-13) if excess(0.0) < 0.0 else 0.0
        y, t = moved(step), t + step
        for i in np.flatnonzero(past(y) > -1e-11):
            if braked[i]:
                driven[i], t_arrival[i] = False, t
            else:
                braked[i], t_switch[i] = True, t
        stopped = bool(np.any(driven & braked & (toward * y[n:] < 0.0)))
    times, states, taus = (np.array(column) for column in zip(*rows, strict=True))
    misses = np.where(driven, np.abs(goal - y[:n]), 0.0)
    last = int(np.argmax(misses))
    return Controlled(
        not driven.any(),
        q_switch,
        t_switch,
        t_arrival,
        t,
        float(misses[last]),
        last,
        times,
        states,
        taus,
    )


def arrives_rounded(
    robot: Robot, start: Vector, goal: Vector, q_switch: Vector, near: float, half_unit: float
) -> bool:
    """Return whether the controller arrives for some rounding of the printed positions.

    Each position is varied by 0 and ± `half_unit`. See `controlled` for the other arguments.
    """
    return any(
        controlled(robot, start, goal, q_switch + half_unit * np.array(shift), near, 0.01).arrived
        for shift in itertools.product((0.0, -1.0, 1.0), repeat=robot.n)
    )


class Printed(NamedTuple):
    """Motion with printed switching times, and the nearest extremal.

    Attributes:
        first: Signs of the first efforts (n,) for which the motion ends nearest to the goal.
        end: Positions and velocities (2 n,) at the printed final time, relative to the goal.
        shift: Largest difference between the printed times and those of the extremal, s; inf if
            the numbers of switches differ or there is no extremal.
        half_unit: Half a unit of the last printed digit, s.
        rounding: Bound of the change of `end` (2 n,) due to rounding of the printed times, to
            first order.
        refined: Final time (s) of the extremal to which Newton's method converges from the
            printed switches, or None if it does not converge.
        refined_switches: Switching times of the extremal by joint, s.
        failures: Certificate conditions that the extremal violates.
    """

    first: tuple[float, ...]
    end: Vector
    shift: float
    half_unit: float
    rounding: Vector
    refined: float | None
    refined_switches: list[list[float]]
    failures: tuple[str, ...]

    @property
    def ends_at_goal(self) -> bool:
        """Whether the motion ends at rest at the goal up to the rounding of the printed times."""
        return bool(np.all(np.abs(self.end) <= self.rounding + 1e-9))

    @property
    def is_solution(self) -> bool:
        """Whether the motion ends at the goal, and no extremal shows that its times are wrong.

        An extremal with the same numbers of switches contradicts the printed times if a time
        differs by more than a unit of the last printed digit.
        """
        return self.ends_at_goal and not 2.0 * self.half_unit < self.shift < np.inf

    @property
    def worst(self) -> int:
        """Index of the component of `end` with the largest ratio to `rounding`."""
        return int(np.argmax(np.abs(self.end) / (self.rounding + 1e-12)))


def printed(
    robot: Robot,
    start: Vector,
    goal: Vector,
    switch_times: Sequence[Sequence[float]],
    t_final: float,
    half_unit: float,
) -> Printed:
    """Return the motion with printed switching times, and the nearest extremal.

    Args:
        robot: The arm.
        start: Initial positions (n,) at rest.
        goal: Goal positions (n,).
        switch_times: Printed switching times of each joint, s.
        t_final: Printed final time, s.
        half_unit: Half a unit of the last printed digit, s.
    """
    target = np.concatenate([goal, np.zeros(robot.n)])
    best, end = None, np.full(2 * robot.n, np.inf)
    for first in itertools.product((-1.0, 1.0), repeat=robot.n):
        switching = _switching(first, switch_times, t_final)
        reached = _replayed(robot, start, switching) - target
        if np.abs(reached).max() < np.abs(end).max():
            best, end = switching, reached
    assert best is not None
    rounding = np.zeros_like(end)
    for k in range(len(best.times) + 1):
        moved = np.append(best.times, best.t_final)
        moved[k] += half_unit
        shifted = best._replace(times=moved[:-1], t_final=float(moved[-1]))
        rounding += np.abs(_replayed(robot, start, shifted) - target - end)
    shooter = Shooter(robot, start, goal)
    extremal = shooter.solve(best, partial(_guess, shooter, start))
    along = None if extremal is None else trajectory_of(shooter.flow, start, extremal)
    signs = tuple(effort_signs(best.controls).tolist())
    if extremal is None or along is None:
        return Printed(signs, end, np.inf, half_unit, rounding, None, [], ())
    failures = certificate(robot, goal, extremal, along).failures
    switching = extremal.switching
    times = switching.per_joint()
    shift = _shift(switch_times, times)
    shift = max(shift, abs(switching.t_final - t_final))
    return Printed(
        signs, end, shift, half_unit, rounding, switching.t_final, times, tuple(failures)
    )


def _guess(shooter: Shooter, start: Vector, switching: Switching) -> Guess:
    """Return the motion of a structure, with the costates that fit its switches best.

    The conditions at switches of full efforts are linear in the initial costates.
    """
    zero = np.zeros_like(start)

    def nodes(costate: Vector) -> Matrix:
        y, begins = np.concatenate([start, zero, costate]), list[Vector]()
        for begin, end, controls in switching.arcs():
            begins.append(y)
            flow = shooter.flow.along(controls)
            moved = None if flow is None else flow.moved(y, end - begin)
            y = np.full_like(y, np.nan) if moved is None else moved
        return np.array(begins)

    costate = np.concatenate([zero, zero])
    unknown = np.concatenate([costate, switching.times, [switching.t_final]])
    shot = shooter.shoot(switching, unknown, nodes(costate))
    if shot is not None:
        rows = shot.jacobian[len(costate) :, : len(costate)]
        costate = np.linalg.lstsq(rows, -shot.residual[len(costate) :], rcond=1e-12)[0]
    return Guess(costate, np.empty(0), nodes(costate))


def _shift(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> float:
    """Return the largest difference (s) of switching times, or inf if their counts differ."""
    if [len(times) for times in first] != [len(times) for times in second]:
        return np.inf
    pairs = [pair for a, b in zip(first, second, strict=True) for pair in zip(a, b, strict=True)]
    return max((abs(a - b) for a, b in pairs), default=0.0)


def _switching(
    first: Sequence[float], times: Sequence[Sequence[float]], t_final: float
) -> Switching:
    rows = [
        (t, joint, full(first[joint] * (-1.0) ** (k + 1)))
        for joint, joint_times in enumerate(times)
        for k, t in enumerate(joint_times)
    ]
    return assembled([full(sign) for sign in first], rows, t_final)


def _replayed(robot: Robot, start: Vector, switching: Switching) -> Vector:
    """Return the final state (2 n,) of a motion with all joints driven."""
    engine, kernels = locked_joint_engine(robot.n), locked_joint_kernels(robot)
    space, y = engine.space(**TOLERANCES), np.concatenate([start, np.zeros(robot.n)])
    for begin, end, controls in switching.arcs():
        drive = np.concatenate([effort_signs(controls) * robot.tau_max, np.ones(robot.n)])
        if end > begin:
            engine.run(begin, end, (kernels, drive), y, space)
    return y

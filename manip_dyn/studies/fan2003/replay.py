"""Replays: the thesis's switching controller, its printed switches, and the true motion nearest.

The controller (Fan 2003, figures 3.13 and 6.4, appendices A.4, A.7, A.10) compares every joint's
position with its switching position: driven before, braked after, held from where the joint is
within `near` of its goal. A remaining speed of a held joint stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.locked_joints import kernels_of, locked_joint_engine
from manip_dyn.planning.minimum_time.extremals.conditions import certificate
from manip_dyn.planning.minimum_time.extremals.controls import directions, full
from manip_dyn.planning.minimum_time.extremals.sampling import trajectory_of
from manip_dyn.planning.minimum_time.extremals.shooting import Shooter
from manip_dyn.planning.minimum_time.extremals.structure import Switching, alternating, assembled
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
LONGEST = 4.0
"""When a replay of the controller is given up, s."""


class Controlled(NamedTuple):
    """A motion of the thesis's controller.

    Attributes:
        arrived: Whether every joint came within reach of its goal.
        q_switch: Switching positions (n,).
        t_switch: When each joint switched (n,), s; nan: never.
        t_arrival: When each was held (n,), s; 0 from the start, nan: never.
        t_end: End of the replay, s: all held, or a braked joint came to rest too early.
        miss: Largest distance of a driven joint from its goal then, rad or m.
        farthest: That joint.
        times: Times (k,) of the record, s.
        states: Positions and velocities (k, 2 n).
        efforts: Efforts (k, n).
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
    """Return the motion of the controller with the switching positions `q_switch` (n,).

    Crossings are met exactly, so that nothing depends on how often the controller looks.

    Args:
        robot: The arm.
        start: Start (n,), at rest.
        goal: Goal (n,).
        q_switch: Switching positions (n,); nan for a joint that starts at its goal.
        near: How near its goal a joint is held, rad or m.
        period: Time between two records, s.
    """
    n, engine = robot.n, locked_joint_engine(robot.n)
    space, efforts = engine.space(**TOLERANCES), customize(robot).in_place.locked_joint_efforts
    toward, y = np.where(start < goal, 1.0, -1.0), np.concatenate([start, np.zeros(n)])
    kernels = kernels_of(robot)
    driven, braked = start != goal, np.zeros(n, dtype=bool)
    t_switch, t_arrival = np.full(n, np.nan), np.where(driven, np.nan, 0.0)
    drive, effort, rows, t, stopped = np.empty(2 * n), np.empty(n), [], 0.0, False

    def past(y: Vector) -> Vector:
        """How far each joint is past what ends its present phase (n,), rad or m."""
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
    """Return whether the controller arrives with printed positions, or others that print so."""
    return any(
        controlled(robot, start, goal, q_switch + half_unit * np.array(shift), near, 0.01).arrived
        for shift in itertools.product((0.0, -1.0, 1.0), repeat=robot.n)
    )


class Printed(NamedTuple):
    """What printed switching times lead to.

    Attributes:
        first: Signs of the first efforts (n,): those that end nearest to the goal.
        end: Positions and velocities (2 n,) at the printed final time, less the goal.
        half_unit: Half a unit of the last printed digit, s.
        shift: Largest distance of a printed time from that of the motion below, s; inf: none.
        rounding: What half a unit of the last printed digit can change of it (2 n,), first order.
        refined: Final time of the motion with all of Pontryagin's conditions that Newton's method
            finds from the printed switches, s; None: it finds none.
        refined_switches: Its switching times per joint.
        failures: Why that motion is not certified; empty if it is.
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
        """Whether it ends at rest at the goal, but for the rounding of the printed times."""
        return bool(np.all(np.abs(self.end) <= self.rounding + 1e-9))

    @property
    def is_solution(self) -> bool:
        """Whether besides that a true motion is within a unit of the last printed digits."""
        return self.ends_at_goal and not 2.0 * self.half_unit < self.shift < np.inf

    @property
    def worst(self) -> int:
        """The component that is farthest beyond what rounding explains."""
        return int(np.argmax(np.abs(self.end) / (self.rounding + 1e-12)))


def printed(
    robot: Robot,
    start: Vector,
    goal: Vector,
    switch_times: Sequence[Sequence[float]],
    t_final: float,
    half_unit: float,
) -> Printed:
    """Return what printed switching times per joint and a final time lead to."""
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
    found = shooter.solve(best)
    along = None if found is None else trajectory_of(shooter.flow, start, found)
    signs = tuple(directions(best.controls).tolist())
    if found is None or along is None:
        return Printed(signs, end, np.inf, half_unit, rounding, None, [], ())
    failures = certificate(robot, goal, found, along).failures
    switching = found.switching
    times = switching.per_joint()
    shift = _shift(switch_times, times)
    shift = max(shift, abs(switching.t_final - t_final))
    return Printed(
        signs, end, shift, half_unit, rounding, switching.t_final, times, tuple(failures)
    )


def _shift(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Return the largest difference of switching times, s; inf where their numbers differ."""
    if [len(each) for each in one] != [len(each) for each in other]:
        return np.inf
    pairs = [pair for a, b in zip(one, other, strict=True) for pair in zip(a, b, strict=True)]
    return max((abs(a - b) for a, b in pairs), default=0.0)


def _switching(
    first: Sequence[float], times: Sequence[Sequence[float]], t_final: float
) -> Switching:
    rows = [
        (t, joint, value)
        for joint, each in enumerate(times)
        for t, value in alternating(first[joint], list(each))
    ]
    return assembled([full(each) for each in first], rows, t_final)


def _replayed(robot: Robot, start: Vector, switching: Switching) -> Vector:
    """Return the final state (2 n,), all joints driven."""
    engine, kernels = locked_joint_engine(robot.n), kernels_of(robot)
    space, y = engine.space(**TOLERANCES), np.concatenate([start, np.zeros(robot.n)])
    for begin, end, controls in switching.arcs():
        drive = np.concatenate([directions(controls) * robot.tau_max, np.ones(robot.n)])
        if end > begin:
            engine.run(begin, end, (kernels, drive), y, space)
    return y

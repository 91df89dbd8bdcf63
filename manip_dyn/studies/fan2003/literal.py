"""The thesis's controller to the letter: its effort laws, with nothing that holds a joint.

A.4, A.7 and A.10 compare positions with switching positions at every step. Once a joint is within
`near` of its goal they give it the effort that would hold it *at its goal and at rest* while the
other moves: tau1 of eq. 6.53, tau2 = tau1 (c2 + c3) / (c1 + c2 + 2 c3) of eq. 6.55, which is
true of a straight elbow alone, tau1 = 0 (eq. 5.68) and F2 = -m2 r1 w^2 (eq. 5.70) of the
cylindrical arm. A joint that comes there with a speed keeps it and drifts. `replay` holds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot

STEP, CLOSE = 5e-4, 1e-12
"""Step between looks, and how closely a change is then found, s."""
LONGEST = 2.0
"""`Tstop` of A.7, s."""


class Spread(NamedTuple):
    """What the last digits decide: motions with positions that print alike, decided late.

    Attributes:
        runs: How many motions.
        arrived: How many of them arrive.
        earliest: First arrival, s; nan: none.
        latest: Last arrival, s.
        drift: Largest drift of a joint that arrived, rad or m.
    """

    runs: int
    arrived: int
    earliest: float
    latest: float
    drift: float

    def covers(self, t: float, half_unit: float) -> bool:
        """Return whether a printed time is between the first and the last arrival."""
        return self.arrived > 0 and self.earliest - half_unit <= t <= self.latest + half_unit


class Literal(NamedTuple):
    """A motion under the literal laws.

    Attributes:
        latched: Whether a joint that arrived once stays in its holding law (A.7, `Nfinal`), or
            is asked again at every step (A.10).
        arrived: Whether each joint was within `near` of its goal, or past it, at some time.
        together: Whether all were so at the end, which ends the programs.
        t_arrival: When each first was (n,), s; nan: never.
        t_end: End of the motion: all arrived, or given up, s.
        drift: Largest distance of each joint from its goal after its own arrival (n,), rad or m.
        at_end: Distances from the goal at the end (n,), rad or m.
        speed: Speeds at the end (n,), rad/s or m/s.
        times: Times of the record (k,), s.
        states: Positions and velocities (k, 2 n).
        efforts: Efforts (k, n).
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
    """Return the motion of two joints with the switching positions `q_switch` (n,).

    Integrated by the classical Runge-Kutta method; where a comparison changes within a step, the
    step ends there.

    Args:
        robot: The arm, with two joints.
        start: Start (n,), at rest, not below the goal.
        goal: Goal (n,).
        q_switch: Switching positions (n,); nan for a joint that starts at its goal.
        near: `Xerror`, rad or m.
        latched: Whether a joint that arrived once stays in its holding law.
        late: How long after a change the efforts follow it, s.
    """
    n, limits = robot.n, robot.tau_max
    kernels = customize(robot).in_place
    switch = np.where(np.isnan(q_switch), goal, q_switch)
    y, k, locked = np.concatenate([start, np.zeros(n)]), np.empty((4, 2 * n)), np.empty(n)
    drive, rows, t = np.ones(2 * n), [], 0.0
    held = np.zeros(n, dtype=bool)

    def compared(q: Vector) -> tuple[Any, ...]:
        """Return what the programs ask: braked, and held, joint by joint."""
        within = q - goal < near
        return (*(q < switch).tolist(), *(held | within if latched else within).tolist())

    @cache
    def driven(asked: tuple[Any, ...]) -> tuple[Vector, list[int]]:
        """Return the efforts (n,) for answers where no joint is held, and those that are held."""
        return np.where(asked[:n], limits, -limits), np.flatnonzero(asked[n:]).tolist()

    def efforts(state: Vector, asked: tuple[Any, ...]) -> Vector:
        """Return the efforts (n,) at a state for answers."""
        effort, holding = driven(asked)
        if holding:
            effort = effort.copy()
        for i in holding:
            at_goal = state.copy()
            at_goal[i], at_goal[n + i] = goal[i], 0.0
            drive[:n], drive[n:], drive[n + i] = effort, 1.0, 0.0
            kernels.locked_joint_efforts(at_goal, drive, locked)
            effort[i] = locked[i]
        return effort

    def rates(state: Vector, asked: tuple[Any, ...], out: Vector) -> Vector:
        out[:n] = state[n:]
        kernels.forward_dynamics(state[:n], state[n:], efforts(state, asked), out[n:])
        return out

    def moved(h: float, asked: tuple[Any, ...]) -> Vector:
        rates(y, asked, k[0])
        rates(y + 0.5 * h * k[0], asked, k[1])
        rates(y + 0.5 * h * k[1], asked, k[2])
        rates(y + h * k[2], asked, k[3])
        return y + h / 6.0 * (k[0] + 2.0 * (k[1] + k[2]) + k[3])

    asked = compared(y[:n])
    while True:
        within = y[:n] - goal < near
        held = held | within
        rows.append((t, y.copy(), efforts(y, asked)))
        if (held if latched else within).all() or t > LONGEST:
            break
        z, h, changed = moved(STEP, asked), STEP, False
        if compared(z[:n]) != asked:
            low, changed = 0.0, True
            while h - low > CLOSE:
                middle = 0.5 * (low + h)
                if compared(moved(middle, asked)[:n]) != asked:
                    h = middle
                else:
                    low = middle
            h += late
            z = moved(h, asked)
        y, t = z, t + h
        if changed:
            asked = compared(y[:n])
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
    """Return what half a unit of the last printed digits and late decisions (s) change."""
    moving = ~np.isnan(q_switch)
    shifts = itertools.product(*((-1.0, 0.0, 1.0) if one else (0.0,) for one in moving))
    motions = [
        literal(robot, start, goal, q_switch + half_unit * np.array(shift), near, True, each)
        for shift, each in itertools.product(shifts, late)
    ]
    times = [float(each.t_arrival.max()) for each in motions if each.arrived]
    drifts = [float(each.drift.max()) for each in motions if each.arrived]
    return Spread(
        len(motions),
        len(times),
        min(times, default=np.nan),
        max(times, default=np.nan),
        max(drifts, default=np.nan),
    )

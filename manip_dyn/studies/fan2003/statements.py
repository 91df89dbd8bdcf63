"""Statements of chapter 6 that have no table: fastest PD control, costates, and arrival.

- Section 6.4.1: the printed PD gains give the fastest response. `fastest_gains` searches for gains
  with which the arm settles earlier.
- Section 6.2, page 94: ranges of two initial costates (from Geering et al., 1986), for motions of
  a straight arm of 0.65 m over distances D with 0.6 < D / (l1 + l2) < 2.
- Section 6.3.1, page 95: if the switching position of each link is its final position, each link
  reaches its final position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning import plan_minimum_time
from manip_dyn.robot import Robot
from manip_dyn.simulation import PDControl, simulate
from manip_dyn.studies.fan2003.replay import controlled
from manip_dyn.studies.fan2003.settings import Gains
from manip_dyn.studies.report.claims import Claim, Evidence

DURATION, PERIOD, EVALUATIONS = 8.0, 2e-3, 150
"""Duration and sampling period of a trial of the gains, s, and number of trials."""
SPREAD = 0.1
"""Size of the first simplex, in logarithms of the gains."""
DISTANCES = (0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9)
"""Distances D / (l1 + l2) of the motions of the straight arm."""
STARTS = 20
"""Number of random initial positions per arm."""
MUCH, AS_FAST = 2.0, 0.99
"""Ratio above which a motion is much faster; ratio from which a response is about as fast."""


class SettlingRow(NamedTuple):
    """Settling time under PD control, and final time of the zero-net-work motion.

    Attributes:
        case: Number of the table.
        gains: ``the thesis's`` or ``from a search``.
        kp: Proportional gains (n,), N m/rad or N/m.
        kd: Derivative gains (n,), N m s/rad or N s/m.
        settled: Time after which all joints stay within 1e-4 rad or m of the goal, s.
        zero_net_work: Final time of the zero-net-work motion, s.
    """

    case: str
    gains: str
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    settled: float
    zero_net_work: float


def settling_time(robot: Robot, start: Vector, gains: Vector, near: float) -> float:
    """Return the settling time (s) under PD control to zero, `DURATION` if it does not settle.

    Args:
        robot: The arm.
        start: Initial positions (n,), at rest.
        gains: Proportional, then derivative gains (2 n,).
        near: Distance from the goal within which a joint has arrived, rad or m.
    """
    kp, kd = gains.reshape(2, -1)
    law = PDControl(np.zeros(robot.n), kp, kd)
    run = simulate(
        robot, start, np.zeros(robot.n), law, DURATION, sample_period=PERIOD, method="rkdp54",
        rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    distance = np.abs(run.q).max(axis=1)
    outside = np.flatnonzero(distance > near)
    last = int(outside[-1])
    if last == len(run.t) - 1:
        return DURATION
    before, after = distance[last : last + 2]
    return float(run.t[last] + PERIOD * (before - near) / (before - after))


def settling_rows(
    case: str,
    robot: Robot,
    start: Vector,
    gains: Gains,
    first: Gains,
    near: float,
    zero_net_work: float,
) -> list[SettlingRow]:
    """Return the settling times with the thesis's gains, and with gains found by a search.

    The search applies the method of Nelder and Mead to the logarithms of the gains.

    Args:
        case: Number of the table.
        robot: The arm.
        start: Initial positions (n,), at rest.
        gains: Gains of the thesis.
        first: Gains at which the search starts.
        near: Distance from the goal within which a joint has arrived, rad or m.
        zero_net_work: Final time of the zero-net-work motion, s.
    """
    from scipy.optimize import minimize  # slow to load

    printed, x = np.array([*gains.kp, *gains.kd]), np.log([*first.kp, *first.kd])
    search = minimize(
        lambda x: settling_time(robot, start, np.exp(x), near),
        x,
        method="Nelder-Mead",
        options={
            "maxfev": EVALUATIONS,
            "initial_simplex": np.vstack([x, x + SPREAD * np.eye(len(x))]),
        },
    )
    return [
        SettlingRow(
            case,
            words,
            tuple(values[: robot.n].tolist()),
            tuple(values[robot.n :].tolist()),
            settling_time(robot, start, values, near),
            zero_net_work,
        )
        for words, values in (("the thesis's", printed), ("from a search", np.exp(search.x)))
    ]


# ---------------------------------------------------------------------------------- claims
def statement_claims(
    rows: Sequence[SettlingRow],
    straight: Robot,
    ranges: Mapping[str, Any],
    arms: Mapping[str, Robot],
    near: float,
    progress: Callable[[str], None],
) -> Iterator[Claim]:
    """Yield the claims about fastest PD control, initial costates and arrival.

    Args:
        rows: Settling times.
        straight: The arm of the printed ranges of costates.
        ranges: Printed ranges by name of the costate, and the range of distances.
        arms: Arms by name, for motions from random initial positions.
        near: Distance from the goal within which a joint has arrived, rad or m.
        progress: Called with a line of text before each step.
    """
    searched = [row for row in rows if row.gains != "the thesis's"]
    printed = {row.case: row.settled for row in rows if row.gains == "the thesis's"}
    yield Claim(
        "faster than pd",
        "ratio of final times, PD control with gains from a search / zero net work; above "
        f"{MUCH:g}",
        tuple(
            Evidence(row.case, ratio, ratio > MUCH)
            for row in searched
            for ratio in (row.settled / row.zero_net_work,)
        ),
    )
    yield Claim(
        "fastest pd",
        f"ratio of settling times, gains from a search / the thesis's gains; at least {AS_FAST:g}",
        tuple(
            Evidence(row.case, ratio, ratio >= AS_FAST)
            for row in searched
            for ratio in (row.settled / printed[row.case],)
        ),
    )
    progress("initial costates")
    yield _costate_claim(straight, ranges)
    progress("arrival of each link")
    yield _arrival_claim(arms, near)


def _costate_claim(robot: Robot, ranges: Mapping[str, Any]) -> Claim:
    """Return the claim about costates of the speeds; the straight arm moves to zero."""
    cases = []
    for distance in DISTANCES:
        start = np.array([2.0 * np.arcsin(0.5 * distance), 0.0])
        plan = plan_minimum_time(robot, start, np.zeros(2), budget=None)
        if plan.extremal is None:
            continue
        speeds = plan.extremal.costate(0.0)[2:]
        for name, value in zip(("lambda_2", "lambda_4"), np.abs(speeds), strict=True):
            least, most = sorted(map(abs, ranges[name]))
            cases.append(
                Evidence(f"{name}, D {distance:g}", float(value), bool(least < value < most))
            )
    measure = "magnitude of the initial costate of a certified motion; in the printed range"
    return Claim("costate ranges", measure, tuple(cases))


def _arrival_claim(arms: Mapping[str, Robot], near: float) -> Claim:
    """Return the claim that joints with full efforts towards the goal reach it."""
    cases, generator = [], np.random.default_rng(0)
    for name, robot in arms.items():
        for k in range(STARTS):
            start, goal = generator.uniform(0.05, 1.0, robot.n), np.zeros(robot.n)
            run = controlled(robot, start, goal, goal, near, 0.02)
            cases.append(Evidence(f"{name}, start {k + 1}", run.t_end, run.arrived))
    measure = "time until each joint has reached its goal or one has missed it, s; all reach it"
    return Claim("guarantee", measure, tuple(cases))

"""`manip_dyn bench execution`: plans executed on arms that differ from their model.

The plans connect random postures of five arms. Half of the plans of the rr and the IBM 7535, and
a sixth of the others, are minimum-time plans; the rest are zero-net-work plans. The executor does
not receive the deviations: dry friction up to 6 % of the effort limits, delays up to 10 ms, masses
up to 20 % below or above the model, and noise of 0.001 rad and 0.02 rad/s. They are uniformly
distributed; every third plan has the largest values. The control period is 1 ms. A row contains
the results for one arm and one kind of deviation. Takes about 900 s.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from manip_dyn.bench.random_goals import PLANNERS, random_pairs
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles import Conditions
from manip_dyn.ensembles.sweeps.closed_loop.execution import ClosedLoop
from manip_dyn.planning import Plan, Tuning
from manip_dyn.robot import load_robot

ARMS = {"rr": 0.5, "ibm7535": 0.5, "ur5": 0.2, "pa10": 0.15, "panda": 0.1}
"""Fractions of minimum-time plans. They take longer to compute for arms with more joints."""
DEVIATIONS = ("none", "friction", "delay", "masses", "noise", "all")
PLANS, SEED = 40, 6173
"""Plans of each arm, and seed of the postures."""
FRICTION, DELAY, MASSES = 0.06, 0.01, 0.2
"""Largest friction relative to the effort limits, delay (s), and relative error of the masses."""
POSITION_NOISE, VELOCITY_NOISE = 1e-3, 0.02
WATCHED, LONGER = 2.0, 9.0
"""Simulated time after the end of a plan, s, and that of a motion that has not ended by then."""
SAMPLES = 6000
"""Number of samples of a path."""
FAR, FAST = 0.05, 1.05
"""Distance from the path (rad) and ratio to the speed limit above which a motion is counted."""
PACKAGES = ("manip_dyn", "numba", "numpy", "scipy")


class Row(NamedTuple):
    """Results of one arm with one kind of deviation.

    Attributes:
        arm: Name of the arm.
        deviation: One of `DEVIATIONS`.
        plans: Number of plans.
        distance: Largest distance of a joint from the path, rad.
        far: Number of motions farther than `FAR` from the path.
        speed: Largest speed relative to its limit.
        fast: Number of motions faster than `FAST` times a speed limit.
        beyond: Largest excess over a position limit, rad; negative within the limits.
        arrived: Number of motions that arrived.
        stopped: Number of motions that stopped with a reason.
        delay: Median delay of the arrivals compared with the plan, s; None without arrivals.
        longest: Longest delay of an arrival, s; None without arrivals.
    """

    arm: str
    deviation: str
    plans: int
    distance: float
    far: int
    speed: float
    fast: int
    beyond: float
    arrived: int
    stopped: int
    delay: float | None
    longest: float | None


class Motion(NamedTuple):
    """Result of one execution; see `Row`."""

    distance: float
    speed: float
    beyond: float
    arrived: bool
    stopped: bool
    delay: float | None


def table(rows: Sequence[Row]) -> str:
    """Return one line per arm and kind of deviation."""
    head = (
        f"{'deviation':<10}{'arm':<9}{'plans':>6}{'distance':>10}{'far':>5}{'speed':>8}{'fast':>6}"
        f"{'beyond':>9}{'arrived':>9}{'stopped':>9}{'delay, s':>10}{'longest':>9}"
    )
    return "\n".join(
        [head]
        + [
            f"{row.deviation:<10}{row.arm:<9}{row.plans:>6}{row.distance:>10.4f}{row.far:>5}"
            f"{row.speed:>8.3f}{row.fast:>6}{row.beyond:>9.4f}{row.arrived:>9}{row.stopped:>9}"
            f"{_seconds(row.delay):>10}{_seconds(row.longest):>9}"
            for deviation in DEVIATIONS
            for row in rows
            if row.deviation == deviation
        ]
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def measure(
    arms: Sequence[str] = tuple(ARMS),
    plans: int = PLANS,
    deviations: Sequence[str] = DEVIATIONS,
    seed: int = SEED,
) -> list[Row]:
    """Plan random motions of the arms and execute them with each kind of deviation."""
    rows = []
    for arm in arms:
        motions = list(random_plans(arm, plans, seed))
        for deviation in deviations:
            results = [executed(plan, deviation, k) for k, plan in enumerate(motions)]
            delays = [result.delay for result in results if result.delay is not None]
            rows.append(
                Row(
                    arm,
                    deviation,
                    len(results),
                    max(result.distance for result in results),
                    sum(result.distance > FAR for result in results),
                    max(result.speed for result in results),
                    sum(result.speed > FAST for result in results),
                    max(result.beyond for result in results),
                    sum(result.arrived for result in results),
                    sum(result.stopped for result in results),
                    statistics.median(delays) if delays else None,
                    max(delays, default=None),
                )
            )
    return rows


def random_plans(arm: str, count: int, seed: int) -> Iterator[Plan]:
    """Yield plans between random postures of an arm; goals without a plan are skipped."""
    robot = load_robot(arm)
    pairs = random_pairs(robot, 4 * count, seed=seed)
    fastest = round(ARMS[arm] * count)
    for method, number in (("zero_net_work", count - fastest), ("minimum_time", fastest)):
        while number:
            try:
                plan = PLANNERS[method](robot, *next(pairs))
            except ManipDynError:
                continue
            number -= 1
            yield plan


def conditions(plan: Plan, deviation: str, number: int, watched: float) -> Conditions:
    """Return the deviations of plan `number`, watched for a time (s) after its end."""
    random = np.random.default_rng(1000 + number)
    friction, delay, masses = random.uniform(
        [0.0, 0.0, 1.0 - MASSES], [FRICTION, DELAY, 1 + MASSES]
    )
    if number % 3 == 0:
        friction, delay = FRICTION, DELAY
        masses = 1.0 - MASSES if number % 2 else 1.0 + MASSES
    noisy = deviation in ("noise", "all")
    return Conditions(
        friction=friction * plan.robot.tau_max if deviation in ("friction", "all") else 0.0,
        delay=float(delay) if deviation in ("delay", "all") else 0.0,
        mass_scale=float(masses) if deviation in ("masses", "all") else 1.0,
        position_noise=POSITION_NOISE if noisy else 0.0,
        velocity_noise=VELOCITY_NOISE if noisy else 0.0,
        assumed_delay=0.0,
        duration=plan.t_final + watched,
        seed=number,
    )


def executed(plan: Plan, deviation: str, number: int) -> Motion:
    """Execute a plan with a kind of deviation; `number` selects the values."""
    robot = plan.robot
    for watched in (WATCHED, LONGER):
        closed = ClosedLoop(plan, conditions(plan, deviation, number, watched), Tuning())
        count = closed.go(compiled=True)
        executor = closed.executor
        if executor.arrived or executor.missed:
            break
    q, v = np.split(closed.loop.states[: count + 1], 2, axis=1)
    path = plan.at(np.linspace(0.0, plan.t_final, SAMPLES))[0]
    return Motion(
        float(cKDTree(path).query(q, p=np.inf)[0].max()),
        float((np.abs(v) / robot.v_max).max()),
        float(np.maximum(q - robot.q_max, robot.q_min - q).max()),
        executor.arrived,
        bool(executor.missed),
        executor.extra_time,
    )

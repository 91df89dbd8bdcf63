"""How often minimum time is found: ``python -m manip_dyn.bench.minimum_time_goals [GOALS [ARM]]``.

Arms: names of robots, with ``/3`` for their first three joints, the others at 0. Random starts
and goals, uniform over the position limits, at most pi from zero where these are wider, where the
arm can be held. Every plan is simulated again by DOP853 with pinocchio's dynamics, and compared
with the fastest motion along the straight path. Without feedback some motions are unstable: an
error of rounding, 1e-14, grows by 1e8 and more. One that ends farther away than 1e-6 is simulated
in sixteenths besides, each from where the plan has it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pinocchio
from scipy.integrate import solve_ivp

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Certificate, Plan, plan_minimum_time
from manip_dyn.planning.certificate import Convergence
from manip_dyn.planning.path_timing import time_path
from manip_dyn.robot import Robot, load_robot

AWAY, PARTS = 1e-6, 16
"""Distance from the goal at rest, from which on a motion is simulated in so many parts besides."""
ROBOTS = ("rr", "ibm7535", "cylindrical")


class Outcome(NamedTuple):
    """What came out for the goals of one robot.

    Attributes:
        counts: How many came out how: ``solved`` (``with a singular arc`` or ``along limits``
            among them), ``converged``, ``uncertified``, refused for a ``limit`` or because
            none was ``not found``; how many are ``slower than the straight path``.
        worst: Largest distance from the goal at rest after an independent simulation.
        unstable: Of how many motions that is above `AWAY`.
        apart: Largest distance of these from the plan after a sixteenth that began on it.
        milliseconds: Quantiles 0.5, 0.9 and 1 of the CPU time of a plan.
        gain: By what share of its time the straight path is slower: least, median, most.
        gap: Median and largest share of the duration that motions near converged ones may save.
    """

    robot: str
    counts: Counter[str]
    worst: float
    milliseconds: Vector
    gain: Vector
    gap: Vector
    unstable: int = 0
    apart: float = 0.0

    def sentence(self, count: int) -> str:
        """Return all this of `count` goals."""
        told = ", ".join(f"{number} {what}" for what, number in self.counts.items())
        median, most, longest = self.milliseconds
        return (
            f"{self.robot}: {told} of {count}; worst end {self.worst:.1e} ({self.unstable} above "
            f"{AWAY:.0e}, {self.apart:.1e} after sixteenths); {median:.3g} ms (90 %: {most:.3g} "
            f"ms, all: {longest:.3g} ms); gain in % {np.round(100.0 * self.gain, 2)}; "
            f"gap {self.gap}"
        )


def random_goals(robot: Robot, goals: int, seed: int = 0) -> Outcome:
    """Plan between `goals` random pairs of postures and count what comes out."""
    counts, worst, unstable, apart = Counter[str](), 0.0, 0, 0.0
    times, gains, gaps = list[float](), list[float](), list[float]()
    for start, goal in random_pairs(robot, goals, seed):
        began = time.process_time()
        try:
            plan = plan_minimum_time(robot, start, goal)
        except ManipDynError as error:
            counts["limit" if "passes a limit" in str(error) else "not found"] += 1
            continue
        finally:
            times.append((time.process_time() - began) * 1e3)
        counts[plan.status] += 1
        if plan.success and isinstance(plan.certificate, Certificate):
            counts["with a singular arc"] += bool(plan.certificate.singular_arcs)
            counts["along limits"] += bool(plan.certificate.limit_arcs)
        elif isinstance(plan.certificate, Convergence):
            gaps.append(plan.certificate.gap / plan.t_final)
        away = float(np.abs(final_state(plan) - [*goal, *(0.0 * goal)]).max())
        worst = max(worst, away)
        if away > AWAY:
            unstable, apart = unstable + 1, max(apart, largest_departure(plan))
        gains.append(_gain(robot, plan))
        counts["slower than the straight path"] += gains[-1] < 0.0
    return Outcome(
        robot.name,
        counts,
        worst,
        np.quantile(times, [0.5, 0.9, 1.0]),
        np.nanquantile(gains or [np.nan], [0.0, 0.5, 1.0]),
        np.quantile(gaps or [0.0], [0.5, 1.0]),
        unstable,
        apart,
    )


def random_pairs(robot: Robot, count: int, seed: int = 0) -> Iterator[tuple[Vector, Vector]]:
    """Yield random postures (n,) in pairs, where the arm can be held."""
    rng, found = np.random.default_rng(seed), 0
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    while found < count:
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        if _is_held(robot, start) and _is_held(robot, goal):
            found += 1
            yield start, goal


def _is_held(robot: Robot, q: Vector) -> bool:
    return bool(
        np.all(
            np.abs(pinocchio.rnea(robot.model, robot.model.createData(), q, 0.0 * q, 0.0 * q))
            < robot.tau_max
        )
    )


def _gain(robot: Robot, plan: Plan) -> float:
    """Return by what share the straight path is slower; nan where it cannot be followed."""
    try:
        return 1.0 - plan.t_final / time_path(robot, np.array([plan.q0, plan.qf])).t_final
    except ManipDynError:
        return np.nan


def final_state(plan: Plan) -> Vector:
    """Return the state (2 n,) at the end, by DOP853 with pinocchio's dynamics."""
    return _simulated(plan, np.concatenate(plan.state(0.0)), plan.knots)


def largest_departure(plan: Plan) -> float:
    """Return the largest distance from the plan after a sixteenth of it that began there."""
    places = np.linspace(0, len(plan.knots) - 1, PARTS + 1).astype(int)
    away = 0.0
    for first, last in pairwise(places.tolist()):
        begin, end = (np.concatenate(plan.state(plan.knots[k])) for k in (first, last))
        reached = _simulated(plan, begin, plan.knots[first : last + 1])
        away = max(away, float(np.abs(reached - end).max()))
    return away


def _simulated(plan: Plan, y: Vector, knots: Vector) -> Vector:
    """Return the state (2 n,) at the last of some knots, from one at the first."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rates(t, y, end):
        q, v = y[:n], y[n:]
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        tau = plan.effort(min(t, np.nextafter(end, 0.0))) + passive
        return np.concatenate([v, pinocchio.aba(robot.model, data, q, v, tau)])

    # Efforts are smooth between knots only: across them a step's error is not what it seems.
    for begin, end in pairwise(knots):
        if end > begin:
            run = solve_ivp(rates, (begin, end), y, "DOP853", args=(end,), rtol=1e-10, atol=1e-12)
            y = run.y[:, -1]
    return y


def arm(name: str) -> Robot:
    """Return a robot, or its first three joints where the name ends in ``/3``."""
    whole = load_robot(name.removesuffix("/3"))
    others = whole.joint_names[3:] if name.endswith("/3") else ()
    return load_robot(name.removesuffix("/3"), lock=dict.fromkeys(others, 0.0))


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for name in sys.argv[2:] or ROBOTS:
        print(random_goals(arm(name), count).sentence(count), flush=True)

"""How often minimum time is found: ``python -m manip_dyn.bench.minimum_time_goals [GOALS]``.

Random starts and goals, uniform over the position limits, at most pi from zero where these are
wider. Every plan is simulated again by DOP853 with pinocchio's dynamics.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import NamedTuple

import numpy as np
import pinocchio
from scipy.integrate import solve_ivp

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan, plan_minimum_time
from manip_dyn.robot import Robot, load_robot

ROBOTS = ("rr", "ibm7535", "cylindrical")


class Outcome(NamedTuple):
    """What came out for the goals of one robot.

    Attributes:
        counts: How many came out how. For minimum time ``certified`` (``with a singular arc``
            or ``along limits`` among them), ``uncertified``, refused for a ``limit`` or because
            none was ``found``.
        worst: Largest distance from the goal at rest after an independent simulation.
        milliseconds: Quantiles 0.5 and 0.9 of the time of a plan.
    """

    robot: str
    counts: Counter[str]
    worst: float
    milliseconds: tuple[float, float]

    def sentence(self, count: int) -> str:
        """Return all this of `count` goals."""
        told = ", ".join(f"{number} {what}" for what, number in self.counts.items())
        median, most = self.milliseconds
        return (
            f"{self.robot}: {told} of {count}; worst end {self.worst:.1e}; "
            f"{median:.2g} ms (90 %: {most:.2g} ms)"
        )


def random_goals(robot: Robot, goals: int, seed: int = 0) -> Outcome:
    """Plan between `goals` random pairs of postures and count what comes out."""
    rng, counts, worst = np.random.default_rng(seed), Counter[str](), 0.0
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    times = []
    for _ in range(goals):
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        began = time.perf_counter()
        try:
            plan = plan_minimum_time(robot, start, goal)
        except ManipDynError as error:
            counts["limit" if "passes a limit" in str(error) else "not found"] += 1
            continue
        finally:
            times.append((time.perf_counter() - began) * 1e3)
        counts["certified" if plan.success else "uncertified"] += 1
        if plan.success and plan.certificate is not None:
            counts["with a singular arc"] += bool(plan.certificate.singular_arcs)
            counts["along limits"] += bool(plan.certificate.limit_arcs)
        worst = max(worst, float(np.abs(final_state(plan) - [*goal, *(0.0 * goal)]).max()))
    median, most = np.quantile(times, [0.5, 0.9])
    return Outcome(robot.name, counts, worst, (float(median), float(most)))


def final_state(plan: Plan) -> Vector:
    """Return the state (2 n,) at the end, by DOP853 with pinocchio's dynamics."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rates(t, y, end):
        q, v = y[:n], y[n:]
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        tau = plan.effort(min(t, np.nextafter(end, 0.0))) + passive
        return np.concatenate([v, pinocchio.aba(robot.model, data, q, v, tau)])

    y = np.concatenate([plan.q0, np.zeros(n)])
    for begin, end, _ in [] if plan.switching is None else plan.switching.arcs():
        if end > begin:
            run = solve_ivp(rates, (begin, end), y, "DOP853", args=(end,), rtol=1e-9, atol=1e-11)
            y = run.y[:, -1]
    return y


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for name in sys.argv[2:] or ROBOTS:
        print(random_goals(load_robot(name), count).sentence(count))

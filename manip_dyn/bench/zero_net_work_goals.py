"""How often zero net work is found: ``python -m manip_dyn.bench.zero_net_work_goals [GOALS]``.

Random starts and goals, uniform over the position limits, at most pi from zero where these are
wider. Every plan is simulated again by DOP853 with pinocchio's dynamics.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter

import numpy as np
import pinocchio
from scipy.integrate import solve_ivp

from manip_dyn.bench.minimum_time_goals import ROBOTS, Outcome
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan, plan_zero_net_work
from manip_dyn.robot import Robot, load_robot


def random_goals(robot: Robot, goals: int, seed: int = 0) -> Outcome:
    """Plan between `goals` random pairs of postures and count what comes out."""
    rng, counts, worst, times = np.random.default_rng(seed), Counter[str](), 0.0, []
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    plan_zero_net_work(robot, 0.5 * (low + high), 0.4 * low + 0.6 * high)  # compiled from here on
    for _ in range(goals):
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        began = time.perf_counter()
        try:
            plan = plan_zero_net_work(robot, start, goal)
        except ManipDynError:
            counts["refused"] += 1
            continue
        finally:
            times.append((time.perf_counter() - began) * 1e3)
        counts[plan.status] += 1
        worst = max(worst, float(np.abs(final_state(plan) - [*goal, *(0.0 * goal)]).max()))
    none = np.full(3, np.nan)
    return Outcome(robot.name, counts, worst, np.quantile(times, [0.5, 0.9, 1.0]), none, none[:2])


def final_state(plan: Plan) -> Vector:
    """Return the state (2 n,) at the end, by DOP853 with pinocchio's dynamics."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rates(t, y, last):
        q, v = y[:n], y[n:]
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        return np.concatenate(
            [v, pinocchio.aba(robot.model, data, q, v, plan.effort(min(t, last)) + passive)]
        )

    y = np.concatenate([plan.q0, np.zeros(n)])
    for begin, end in itertools.pairwise(plan.knots):
        arguments = (np.nextafter(end, 0.0),)
        if end > begin:
            run = solve_ivp(
                rates, (begin, end), y, "DOP853", args=arguments, rtol=1e-10, atol=1e-12
            )
            y = run.y[:, -1]
    return y


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for name in sys.argv[2:] or ROBOTS:
        print(random_goals(load_robot(name), count).sentence(count))

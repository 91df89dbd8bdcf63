"""Is any plan beaten? ``python -m manip_dyn.bench.minimum_time_peers [GOALS [ARM...]]``.

Every plan that is ``solved`` or ``converged`` for a random goal (as in `minimum_time_goals`) is
compared with the fastest of twenty local minima of direct collocation (CasADi, IPOPT), from as
many initial guesses: the straight path, detours of each joint to both sides, random ones. Where
that is faster by more than 1e-4 s, it is solved again in cells of a quarter of the length, from
where it is: a motion on a coarse grid may be too fast by what its cells cost.

Arms of more than two joints are compared with the local minimum near the straight path in its
fastest timing, without second derivatives: with them, a step of IPOPT takes longer than the plan.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

from manip_dyn.bench.graphs import motion
from manip_dyn.bench.minimum_time_goals import ROBOTS, arm, random_pairs
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import plan_minimum_time
from manip_dyn.planning.path_timing import time_path
from manip_dyn.robot import Robot

CELLS, FINER = 100, 4
STARTS = 20
FASTER = 1e-4
"""By how much a motion has to be faster to count, s."""
SWING = 1.2
"""How far joints swing out on detours, rad or m; standard deviation of random ones."""
FIRST = 1.5
"""Duration of the initial guesses, s."""
MOST_STEPS = 400
FEW_JOINTS, CELLS_OF_MANY = 2, 60
"""Arms of more joints have one initial guess, on a grid of so many cells."""


class Collocation:
    """Hermite-Simpson with piecewise constant efforts between states at rest.

    Betts (2010), Practical methods for optimal control using nonlinear programming, section 4.6.6.
    """

    def __init__(self, robot: Robot, cells: int):
        """Build the problem once, for any start and goal."""
        import casadi

        n, self._robot, self._cells = robot.n, robot, cells
        rates = motion(robot, casadi.sin, casadi.cos, casadi.SX)
        y, tau = casadi.SX.sym("y", 2 * n), casadi.SX.sym("tau", n)
        slope = casadi.Function(
            "slope", [y, tau], [casadi.vertcat(*rates(casadi.vertsplit(y), casadi.vertsplit(tau)))]
        )
        x, middle = casadi.MX.sym("x", 2 * n, cells + 1), casadi.MX.sym("m", 2 * n, cells)
        u, duration = casadi.MX.sym("u", n, cells), casadi.MX.sym("t")
        ends = casadi.MX.sym("ends", 4 * n)
        h, across = duration / cells, slope.map(cells)
        efforts = casadi.repmat(casadi.DM(robot.tau_max), 1, cells) * u
        before, after, between = (across(each, efforts) for each in (x[:, :-1], x[:, 1:], middle))
        gaps = casadi.vertcat(
            casadi.vec(middle - 0.5 * (x[:, :-1] + x[:, 1:]) - h / 8 * (before - after)),
            casadi.vec(x[:, 1:] - x[:, :-1] - h / 6 * (before + 4 * between + after)),
            x[:, 0] - ends[: 2 * n],
            x[:, -1] - ends[2 * n :],
        )
        unknown = casadi.vertcat(casadi.vec(x), casadi.vec(middle), casadi.vec(u), duration)
        problem: Any = {"x": unknown, "p": ends, "f": duration, "g": gaps}
        ipopt: dict[str, Any] = {
            "print_level": 0,
            "sb": "yes",
            "tol": 1e-8,
            "max_iter": MOST_STEPS,
        }
        if n > FEW_JOINTS:
            ipopt["hessian_approximation"] = "limited-memory"
        options: Any = {"print_time": False, "ipopt": ipopt}
        self._solver = casadi.nlpsol("solver", "ipopt", problem, options)
        free, one = np.full(2 * n * cells, np.inf), np.ones(n * cells)
        low = np.tile(np.concatenate([robot.q_min, -robot.v_max]), cells + 1)
        high = np.tile(np.concatenate([robot.q_max, robot.v_max]), cells + 1)
        self._low = np.concatenate([low, -free, -one, [1e-3]])
        self._high = np.concatenate([high, free, one, [1e3]])

    def solved(
        self, start: Vector, goal: Vector, x: Matrix, u: Matrix, duration: float
    ) -> tuple[float, Matrix, Matrix]:
        """Return duration, states and efforts near a guess; an infinite one if there is none.

        Args:
            start: Positions (n,).
            goal: Positions (n,).
            x: States (cells + 1, 2 n).
            u: Efforts over their limits (cells, n).
            duration: s.
        """
        n, cells, rest = self._robot.n, self._cells, np.zeros(self._robot.n)
        middle = 0.5 * (x[1:] + x[:-1])
        found = self._solver(
            x0=np.concatenate([x.ravel(), middle.ravel(), u.ravel(), [duration]]),
            p=np.concatenate([start, rest, goal, rest]),
            lbx=self._low,
            ubx=self._high,
            lbg=0.0,
            ubg=0.0,
        )
        w = np.array(found["x"]).ravel()
        states = w[: 2 * n * (cells + 1)].reshape(cells + 1, 2 * n)
        efforts = w[-1 - n * cells : -1].reshape(cells, n)
        is_solved = self._solver.stats()["success"]
        return (float(w[-1]) if is_solved else np.inf), states, efforts


def swings(robot: Robot, rng: np.random.Generator) -> list[Vector]:
    """Return how far the joints (n,) swing out in each initial guess."""
    each = [side * SWING * unit for unit in np.eye(robot.n) for side in (1.0, -1.0)]
    known = [np.zeros(robot.n), *each]
    count = max(STARTS - len(known), 0)
    return known + [rng.normal(scale=SWING, size=robot.n) for _ in range(count)]


def least_duration(robot: Robot, start: Vector, goal: Vector, than: float) -> float:
    """Return the least duration found, s; that on a finer grid where it is less than another."""
    if robot.n > FEW_JOINTS:
        return near_straight_path(robot, start, goal)
    rng, best = np.random.default_rng(0), (np.inf, np.empty((0, 0)), np.empty((0, 0)))
    coarse, z = Collocation(robot, CELLS), np.linspace(0.0, 1.0, CELLS + 1)[:, None]
    for swing in swings(robot, rng):
        q = start + (goal - start) * z + swing * np.sin(np.pi * z) ** 2
        q = np.clip(q, robot.q_min, robot.q_max)
        x = np.hstack([q, np.gradient(q, FIRST / CELLS, axis=0)])
        found = coarse.solved(start, goal, x, np.zeros((CELLS, robot.n)), FIRST)
        best = min(best, found, key=lambda each: each[0])
    if best[0] > than - FASTER:
        return best[0]
    fine, share = Collocation(robot, FINER * CELLS), np.linspace(0.0, 1.0, FINER * CELLS + 1)
    x = np.array([np.interp(share, z[:, 0], each) for each in best[1].T]).T
    return fine.solved(start, goal, x, np.repeat(best[2], FINER, axis=0), best[0])[0]


def near_straight_path(robot: Robot, start: Vector, goal: Vector) -> float:
    """Return the least duration near the straight path, s; an infinite one if none is found."""
    straight = time_path(robot, np.array([start, goal]))
    times = np.linspace(0.0, straight.t_final, CELLS_OF_MANY + 1)
    x = np.array([np.concatenate(straight.joints(t)[:2]) for t in times])
    collocation, rest = Collocation(robot, CELLS_OF_MANY), np.zeros((CELLS_OF_MANY, robot.n))
    return collocation.solved(start, goal, x, rest, straight.t_final)[0]


def beaten(robot: Robot, goals: int) -> tuple[Counter[str], list[float]]:
    """Count the goals that are planned for, and by how much plans that are beaten are, s."""
    counts, found = Counter[str](), list[float]()
    for start, goal in random_pairs(robot, goals):
        try:
            plan = plan_minimum_time(robot, start, goal)
        except ManipDynError:
            continue
        if not plan.success:
            continue
        counts["planned"] += 1
        least = least_duration(robot, start, goal, plan.t_final)
        counts["solved by collocation"] += least < np.inf
        if plan.t_final - least > FASTER:
            found.append(plan.t_final - least)
    return counts, found


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for name in sys.argv[2:] or ROBOTS:
        counts, faster = beaten(arm(name), count)
        told = ", ".join(f"{number} {what}" for what, number in counts.items())
        print(f"{name}: {told} of {count}, beaten: {faster or 'none'}", flush=True)

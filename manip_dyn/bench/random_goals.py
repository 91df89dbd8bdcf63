"""Success rates of planners for random goals: ``python -m manip_dyn.bench.random_goals PLANNER``.

PLANNER is ``minimum_time``, ``zero_net_work`` or ``collocation``. Starts and goals are uniformly
distributed over the position limits, or within pi of zero if the limits are wider. For minimum
time, only postures are used in which the effort limits suffice to hold the arm.

With ``minimum_time`` and ``zero_net_work``, every plan is verified by a simulation with DOP853 and
pinocchio's dynamics. Minimum-time plans are compared with the fastest motion along the straight
path. Some motions are unstable without feedback and amplify rounding errors by 1e8 or more. If a
motion ends farther than 1e-6 from the goal, it is simulated again in sixteen parts that each start
from the state of the plan.

With ``collocation``, every plan that is ``solved`` or ``converged`` is compared with the fastest
of twenty local minima of direct collocation (CasADi, IPOPT). Their initial guesses are the
straight path, detours of each joint in both directions, and random detours. If collocation is
faster by more than 1e-4 s, its solution is refined with four times the number of cells, because
the discretization error can make a motion on a coarse grid too fast. For arms with more than two
joints, the only initial guess is the fastest motion along the straight path. IPOPT then uses no
second derivatives, because a step with them takes longer than the plan.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pinocchio
from scipy.integrate import solve_ivp

from manip_dyn.bench.peers import rates_of
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Certificate, Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.certificate import Convergence
from manip_dyn.planning.path_timing import time_path
from manip_dyn.robot import Robot, load_robot

MAX_DISTANCE, PARTS = 1e-6, 16
"""Error at the goal above which a motion is simulated in parts, and the number of parts."""
ROBOTS = ("rr", "ibm7535", "cylindrical")


class Outcome(NamedTuple):
    """Results for the random goals of one robot.

    Attributes:
        robot: Name of the robot.
        counts: Numbers of plans by status: ``solved`` (including those ``with a singular arc`` or
            ``along limits``), ``converged``, ``uncertified``. Numbers of goals without a plan,
            because of a ``limit`` or because it was ``not found``. Number of plans that are
            ``slower than the straight path``.
        worst: Largest error at the goal in an independent simulation.
        milliseconds: Quantiles 0.5, 0.9 and 1 of the CPU time of a plan, ms.
        gain: Time saved relative to the duration on the straight path: smallest, median, largest.
        gap: Relative `Convergence.gap` of converged plans: median, largest.
        unstable: Number of motions with an error at the goal above `MAX_DISTANCE`.
        apart: Largest error of these motions at the end of a sixteenth that starts on the plan.
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
        """Return the results for `count` goals as a sentence."""
        counts = ", ".join(f"{number} {status}" for status, number in self.counts.items())
        median, most, longest = self.milliseconds
        return (
            f"{self.robot}: {counts} of {count}; worst end {self.worst:.1e} ({self.unstable} "
            f"above {MAX_DISTANCE:.0e}, {self.apart:.1e} after sixteenths); {median:.3g} ms "
            f"(90 %: {most:.3g} ms, all: {longest:.3g} ms); "
            f"gain in % {np.round(100.0 * self.gain, 2)}; gap {self.gap}"
        )


def minimum_time_goals(robot: Robot, goals: int, seed: int = 0) -> Outcome:
    """Plan minimum-time motions between `goals` random pairs of postures."""
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
        if away > MAX_DISTANCE:
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
    """Yield pairs of random postures (n,) in which the effort limits suffice to hold the arm."""
    rng, yielded = np.random.default_rng(seed), 0
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    while yielded < count:
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        if _is_holdable(robot, start) and _is_holdable(robot, goal):
            yielded += 1
            yield start, goal


def _is_holdable(robot: Robot, q: Vector) -> bool:
    return bool(
        np.all(
            np.abs(pinocchio.rnea(robot.model, robot.model.createData(), q, 0.0 * q, 0.0 * q))
            < robot.tau_max
        )
    )


def _gain(robot: Robot, plan: Plan) -> float:
    """Return the time saved relative to the duration on the straight path, or NaN."""
    try:
        return 1.0 - plan.t_final / time_path(robot, np.array([plan.q0, plan.qf])).t_final
    except ManipDynError:
        return np.nan


def final_state(plan: Plan) -> Vector:
    """Simulate a plan with DOP853 and pinocchio's dynamics; return the final state (2 n,)."""
    return _simulated(plan, np.concatenate(plan.state(0.0)), plan.knots)


def largest_departure(plan: Plan) -> float:
    """Simulate a plan in sixteen parts that start on it; return the largest final error."""
    indices = np.linspace(0, len(plan.knots) - 1, PARTS + 1).astype(int)
    away = 0.0
    for first, last in pairwise(indices.tolist()):
        begin, end = (np.concatenate(plan.state(plan.knots[k])) for k in (first, last))
        reached = _simulated(plan, begin, plan.knots[first : last + 1])
        away = max(away, float(np.abs(reached - end).max()))
    return away


def _simulated(plan: Plan, y: Vector, knots: Vector) -> Vector:
    """Simulate from the state `y` at the first knot; return the state (2 n,) at the last knot."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rates(t, y, end):
        q, v = y[:n], y[n:]
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        tau = plan.effort(min(t, np.nextafter(end, 0.0))) + passive
        return np.concatenate([v, pinocchio.aba(robot.model, data, q, v, tau)])

    # Efforts are smooth only between knots. A step across a knot has a wrong error estimate.
    for begin, end in pairwise(knots):
        if end > begin:
            run = solve_ivp(rates, (begin, end), y, "DOP853", args=(end,), rtol=1e-10, atol=1e-12)
            y = run.y[:, -1]
    return y


def arm(name: str) -> Robot:
    """Load a robot. If the name ends with ``/3``, lock all but its first three joints at 0."""
    whole = load_robot(name.removesuffix("/3"))
    others = whole.joint_names[3:] if name.endswith("/3") else ()
    return load_robot(name.removesuffix("/3"), lock=dict.fromkeys(others, 0.0))


# ----------------------------------------------------------------------------- zero net work
def zero_net_work_goals(robot: Robot, goals: int, seed: int = 0) -> Outcome:
    """Plan zero-net-work motions between `goals` random pairs of postures."""
    rng, counts, worst, times = np.random.default_rng(seed), Counter[str](), 0.0, []
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    plan_zero_net_work(robot, 0.5 * (low + high), 0.4 * low + 0.6 * high)  # compiles the planner
    for _ in range(goals):
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        began = time.perf_counter()
        try:
            plan = plan_zero_net_work(robot, start, goal)
        except ManipDynError:
            counts["without a plan"] += 1
            continue
        finally:
            times.append((time.perf_counter() - began) * 1e3)
        counts[plan.status] += 1
        worst = max(worst, float(np.abs(final_state(plan) - [*goal, *(0.0 * goal)]).max()))
    none = np.full(3, np.nan)
    return Outcome(robot.name, counts, worst, np.quantile(times, [0.5, 0.9, 1.0]), none, none[:2])


# ------------------------------------------------------------------------------- collocation
COLLOCATION_CELLS, FINER = 100, 4
STARTS = 20
FASTER = 1e-4
"""Difference of durations above which a motion counts as faster, s."""
SWING = 1.2
"""Amplitude of detours, and standard deviation of random detours, rad or m."""
FIRST = 1.5
"""Duration of the initial guesses, s."""
MOST_STEPS = 400
FEW_JOINTS, CELLS_OF_MANY = 2, 60
"""For arms with more than `FEW_JOINTS` joints, a single initial guess is used on a grid of
`CELLS_OF_MANY` cells."""


class Collocation:
    """Hermite-Simpson collocation with piecewise constant efforts between states of rest.

    Betts (2010), Practical methods for optimal control using nonlinear programming, section 4.6.6.
    """

    def __init__(self, robot: Robot, cells: int):
        """Build the problem once for any start and goal."""
        import casadi

        n, self._robot, self._cells = robot.n, robot, cells
        rates = rates_of(robot, casadi.sin, casadi.cos, casadi.SX)
        y, tau = casadi.SX.sym("y", 2 * n), casadi.SX.sym("tau", n)
        slope = casadi.Function(
            "slope", [y, tau], [casadi.vertcat(*rates(casadi.vertsplit(y), casadi.vertsplit(tau)))]
        )
        x, middle = casadi.MX.sym("x", 2 * n, cells + 1), casadi.MX.sym("m", 2 * n, cells)
        u, duration = casadi.MX.sym("u", n, cells), casadi.MX.sym("t")
        ends = casadi.MX.sym("ends", 4 * n)
        h, across = duration / cells, slope.map(cells)
        efforts = casadi.repmat(casadi.DM(robot.tau_max), 1, cells) * u
        before, after, between = (
            across(states, efforts) for states in (x[:, :-1], x[:, 1:], middle)
        )
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

    def solve(
        self, start: Vector, goal: Vector, x: Matrix, u: Matrix, duration: float
    ) -> tuple[float, Matrix, Matrix]:
        """Solve from an initial guess; return duration (inf on failure), states and efforts.

        Args:
            start: Initial positions (n,).
            goal: Final positions (n,).
            x: Guess of the states (cells + 1, 2 n).
            u: Guess of the normalized efforts (cells, n).
            duration: Guess of the duration, s.
        """
        n, cells, rest = self._robot.n, self._cells, np.zeros(self._robot.n)
        middle = 0.5 * (x[1:] + x[:-1])
        solution = self._solver(
            x0=np.concatenate([x.ravel(), middle.ravel(), u.ravel(), [duration]]),
            p=np.concatenate([start, rest, goal, rest]),
            lbx=self._low,
            ubx=self._high,
            lbg=0.0,
            ubg=0.0,
        )
        w = np.array(solution["x"]).ravel()
        states = w[: 2 * n * (cells + 1)].reshape(cells + 1, 2 * n)
        efforts = w[-1 - n * cells : -1].reshape(cells, n)
        is_solved = self._solver.stats()["success"]
        return (float(w[-1]) if is_solved else np.inf), states, efforts


def swings(robot: Robot, rng: np.random.Generator) -> list[Vector]:
    """Return the detour amplitudes (n,) of all initial guesses."""
    detours = [side * SWING * unit for unit in np.eye(robot.n) for side in (1.0, -1.0)]
    amplitudes = [np.zeros(robot.n), *detours]
    count = max(STARTS - len(amplitudes), 0)
    return amplitudes + [rng.normal(scale=SWING, size=robot.n) for _ in range(count)]


def least_duration(robot: Robot, start: Vector, goal: Vector, than: float) -> float:
    """Return the shortest duration (s) by collocation, refined if it is shorter than `than`."""
    if robot.n > FEW_JOINTS:
        return near_straight_path(robot, start, goal)
    rng, best = np.random.default_rng(0), (np.inf, np.empty((0, 0)), np.empty((0, 0)))
    coarse = Collocation(robot, COLLOCATION_CELLS)
    z = np.linspace(0.0, 1.0, COLLOCATION_CELLS + 1)[:, None]
    for swing in swings(robot, rng):
        q = start + (goal - start) * z + swing * np.sin(np.pi * z) ** 2
        q = np.clip(q, robot.q_min, robot.q_max)
        x = np.hstack([q, np.gradient(q, FIRST / COLLOCATION_CELLS, axis=0)])
        solution = coarse.solve(start, goal, x, np.zeros((COLLOCATION_CELLS, robot.n)), FIRST)
        best = min(best, solution, key=lambda motion: motion[0])
    if best[0] > than - FASTER:
        return best[0]
    fine = Collocation(robot, FINER * COLLOCATION_CELLS)
    z_fine = np.linspace(0.0, 1.0, FINER * COLLOCATION_CELLS + 1)
    x = np.array([np.interp(z_fine, z[:, 0], column) for column in best[1].T]).T
    return fine.solve(start, goal, x, np.repeat(best[2], FINER, axis=0), best[0])[0]


def near_straight_path(robot: Robot, start: Vector, goal: Vector) -> float:
    """Return the duration (s) of the local minimum near the straight path, or inf."""
    straight = time_path(robot, np.array([start, goal]))
    times = np.linspace(0.0, straight.t_final, CELLS_OF_MANY + 1)
    x = np.array([np.concatenate(straight.joints(t)[:2]) for t in times])
    collocation, rest = Collocation(robot, CELLS_OF_MANY), np.zeros((CELLS_OF_MANY, robot.n))
    return collocation.solve(start, goal, x, rest, straight.t_final)[0]


def faster_collocations(robot: Robot, goals: int) -> tuple[Counter[str], list[float]]:
    """Compare plans with collocation.

    Returns:
        Numbers of plans and of collocation solutions, and the time (s) by which collocation is
        faster for each goal where it is.
    """
    counts, differences = Counter[str](), list[float]()
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
            differences.append(plan.t_final - least)
    return counts, differences


# ----------------------------------------------------------------------------------- command
def _planned(robot: Robot, goals: int) -> str:
    return minimum_time_goals(robot, goals).sentence(goals)


def _planned_with_zero_net_work(robot: Robot, goals: int) -> str:
    return zero_net_work_goals(robot, goals).sentence(goals)


def _compared_with_collocation(robot: Robot, goals: int) -> str:
    counts, differences = faster_collocations(robot, goals)
    numbers = ", ".join(f"{number} {what}" for what, number in counts.items())
    return f"{robot.name}: {numbers} of {goals}, collocation is faster by (s): {differences}"


PLANNERS = {
    "minimum_time": _planned,
    "zero_net_work": _planned_with_zero_net_work,
    "collocation": _compared_with_collocation,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the results, one line per robot."""
    parser = argparse.ArgumentParser(description="Success rates of planners for random goals.")
    parser.add_argument("planner", choices=PLANNERS)
    parser.add_argument("goals", nargs="?", type=int, default=200, help="goals per robot")
    parser.add_argument(
        "robots",
        nargs="*",
        default=ROBOTS,
        help="names or URDFs of robots; ROBOT/3: its first three joints, the others locked at 0",
    )
    options = parser.parse_args(arguments)
    for name in options.robots:
        print(PLANNERS[options.planner](arm(name), options.goals), flush=True)


if __name__ == "__main__":
    main()

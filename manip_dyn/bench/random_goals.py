"""Success rates of planners for random goals: ``python -m manip_dyn.bench.random_goals``.

The arms are the six of `known_arm`, `--arms` random ones that depend on `--seed`, or those of
`--robots`. With ``--weak`` the random arms cannot hold themselves in all postures. Starts and
goals are uniformly distributed over the position limits, or within pi of zero if the limits are
wider. The effort limits can hold the arm in both postures.

Each plan is checked with pinocchio's dynamics, see `largest_defect`, and compared with the fastest
motion along the straight path. With ``--reference N`` every Nth goal is also solved by collocation
from several initial guesses (see `manip_dyn.bench.collocation`). ``--json FILE`` stores all
results. With ``--baseline FILE`` the plans are compared with stored ones, and the stored results
of collocation are used instead of new ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from manip_dyn.bench.collocation import Reference, Solvers
from manip_dyn.bench.random_arms import KNOWN, known_arm, random_arms
from manip_dyn.bench.timing import setting
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.path_timing import time_path
from manip_dyn.robot import Robot, load_robot

PLANNERS: dict[str, Callable[..., Plan]] = {
    "minimum_time": plan_minimum_time,
    "zero_net_work": plan_zero_net_work,
}
PACKAGES = ("manip_dyn", "numba", "numpy", "scipy", "pin", "casadi")
INTERVALS, POINTS = 200, 5
"""Minimum number of intervals of a motion, and Gauss points in each, for `largest_defect`."""
MAX_DEFECT, MAX_EXCESS = 1e-6, 1e-6
BEATEN = 1e-3
"""Fraction of the duration by which a motion must be faster to count as another one."""
SLOWER = 1e-6
"""Fraction of the duration of a stored plan by which a new plan must differ to be counted."""
UNIQUE = 5e-3
"""Smallest `Row.spread` of an optimum that is not unique. Of 55 certified motions of random arms,
five had values between 0.008 and 0.01, the others smaller ones. Motions with a joint that has time
to spare usually have at least 0.01."""
UNDETERMINED = 0.02
"""Smallest `Row.undetermined` of an optimum that is not unique."""


class Row(NamedTuple):
    """Result of one goal.

    Attributes:
        arm: Name of the arm.
        start: Start positions (n,), rad or m.
        goal: Goal positions (n,), rad or m.
        status: `Plan.status`, or ``none`` without a plan.
        reason: `Plan.reason`, or the error message.
        t_final: Duration, s; None without a plan.
        cpu: CPU time of the planner, s.
        wall: Elapsed time of the planner, s.
        defect: Largest violation of the equations of motion, see `largest_defect`.
        excess: Largest violation of a limit, see `largest_excess`.
        straight: Duration of the fastest motion along the straight path, s, or None.
        reference: Duration by collocation, s; None if it has failed or was not tried.
        minima: Number of local minima of collocation; None if it was not tried.
        spread: Deviation of motions that are hardly slower, see `Reference.spread`. None if
            collocation was not tried or has failed.
        undetermined: Fraction of the duration with surplus efforts, see `Reference.undetermined`.
            None if collocation was not tried or has failed.
    """

    arm: str
    start: list[float]
    goal: list[float]
    status: str
    reason: str
    t_final: float | None
    cpu: float
    wall: float
    defect: float = 0.0
    excess: float = 0.0
    straight: float | None = None
    reference: float | None = None
    minima: int | None = None
    spread: float | None = None
    undetermined: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Arm, start and goal."""
        return (self.arm, *self.start, *self.goal)

    @property
    def is_unique(self) -> bool:
        """Whether only one motion is the fastest, by both tests of the motion of collocation."""
        return (self.spread or 0.0) < UNIQUE and (self.undetermined or 0.0) < UNDETERMINED

    @property
    def lead(self) -> float:
        """Fraction of the plan's duration that collocation saves; negative if the plan is faster.

        It is 0 if one of the durations is missing.
        """
        if self.t_final is None or self.reference is None:
            return 0.0
        return 1.0 - self.reference / self.t_final


def random_pairs(robot: Robot, count: int, seed: int = 0) -> Iterator[tuple[Vector, Vector]]:
    """Yield `count` pairs of random postures (n,) in which the effort limits can hold the arm."""
    rng, yielded = np.random.default_rng(seed), 0
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    while yielded < count:
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        if _is_holdable(robot, start) and _is_holdable(robot, goal):
            yielded += 1
            yield start, goal


def _is_holdable(robot: Robot, q: Vector) -> bool:
    zero = np.zeros(robot.n)
    static = pinocchio.rnea(robot.model, robot.model.createData(), q, zero, zero)
    return bool(np.all(np.abs(static) < robot.tau_max))


# ------------------------------------------------------------------------------ measurement
def measure(
    robot: Robot,
    plan: Callable[..., Plan],
    goals: int,
    seed: int = 0,
    every: int = 0,
    stored: dict[tuple[Any, ...], Row] | None = None,
) -> Iterator[Row]:
    """Yield the results of random goals of a robot.

    Args:
        robot: The arm.
        plan: The planner.
        goals: Number of goals.
        seed: Seed of the goals.
        every: Goals number 0, `every`, 2 `every` and so on are also solved by collocation; 0 for
            none.
        stored: Earlier results, whose collocations are used.
    """
    solvers = None
    for index, (start, goal) in enumerate(random_pairs(robot, goals, seed)):
        if index == 0:
            _planned(robot, plan, start, goal)  # compiles
        row = _planned(robot, plan, start, goal)
        before = (stored or {}).get(row.key)
        if before is not None and before.minima is not None:
            row = row._replace(
                reference=before.reference,
                minima=before.minima,
                spread=before.spread,
                undetermined=before.undetermined,
            )
        if every and index % every == 0 and row.minima is None:
            solvers = Solvers(robot) if solvers is None else solvers
            row = _compared(robot, Reference(robot, start, goal, solvers), row)
        yield row


def _planned(robot: Robot, planner: Callable[..., Plan], start: Vector, goal: Vector) -> Row:
    began = time.process_time(), time.perf_counter()
    try:
        plan, reason = planner(robot, start, goal), ""
    except ManipDynError as error:
        plan, reason = None, str(error)
    cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
    ends = start.tolist(), goal.tolist()
    if plan is None:
        return Row(robot.name, *ends, "none", reason, None, cpu, wall)
    return Row(
        robot.name,
        *ends,
        plan.status,
        plan.reason,
        plan.t_final,
        cpu,
        wall,
        largest_defect(plan),
        largest_excess(plan),
        _straight(robot, start, goal),
    )


def _straight(robot: Robot, start: Vector, goal: Vector) -> float | None:
    try:
        return time_path(robot, np.array([start, goal])).t_final
    except ManipDynError:
        return None


def _compared(robot: Robot, reference: Reference, row: Row) -> Row:
    duration = reference.motion.duration
    if not np.isfinite(duration):
        return row._replace(minima=reference.minima)
    return row._replace(
        reference=duration,
        minima=reference.minima,
        spread=reference.spread(robot),
        undetermined=reference.undetermined(robot),
    )


def _grid(plan: Plan) -> Vector:
    """Return the knots of a plan, with additional times between distant ones, s."""
    longest = plan.t_final / INTERVALS
    parts = [
        np.linspace(begin, end, int(np.ceil((end - begin) / longest)) + 1)[:-1]
        for begin, end in zip(plan.knots[:-1], plan.knots[1:], strict=True)
        if end > begin
    ]
    return np.append(np.concatenate(parts), plan.t_final)


def largest_defect(plan: Plan) -> float:
    """Return the largest violation of the equations of motion, rad, m, rad/s or m/s.

    The changes of positions and velocities over each interval are compared with the integrals of
    the velocities and of pinocchio's accelerations under the plan's efforts, by Gauss quadrature.
    The last interval ends at the goal. The result is 0 for a plan without motion.
    """
    robot, data = plan.robot, plan.robot.model.createData()
    if plan.motion is None:
        return 0.0
    times = _grid(plan)
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    lengths = np.diff(times)
    inner = times[:-1, None] + 0.5 * lengths[:, None] * (1.0 + points)
    q, v, tau = plan.at(inner.ravel())
    tau = tau - robot.damping * v - robot.stiffness * (q - robot.rest)
    rows = zip(q, v, tau, strict=True)
    a = np.array([pinocchio.aba(robot.model, data, *row) for row in rows])
    shape = (len(lengths), POINTS, robot.n)
    gains = (
        0.5 * lengths[:, None] * np.einsum("j,kji->ki", weights, rates.reshape(shape))
        for rates in (v, a)
    )
    q, v, _ = plan.at(times)
    changes = zip((q, v), gains, strict=True)
    return max(float(np.abs(np.diff(x, axis=0) - gain).max()) for x, gain in changes)


def largest_excess(plan: Plan) -> float:
    """Return the largest violation of a limit, or 0.

    Violations of effort and speed limits are relative to the limit, and those of position limits
    to the range of the joint.
    """
    if plan.motion is None:
        return 0.0
    robot, times = plan.robot, _grid(plan)
    q, v, tau = plan.at(np.sort(np.r_[times, 0.5 * (times[1:] + times[:-1])]))
    span = robot.q_max - robot.q_min
    beyond = np.maximum(q - robot.q_max, robot.q_min - q) / np.where(np.isfinite(span), span, 1.0)
    fractions = (np.abs(v) / robot.v_max - 1.0, np.abs(tau) / robot.tau_max - 1.0)
    return max(0.0, *(float(part.max()) for part in (beyond, *fractions)))


# ----------------------------------------------------------------------------------- tables
def summary(rows: Sequence[Row]) -> dict[str, str]:
    """Return a summary of the results: a text by the name of each criterion."""
    plans = [row for row in rows if row.t_final is not None]
    tried = [row for row in rows if row.minima is not None]
    references = [row for row in tried if row.reference is not None]
    lines = {
        "goals": f"{len(rows)}: {_counts(rows)}",
        "certified": _fraction(rows, lambda row: row.status in ("solved", "at_goal")),
        "solved or converged": _fraction(rows, _succeeds),
        "elapsed, s": _times([row.wall for row in rows]),
        "CPU, s": _times([row.cpu for row in rows]),
    }
    lines |= {
        f"CPU of {status}, s": _times([row.cpu for row in rows if row.status == status])
        for status in sorted({row.status for row in rows})
    }
    slower = [row for row in plans if (row.straight or np.inf) < (row.t_final or 0.0)]
    lines |= {
        "largest defect": f"{max((row.defect for row in plans), default=0.0):.1e}, "
        f"{sum(row.defect > MAX_DEFECT for row in plans)} above {MAX_DEFECT:.0e}",
        "largest excess of a limit": f"{max((row.excess for row in plans), default=0.0):.1e}, "
        f"{sum(row.excess > MAX_EXCESS for row in plans)} above {MAX_EXCESS:.0e}",
        "slower than the straight path": f"{len(slower)} of {len(plans)}",
    }
    if not tried:
        return lines
    beaten = [row for row in references if row.lead > BEATEN]
    worst = max((row.lead for row in references), default=0.0)
    several = sum((row.minima or 0) > 1 for row in references)
    unique = [row for row in references if row.is_unique]
    return lines | {
        "solved by collocation": f"{len(references)} of {len(tried)}, "
        f"{several} with several local minima",
        "plan where collocation has one": _fraction(references, lambda row: _succeeds(row)),
        "beaten by more than 0.1 %": f"{len(beaten)} of {len(references)}, "
        f"worst {100.0 * worst:.3f} %",
        "certified where unique": _fraction(unique, lambda row: row.status == "solved"),
    }


def changes(rows: Sequence[Row], stored: dict[tuple[Any, ...], Row]) -> dict[str, str]:
    """Return comparisons with stored results of the same goals; empty if there are none."""
    pairs = [(row, stored[row.key]) for row in rows if row.key in stored]
    if not pairs:
        return {}
    kinds = Counter(f"{old.status} -> {new.status}" for new, old in pairs)
    times = [
        new.t_final / old.t_final - 1.0
        for new, old in pairs
        if new.t_final and old.t_final and _succeeds(old)
    ]
    cpu = sum(new.cpu for new, _ in pairs) / sum(old.cpu for _, old in pairs)
    return {
        "goals of the baseline": f"{len(pairs)}: "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
        "slower than the baseline": f"{sum(t > SLOWER for t in times)} of {len(times)}, "
        f"worst {100.0 * max(times, default=0.0):.4f} %",
        "faster than the baseline": f"{sum(t < -SLOWER for t in times)} of {len(times)}, "
        f"most {-100.0 * min(times, default=0.0):.4f} %",
        "CPU over that of the baseline": f"{cpu:.3f}",
    }


def _succeeds(row: Row) -> bool:
    return row.status in ("solved", "converged", "at_goal", "near_minimum")


def _fraction(rows: Sequence[Row], holds: Callable[[Row], bool]) -> str:
    count = sum(map(holds, rows))
    return f"{count} of {len(rows)}" + (f", {100.0 * count / len(rows):.1f} %" if rows else "")


def _counts(rows: Sequence[Row]) -> str:
    counts = Counter(row.status for row in rows)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def _times(times: Sequence[float]) -> str:
    if not times:
        return "-"
    median, most, longest = np.quantile(times, [0.5, 0.9, 1.0])
    return f"median {median:.3f}, 90 % {most:.3f}, longest {longest:.2f}, total {sum(times):.1f}"


def table(lines: dict[str, str]) -> str:
    """Return a summary as text."""
    return "\n".join(f"  {name:<32}{text}" for name, text in lines.items())


def read_rows(file: Path) -> dict[tuple[Any, ...], Row]:
    """Return stored results by arm, start and goal."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return {row.key: row for row in (Row(**values) for values in content["rows"])}


def write_rows(file: Path, rows: Sequence[Row], arguments: Sequence[str]) -> None:
    """Write results to a JSON file, one per line, with versions, commit and arguments."""
    head = json.dumps({"setting": dict(setting(PACKAGES)), "arguments": list(arguments)})
    lines = ",\n".join(json.dumps(row._asdict()) for row in rows)
    file.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


# ---------------------------------------------------------------------------------- command
def robots(options: argparse.Namespace) -> Iterator[Robot]:
    """Yield the robots of the command line, or the known arms by default."""
    for name in options.robots:
        if name in KNOWN:
            yield known_arm(name)
            continue
        whole = load_robot(name.removesuffix("/3"))
        others = whole.joint_names[3:] if name.endswith("/3") else ()
        yield load_robot(name.removesuffix("/3"), lock=dict.fromkeys(others, 0.0))
    if options.arms:
        yield from random_arms(options.arms, options.seed, options.weak)
    elif not options.robots:
        yield from map(known_arm, KNOWN)


def main(arguments: list[str] | None = None) -> int:
    """Print a table per robot and one for all, and return the exit code."""
    parser = argparse.ArgumentParser(description="Success rates of planners for random goals.")
    parser.add_argument("planner", nargs="?", default="minimum_time", choices=PLANNERS)
    parser.add_argument("--arms", type=int, default=0, help="number of random arms")
    parser.add_argument(
        "--weak", action="store_true", help="random arms cannot hold themselves in all postures"
    )
    parser.add_argument("--goals", type=int, default=20, help="goals per robot")
    parser.add_argument("--seed", type=int, default=0, help="seed of arms and goals")
    parser.add_argument(
        "--robots",
        nargs="+",
        default=[],
        help="names or URDFs of robots, or names of known arms; ROBOT/3: its first three joints, "
        "the others locked at 0",
    )
    parser.add_argument("--budget", type=float, help="budget of minimum time, s; 0: unlimited")
    parser.add_argument(
        "--reference",
        nargs="?",
        const=1,
        default=0,
        type=int,
        metavar="N",
        help="also solve every Nth goal of a robot by collocation",
    )
    parser.add_argument("--baseline", type=Path, help="JSON file of an earlier run")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args(arguments)
    if options.reference and find_spec("casadi") is None:
        print("--reference requires CasADi: pip install casadi", file=sys.stderr)
        return 2
    rows: list[Row] = []
    plan = PLANNERS[options.planner]
    if options.budget is not None:
        plan = partial(plan, budget=options.budget or None)
    try:
        stored = read_rows(options.baseline) if options.baseline else {}
        for robot in robots(options):
            new = list(
                measure(robot, plan, options.goals, options.seed, options.reference, stored)
            )
            rows += new
            print(f"{robot.name}\n{table(summary(new))}", flush=True)
            if options.json:
                write_rows(options.json, rows, sys.argv[1:])
    except (ManipDynError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"all\n{table(summary(rows) | changes(rows, stored))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`manip_dyn bench integrators`: computing time at equal measured error, beside the peers.

Two free motions: the RR arm of Galhano, Machado (1994) for 5 s, and the Panda for 1 s from 0.3 rad
in every joint. Every candidate runs at many tolerances; its time at a target is read from the line
through its (error, time) points in logarithms. Errors are those of the final state, largest
component, against RK10 in extended precision.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench import integrator_peers
from manip_dyn.bench.graphs import reference
from manip_dyn.bench.robots import usual_robots
from manip_dyn.bench.timing import SLICE, repetitions, seconds, setting
from manip_dyn.codegen import customize
from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.integrate.methods.taylor import order_for
from manip_dyn.robot import Robot, load_robot
from manip_dyn.validate import Vector

TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(6, 32))
OURS = ("rkdp54", "rkdp87", "rkf78", "rkv78", "taylor")
PACKAGES = ("manip_dyn", "numba", "scipy", "numbalsoda", "heyoka", "diffrax")
RUNS, PATIENCE = 9, 0.5
"""How often each problem is solved for a median, and the time after which that is enough, s."""


class Problem(NamedTuple):
    """A free motion: the arm, its start (2 n,), its duration in s, errors to reach."""

    robot: Robot
    start: Vector
    duration: float
    targets: tuple[float, ...]


class Row(NamedTuple):
    """CPU milliseconds of one candidate at each target error; None where it does not get there."""

    problem: str
    candidate: str
    milliseconds: tuple[float | None, ...]


class Bench(NamedTuple):
    """The rows, and the setting they were measured in."""

    setting: dict[str, str]
    targets: dict[str, tuple[float, ...]]
    rows: list[Row]

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "setting": self.setting,
            "targets": self.targets,
            "rows": [row._asdict() for row in self.rows],
        }

    def __str__(self) -> str:
        """Return a table per problem; the number in brackets is the time over our best one."""
        lines = [", ".join(f"{key} {value}" for key, value in self.setting.items())]
        for problem, targets in self.targets.items():
            rows = [row for row in self.rows if row.problem == problem]
            best = [_least(row.milliseconds[i] for row in rows if _is_ours(row))
                    for i in range(len(targets))]  # fmt: skip
            head = "".join(f"{f'error {target:g}':>20}" for target in targets)
            lines += ["", f"{problem}, CPU ms (over our best)", f"{'':<34}{head}"]
            for row in rows:
                cells = "".join(
                    f"{'-':>20}" if ms is None or least is None
                    else f"{f'{ms:.4f} ({ms / least:.2f})':>20}"
                    for ms, least in zip(row.milliseconds, best, strict=True)
                )  # fmt: skip
                lines.append(f"{row.candidate:<34}{cells}")
        return "\n".join(lines)


def problems() -> list[Problem]:
    """Return the two motions, or the first where the Panda is not installed."""
    found = [Problem(load_robot("rr"), np.array([0.5, 0.3, 0, 0]), 5.0, (1e-6, 1e-9, 1e-12))]
    for robot in usual_robots()[1:]:
        start = np.concatenate([np.full(robot.n, 0.3), np.zeros(robot.n)])
        found.append(Problem(robot, start, 1.0, (1e-6, 1e-9, 1e-11)))
    return found


def bench_integrators(
    chosen: Sequence[Problem] | None = None, tolerances: Sequence[float] = TOLERANCES
) -> Bench:
    """Time our methods and the peers that are installed on the problems."""
    rows, targets = [], {}
    for problem in problems() if chosen is None else chosen:
        robot, start, duration, wanted = problem
        exact = reference(robot, start.tolist(), duration, steps=1500)
        name = f"{robot.name}, {duration:g} s"
        targets[name] = wanted
        for candidate, solvers in _candidates(robot, start, duration, tolerances):
            points = [measured(solve, exact) for solve in solvers]
            times = tuple(time_at(points, target) for target in wanted)
            rows.append(Row(name, candidate, times))
    return Bench(dict(setting(PACKAGES)), targets, rows)


def _candidates(robot: Robot, start: Vector, duration: float, tolerances: Sequence[float]):
    for method in OURS:
        yield f"manip_dyn {method}", (_our_solver(robot, start, duration, method, tolerance)
                                      for tolerance in tolerances)  # fmt: skip
    yield from integrator_peers.candidates(robot, start, duration, tolerances)


def _our_solver(robot: Robot, start: Vector, duration: float, method: str, tolerance: float):
    kernels, orders, rows = customize(robot), (0, 0), 0
    rhs = kernels.right_hand_side
    if method == "taylor":
        rhs, rows = kernels.series.of_state, kernels.series.width
        orders = (order_for(tolerance),) * 2
    options = Options(size=2 * robot.n, adaptive=True)
    engine = compile_engine(rhs, METHODS[method], options, scratch=rows)
    space = engine.space(rtol=tolerance, atol=tolerance, orders=orders)
    y, tau, run = start.copy(), np.zeros(robot.n), engine.run

    def solve() -> Vector:
        y[:] = start
        run(0.0, duration, tau, y, space)
        return y

    return solve


def measured(solve: integrator_peers.Solver, exact: Vector) -> tuple[float, float]:
    """Return error and median CPU time in s."""
    error = float(np.abs(np.asarray(solve()) - exact).max())
    count = repetitions(solve, SLICE, time.process_time)
    times: list[float] = []
    while len(times) < RUNS and (not times or sum(times) < PATIENCE):
        times.append(seconds(solve, count, time.process_time) / count)
    return error, statistics.median(times)


def time_at(points: Sequence[tuple[float, float]], target: float) -> float | None:
    """Return the least time, ms, at which the candidate's line comes down to the target error."""
    found = [1e3 * seconds for error, seconds in points if error <= target]
    for (coarse, short), (fine, long) in itertools.pairwise(points):
        if coarse > target >= fine > 0.0:
            share = math.log(coarse / target) / math.log(coarse / fine)
            found.append(1e3 * short * (long / short) ** share)
    return _least(found)


def _least(times: Iterable[float | None]) -> float | None:
    return min((ms for ms in times if ms is not None), default=None)


def _is_ours(row: Row) -> bool:
    return row.candidate.startswith("manip_dyn")

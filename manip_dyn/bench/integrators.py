"""`manip_dyn bench integrators`: computing time at equal measured error, compared with peers.

The problems are two free motions: the RR arm of Galhano, Machado (1994) for 5 s, and the Panda for
1 s from 0.3 rad in every joint. Every candidate runs with many tolerances in many interleaved
rounds. Other load on the machine can only increase a time, so each time is the minimum over the
rounds. The time at a target error is interpolated between a candidate's (error, time) points on
logarithmic scales. The error is the largest component of the error of the final state, relative to
RK10 in extended precision.

There is a row for each method of manip_dyn and each installed peer, with CPU milliseconds at three
errors. Rows of manip_dyn time `md.problem(...).solve()`, which returns every step. Rows with
"inside" time the compiled loop `Engine.run`, which users call from compiled code. Peers are also
prepared in advance. Takes a few minutes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.bench.peers import extended_precision_end, installed, rates_of
from manip_dyn.bench.robots import usual_robots
from manip_dyn.bench.timing import Candidate, documented, repetitions, seconds
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.integration import METHODS, Options, compile_engine
from manip_dyn.integration import problem as prepare
from manip_dyn.integration.methods.method import order_for
from manip_dyn.robot import Robot, load_robot

TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(6, 32))
OURS = ("rkdp54", "rkdp87", "rkf78", "rkv78", "taylor")
PACKAGES = ("manip_dyn", "numba", "scipy", "numbalsoda", "heyoka", "diffrax")
CALL = "problem.solve(y0).y_last"
SLICE, RUNS, ENOUGH = 5e-4, 40, 0.5
"""Minimum CPU time (s) of a solver in a round, number of rounds, and total CPU time (s) after
which a solver is not repeated."""


class Problem(NamedTuple):
    """A free motion: arm, initial state (2 n,), duration (s) and target errors."""

    robot: Robot
    start: Vector
    duration: float
    targets: tuple[float, ...]


class Row(NamedTuple):
    """CPU milliseconds of a candidate at each target error, or None if it is not reached.

    `call` is the documented call of a candidate of this package.
    """

    problem: str
    candidate: str
    targets: tuple[float, ...]
    milliseconds: tuple[float | None, ...]
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return one table per problem. Numbers in brackets are ratios to manip_dyn's best time."""
    lines = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        targets = mine[0].targets
        best = [
            _least(row.milliseconds[i] for row in mine if _is_ours(row))
            for i in range(len(targets))
        ]
        head = "".join(f"{f'error {target:g}':>20}" for target in targets)
        call = f"; manip_dyn: {mine[0].call}" if mine[0].call else ""
        title = f"{problem}, CPU ms (ratio to the best of manip_dyn){call}"
        lines += ["", title, f"{'':<34}{head}"]
        for row in mine:
            cells = "".join(map(_cell, row.milliseconds, best))
            lines.append(f"{row.candidate:<34}{cells}")
    return "\n".join(lines)


def _cell(ms: float | None, least: float | None) -> str:
    text = "-" if ms is None or least is None else f"{ms:.4f} ({ms / least:.2f})"
    return f"{text:>20}"


def problems() -> list[Problem]:
    """Return both motions, or only the first one if the Panda is not installed."""
    result = [Problem(load_robot("rr"), np.array([0.5, 0.3, 0, 0]), 5.0, (1e-6, 1e-9, 1e-12))]
    for robot in usual_robots()[1:]:
        start = np.concatenate([np.full(robot.n, 0.3), np.zeros(robot.n)])
        result.append(Problem(robot, start, 1.0, (1e-6, 1e-9, 1e-11)))
    return result


def measure(
    chosen: Sequence[Problem] | None = None, tolerances: Sequence[float] = TOLERANCES
) -> list[Row]:
    """Time the methods of this package and the installed peers on the problems."""
    rows = []
    for problem in problems() if chosen is None else chosen:
        robot, start, duration, targets = problem
        exact = extended_precision_end(robot, start.tolist(), duration, steps=1500)
        name = f"{robot.name}, {duration:g} s"
        candidates = {
            candidate: list(solvers)
            for candidate, solvers in _candidates(robot, start, duration, tolerances)
        }
        least = iter(least_times(list(itertools.chain(*candidates.values()))))
        for candidate, solvers in candidates.items():
            points = [(error_of(solve, exact), next(least)) for solve in solvers]
            times = tuple(time_at(points, target) for target in targets)
            rows.append(Row(name, candidate, targets, times, call_of(candidate)))
    return rows


def _candidates(robot: Robot, start: Vector, duration: float, tolerances: Sequence[float]):
    for make, note in ((_public_solver, ""), (inside_solver, ", inside")):
        for method in OURS:
            yield (
                f"manip_dyn {method}{note}",
                (make(robot, start, duration, method, tolerance) for tolerance in tolerances),
            )
    yield from candidates(robot, start, duration, tolerances)


def call_of(candidate: str) -> str:
    """Return the documented call of a candidate, or "" for others."""
    is_public = candidate.startswith("manip_dyn") and not candidate.endswith("inside")
    return CALL if is_public else ""


def _public_solver(
    robot: Robot, start: Vector, duration: float, method: str, tolerance: float
) -> Solver:
    kernels = customize(robot)
    rhs = kernels.series if method == "taylor" else kernels.right_hand_side
    prepared = prepare(
        rhs,
        (0.0, duration),
        start,
        method=method,
        rtol=tolerance,
        atol=tolerance,
        p=np.zeros(robot.n),
    )
    return documented(CALL, {"problem": prepared, "y0": start})


def inside_solver(
    robot: Robot, start: Vector, duration: float, method: str, tolerance: float
) -> Solver:
    """Return a solver that calls the engine inside `md.Problem.solve`."""
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


def error_and_time(solve: Solver, exact: Vector) -> tuple[float, float]:
    """Return the error and the shortest CPU time (s) of a single solver."""
    return error_of(solve, exact), least_times([solve])[0]


def error_of(solve: Solver, exact: Vector) -> float:
    """Return the largest component of the error of the final state."""
    return float(np.abs(np.asarray(solve()) - exact).max())


def least_times(solvers: Sequence[Solver]) -> list[float]:
    """Return the shortest CPU time (s) of each solver over interleaved rounds."""
    counts = [repetitions(solve, SLICE, time.process_time) for solve in solvers]
    least, spent = [math.inf] * len(solvers), [0.0] * len(solvers)
    for _ in range(RUNS):
        for i, (solve, count) in enumerate(zip(solvers, counts, strict=True)):
            if spent[i] < ENOUGH:
                took = seconds(solve, count, time.process_time)
                least[i] = min(least[i], took / count)
                spent[i] += took
    return least


def time_at(points: Sequence[tuple[float, float]], target: float) -> float | None:
    """Return the shortest time (ms) to reach the target error, or None if it is not reached.

    Args:
        points: Errors and CPU times (s) in the order of decreasing tolerances.
        target: Target error, interpolated between the points on logarithmic scales.
    """
    times = [1e3 * seconds for error, seconds in points if error <= target]
    for (coarse, short), (fine, long) in itertools.pairwise(points):
        if coarse > target >= fine > 0.0:
            fraction = math.log(coarse / target) / math.log(coarse / fine)
            times.append(1e3 * short * (long / short) ** fraction)
    return _least(times)


def _least(times: Iterable[float | None]) -> float | None:
    return min((ms for ms in times if ms is not None), default=None)


def _is_ours(row: Row) -> bool:
    return bool(call_of(row.candidate))


# ------------------------------------------------------------------------------------- peers
Solver = Callable[[], Vector]
Candidates = Iterator[tuple[str, Iterable[Solver]]]


def candidates(
    robot: Robot, start: Vector, duration: float, tolerances: Sequence[float]
) -> Candidates:
    """Yield the names of installed peers, each with one solver per tolerance."""
    yield from _scipy(robot, start, duration, tolerances)
    if installed("numbalsoda"):
        yield from _numbalsoda(robot, start, duration, tolerances)
    if installed("heyoka"):
        yield from _heyoka(robot, start, duration, tolerances)
    if installed("diffrax"):
        yield from _diffrax(robot, start, duration, tolerances)


def _scipy(robot, start, duration, tolerances) -> Candidates:
    rhs, tau = customize(robot).right_hand_side, np.zeros(robot.n)

    @numba.njit
    def rates(t, y):
        out = np.empty_like(y)
        rhs(t, y, tau, out)
        return out

    for method in ("DOP853", "LSODA"):

        def solver(tolerance: float, method: str = method) -> Solver:
            return lambda: solve_ivp(
                rates,
                (0.0, duration),
                start,
                method=method,
                rtol=max(tolerance, 3e-14),
                atol=tolerance,
            ).y[:, -1]

        yield f"scipy {method}, numba rhs", map(solver, tolerances)


def _numbalsoda(robot, start, duration, tolerances) -> Candidates:
    import numbalsoda

    rhs, tau, size = customize(robot).right_hand_side, np.zeros(robot.n), 2 * robot.n

    @numba.cfunc(numbalsoda.lsoda_sig)
    def rates(t, y, out, _p):
        rhs(t, numba.carray(y, (size,)), tau, numba.carray(out, (size,)))

    times, address = np.array([0.0, duration]), rates.address
    for method in ("dop853", "lsoda"):
        run = getattr(numbalsoda, method)

        def solver(tolerance: float, run: Callable = run) -> Solver:
            def solve() -> Vector:
                states, done = run(address, start, times, rtol=tolerance, atol=tolerance)
                return states[-1] if done else np.full_like(start, np.nan)

            return solve

        yield f"numbalsoda {method}", map(solver, tolerances)


def _heyoka(robot, start, duration, tolerances) -> Candidates:
    # heyoka unrolls the loop over the orders, so every tolerance requires a compilation.
    chosen = tolerances if robot.n <= 3 else tolerances[::4]
    for fast in (False, True):
        solver = partial(_heyoka_solver, robot, start, duration, fast=fast)
        yield f"heyoka{', fast_math' if fast else ''}", map(solver, chosen)


def _heyoka_solver(
    robot: Robot, start: Vector, duration: float, tolerance: float, fast: bool = False
) -> Solver:
    import heyoka

    names = [f"y{i}" for i in range(2 * robot.n)]
    variables = heyoka.make_vars(*names)
    rates = rates_of(robot, heyoka.sin, heyoka.cos, heyoka.expression)(variables)
    integrator = heyoka.taylor_adaptive(
        list(zip(variables, rates, strict=True)),
        start.tolist(),
        tol=tolerance,
        fast_math=fast,
        compact_mode=robot.n > 3,  # the default mode compiles long systems for minutes
    )

    def solve() -> Vector:
        integrator.time = 0.0
        integrator.state[:] = start
        integrator.propagate_until(duration)
        return integrator.state

    return solve


def heyoka_call(robot: Robot, start: Vector, duration: float, tolerance: float) -> list[Candidate]:
    """Return a call of heyoka for a free motion as a list, which is empty without heyoka."""
    if not installed("heyoka"):
        return []
    return [Candidate("heyoka", _heyoka_solver(robot, start, duration, tolerance))]


def _diffrax(robot, start, duration, tolerances) -> Candidates:
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    rates = rates_of(robot, jax.numpy.sin, jax.numpy.cos)
    term = diffrax.ODETerm(lambda _t, y, _p: jax.numpy.stack(rates(y)))

    @jax.jit
    def run(y, tolerance):
        control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
        return diffrax.diffeqsolve(
            term,
            diffrax.Dopri8(),
            0.0,
            duration,
            None,
            y,
            stepsize_controller=control,
            max_steps=None,
            adjoint=diffrax.ForwardMode(),
        ).ys[-1]

    def solver(tolerance: float) -> Solver:
        return lambda: np.asarray(run(start, tolerance))

    yield "diffrax Dopri8", map(solver, [t for t in tolerances if t >= 1e-14])

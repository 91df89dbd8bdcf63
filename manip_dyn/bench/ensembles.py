"""`manip_dyn bench ensembles`: many motions at once, beside loops over them, MuJoCo, frax, heyoka.

Motions of the PA-10 over 1 s with RK4 and 1 ms, from random states under constant efforts, on all
cores. Slower candidates do a share of the motions; times are those of one step of one motion. The
arm of two links from many states is timed at equal errors, measured against a tighter tolerance:
on the line through a candidate's (error, time) points in logarithms.

A row for us with one thread and with all, for a loop over single motions, and for each peer that
is installed: microseconds of one step of one motion, or of one motion to an error. About 45 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from manip_dyn.bench.ensemble_peers import frax_motions, heyoka_batches, mujoco_rollout
from manip_dyn.bench.integrators import time_at
from manip_dyn.bench.timing import Candidate, Timing, compare, timing_lines
from manip_dyn.core.checks import Matrix
from manip_dyn.ensembles import simulate_many
from manip_dyn.ensembles.running import checked_threads
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import simulate

MOTIONS, ALONE, ROUNDS = 10_000, 8, 5
"""Motions side by side, one after the other; rounds of all candidates."""
DURATION, STEP = 1.0, 1e-3
SOME = 4096
"""Motions of the arm of two links."""
TOLERANCES = tuple(10.0**-k for k in range(5, 15))
EXACT, TARGETS = 1e-15, (1e-6, 1e-9, 1e-12)
PACKAGES = ("manip_dyn", "numba", "mujoco", "frax", "jax", "heyoka")


class Row(NamedTuple):
    """One problem: us for one step of one motion; or for a motion to an error.

    Attributes:
        problem: What is timed.
        timings: Of the candidates.
        errors: Largest error of each candidate (m,), where it is what differs; rad, m or per s.
    """

    problem: str
    timings: list[Timing]
    errors: list[float]


class Motions(NamedTuple):
    """Motions of an arm: starts (N, 2 n) and efforts (N, n)."""

    robot: Robot
    starts: Matrix
    efforts: Matrix

    def some(self, count: int) -> Motions:
        """Return the first of them."""
        return Motions(self.robot, self.starts[:count], self.efforts[:count])


def table(rows: Sequence[Row]) -> str:
    """Return a table per problem."""
    lines = ["Medians over rounds of all candidates in turn, and of the ratios to the first."]
    for problem, timings, errors in rows:
        lines += ["", problem]
        told = timing_lines(timings)
        if errors:
            told = [f"{line}   error {e:.1e}" for line, e in zip(told, errors, strict=True)]
            told += _at_equal_errors(timings, errors)
        lines += told
    return "\n".join(lines)


def _at_equal_errors(timings: Sequence[Timing], errors: Sequence[float]) -> list[str]:
    """Return lines with the times at `TARGETS`, between the tolerances of each candidate."""
    points: dict[str, list[tuple[float, float]]] = {}
    for timing, error in zip(timings, errors, strict=True):
        name = timing.name.rpartition(",")[0]
        points.setdefault(name, []).append((error, 1e-3 * timing.microseconds))
    lines = []
    for name, found in points.items():
        times = [time_at(found, target) for target in TARGETS]
        cells = "".join("       -" if each is None else f"{each:>8.3f}" for each in times)
        lines.append(f"  {name:<36}{cells} us at error {', '.join(f'{e:g}' for e in TARGETS)}")
    return lines


def measure(motions: int = MOTIONS, some: int = SOME) -> list[Row]:
    """Time `motions` of the PA-10 and `some` of the arm of two links."""
    return [_fixed_steps(motions), *_equal_errors(some)]


def random_motions(robot: Robot, count: int) -> Motions:
    """Return motions from random states under random efforts, the same each time."""
    draw = np.random.default_rng(0)
    starts = draw.uniform(-0.5, 0.5, (count, 2 * robot.n))
    efforts = draw.uniform(-1.0, 1.0, (count, robot.n)) * np.minimum(robot.tau_max, 5.0)
    return Motions(robot, starts, efforts)


def _fixed_steps(count: int) -> Row:
    given = random_motions(load_robot("pa10"), count)
    threads, share = checked_threads(None), max(count // 100, 8)
    few, alone = given.some(share), given.some(min(ALONE, count))
    part = given.some(10 * share)
    steps = round(DURATION / STEP)
    candidates = [
        Candidate(f"manip_dyn, {threads} threads", partial(_many, given, threads), count),
        Candidate("manip_dyn, 1 thread", partial(_many, part, 1), len(part.starts)),
        Candidate("a loop over md.simulate", partial(_loop, alone, None), len(alone.starts)),
        Candidate(
            "the same, of starts and ends alone", partial(_loop, few, DURATION), len(few.starts)
        ),
        *mujoco_rollout(few, DURATION, STEP, threads),
        *frax_motions(few, DURATION, STEP),
    ]
    per_step = [each._replace(evaluations=each.evaluations * steps) for each in candidates]
    problem = f"pa10, {count} motions over {DURATION:g} s, rk4 with {STEP:g} s; one step of one"
    return Row(problem, compare(per_step, ROUNDS), [])


def _many(given: Motions, threads: int) -> Matrix:
    n = given.robot.n
    q, v = given.starts[:, :n], given.starts[:, n:]
    made = simulate_many(given.robot, q, v, given.efforts, DURATION, STEP, threads=threads)
    return np.hstack([made.q_end, made.v_end])


def _loop(given: Motions, sample_period: float | None) -> Matrix:
    n, ends = given.robot.n, []
    for start, effort in zip(given.starts, given.efforts, strict=True):
        made = simulate(given.robot, start[:n], start[n:], effort, DURATION, STEP, sample_period)
        ends.append(np.concatenate([made.q[-1], made.v[-1]]))
    return np.array(ends)


# ------------------------------------------------------------------------ at equal errors
def _equal_errors(count: int) -> Iterator[Row]:
    given = random_motions(load_robot("rr"), count)
    given = given._replace(efforts=np.zeros_like(given.efforts))
    exact = _controlled(given, "rkdp87", EXACT)
    candidates: list[tuple[str, Callable[[], Matrix]]] = [
        (f"manip_dyn, {method}, {each:.0e}", partial(_controlled, given, method, each))
        for method in ("taylor", "rkdp87")
        for each in TOLERANCES
    ]
    candidates += heyoka_batches(given, DURATION, TOLERANCES)
    timed = [Candidate(name, run, count) for name, run in candidates]
    errors = [float(np.abs(run() - exact).max()) for _, run in candidates]
    problem = f"rr, {count} motions over {DURATION:g} s with tolerances, one thread; one motion"
    yield Row(problem, compare(timed, ROUNDS, time.thread_time), errors)


def _controlled(given: Motions, method: str, tolerance: float) -> Matrix:
    n = given.robot.n
    q, v = given.starts[:, :n], given.starts[:, n:]
    made = simulate_many(
        *(given.robot, q, v, given.efforts, DURATION),
        method=method,
        rtol=tolerance,
        atol=tolerance,
        threads=1,
    )
    return np.hstack([made.q_end, made.v_end])

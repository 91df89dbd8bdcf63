"""Shooting from the initial guesses that the thesis prints for MUSN (appendices A.3, A.5, A.8).

MUSN solves a boundary value problem by multiple shooting. The thesis gives it the states x and
costates p of the arm, and the final time z. Every effort is at its limit, with the sign opposite
to that of its switching function. ``SUBROUTINE XOT`` contains the initial guess, which is constant
over time. The printed settings are 10 intervals (``NRTI``), at most 20 iterations (``ITLIM``) and
a tolerance of 1e-6 (``ER``).

``SUBROUTINE G`` has one condition fewer than there are unknowns: the costates have no scale.
Here, the Hamiltonian 1 + p . dx/dt is zero at the start (eq. 4.33). Newton's method is damped: a
step is halved until the residual decreases. Shooting is repeated with a single interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.flow import LimitFlow
from manip_dyn.robot import Robot
from manip_dyn.studies.report.claims import Claim, Evidence

INTERVALS, ITERATIONS, TOLERANCE = 10, 20, 1e-6
"""Settings of MUSN in the thesis: `NRTI`, `ITLIM` and ER(1)."""
TRIALS, VARIATIONS, NEARBY = 12, (0.0, 0.01, 0.05, 0.2), 0.05
"""Number of random guesses, largest relative changes of a guess, and the change that is judged."""
STEPS = 24
"""Number of steps of a motion in which the efforts may switch once."""
NUDGE, SMALLEST = 1e-7, 1.0 / 64.0
"""Relative change of finite differences, and the smallest fraction of Newton's step."""
LONGEST = 10.0
"""Largest final time, s."""


class Guess(NamedTuple):
    """An initial guess of MUSN: positions (n,), costates (2 n,) and final time, s."""

    q0: tuple[float, ...]
    costates0: tuple[float, ...]
    t_final: float


class MusnRow(NamedTuple):
    """Result of shooting from variations of a guess.

    Attributes:
        case: Table or section of the thesis.
        costates: ``as printed`` or ``opposite sign``.
        intervals: Number of intervals.
        varied: Largest relative change of costates and final time.
        runs: Number of guesses.
        converged: Number of guesses from which Newton's method converges.
        at_printed: Number of guesses that lead to the printed final time.
        t_final: Smallest final time of a solution, s; NaN without a solution.
        printed: Printed final time, s.
        rank: Rank of the Jacobian of the printed conditions at the guess with a single interval,
            else None.
        unknowns: Number of unknowns.
    """

    case: str
    costates: str
    intervals: int
    varied: float
    runs: int
    converged: int
    at_printed: int
    t_final: float
    printed: float
    rank: int | None
    unknowns: int


class Solution(NamedTuple):
    """A solution of the boundary value problem.

    Attributes:
        costates: Initial costates (2 n,).
        t_final: Final time, s.
        iterations: Number of iterations.
    """

    costates: Vector
    t_final: float
    iterations: int


class BoundaryValueProblem:
    """Minimum time from rest to rest as a boundary value problem, for multiple shooting."""

    def __init__(self, robot: Robot, start: Vector, intervals: int):
        """Allocate a problem for a motion from `start` (n,) to zero."""
        self._flow, self._limits = LimitFlow(robot), np.array(robot.tau_max)
        self._kernels, self._n = customize(robot).unchecked, robot.n
        self._start = np.concatenate([start, np.zeros(robot.n)])
        self._intervals = intervals

    def solve(self, guess: Guess) -> Solution | None:
        """Return the solution to which Newton's method converges from a guess, or None."""
        unknowns = self._unknowns(guess)
        residual = self._residual(unknowns)
        for iteration in range(ITERATIONS):
            if residual is None:
                return None
            if np.abs(residual).max() <= TOLERANCE:
                return self._solution(unknowns, iteration)
            jacobian = self._jacobian(unknowns, residual)
            if jacobian is None or not np.isfinite(jacobian).all():
                return None
            step = -np.asarray(
                np.linalg.lstsq(jacobian, residual, rcond=1e-13)[0], dtype=np.float64
            )
            unknowns, residual = self._damped(unknowns, residual, step)
        if residual is None or np.abs(residual).max() > TOLERANCE:
            return None
        return self._solution(unknowns, ITERATIONS)

    def _damped(
        self, unknowns: Vector, residual: Vector, step: Vector
    ) -> tuple[Vector, Vector | None]:
        """Return the unknowns and the residual after the longest step that reduces the residual.

        Without such a step, the residual is None.
        """
        fraction = 1.0
        while fraction >= SMALLEST:
            moved = unknowns + fraction * step
            new = self._residual(moved) if 0.0 < moved[-1] <= LONGEST else None
            if new is not None and np.linalg.norm(new) < np.linalg.norm(residual):
                return moved, new
            fraction *= 0.5
        return unknowns, None

    def _solution(self, unknowns: Vector, iterations: int) -> Solution:
        n = self._n
        return Solution(unknowns[2 * n : 4 * n].copy(), float(unknowns[-1]), iterations)

    def rank(self, guess: Guess) -> int:
        """Return the rank of the Jacobian of the printed conditions at `guess`.

        The condition that the Hamiltonian is zero is not printed, and is left out.
        """
        unknowns = self._unknowns(guess)
        residual = self._residual(unknowns)
        jacobian = None if residual is None else self._jacobian(unknowns, residual)
        return 0 if jacobian is None else int(np.linalg.matrix_rank(jacobian[:-1], tol=1e-6))

    def _unknowns(self, guess: Guess) -> Vector:
        y = np.concatenate([self._start, guess.costates0])
        return np.append(np.tile(y, self._intervals), guess.t_final)

    def _nodes(self, unknowns: Vector) -> Matrix:
        """Return the states and costates (intervals, 4 n) at the starts of the intervals."""
        return unknowns[:-1].reshape(self._intervals, 4 * self._n)

    def _residual(self, unknowns: Vector) -> Vector | None:
        """Return the residual of all conditions, or None if the motion diverges."""
        nodes, duration = self._nodes(unknowns), unknowns[-1] / self._intervals
        ends = [self._moved(node, duration) for node in nodes]
        return None if any(end is None for end in ends) else self._conditions(nodes, ends)

    def _conditions(self, nodes: Matrix, ends: list[Any]) -> Vector:
        """Return start (2 n,), continuity, end (2 n,) and Hamiltonian conditions."""
        n = self._n
        gaps = [end - node for end, node in zip(ends[:-1], nodes[1:], strict=True)]
        start = nodes[0, : 2 * n] - self._start
        self._flow.choose(self._efforts(nodes[0]))
        hamiltonian = 1.0 + nodes[0, 2 * n :] @ self._flow.rates(nodes[0])[: 2 * n]
        return np.concatenate([start, *gaps, ends[-1][: 2 * n], [hamiltonian]])

    def _jacobian(self, unknowns: Vector, residual: Vector) -> Matrix | None:
        """Return the Jacobian of the residual by finite differences, or None."""
        nodes, duration = self._nodes(unknowns), unknowns[-1] / self._intervals
        ends: list[Any] = [self._moved(node, duration) for node in nodes]
        columns, size = [], 4 * self._n
        for i in range(len(unknowns) - 1):
            k, nudge = i // size, NUDGE * (1.0 + abs(unknowns[i]))
            changed, changed_ends = nodes.copy(), ends.copy()
            changed[k, i % size] += nudge
            changed_ends[k] = self._moved(changed[k], duration)
            if changed_ends[k] is None:
                return None
            columns.append((self._conditions(changed, changed_ends) - residual) / nudge)
        later = unknowns.copy()
        later[-1] += NUDGE
        moved = self._residual(later)
        if moved is None:
            return None
        return np.array([*columns, (moved - residual) / NUDGE]).T

    def _efforts(self, y: Vector) -> Vector:
        return np.where(self._switching(y) < 0.0, self._limits, -self._limits)

    def _switching(self, y: Vector) -> Vector:
        """Return the switching functions (n,) at a state with costates."""
        n = self._n
        return np.asarray(
            np.linalg.solve(self._kernels.mass_matrix(y[:n]), y[3 * n :]), dtype=np.float64
        )

    def _moved(self, y: Vector, duration: float) -> Vector | None:
        """Return the state and costates (4 n,) after `duration` s, or None if they diverge."""
        count = max(1, round(STEPS / self._intervals))
        for _ in range(count):
            moved = self._step(y, duration / count)
            if moved is None or not np.isfinite(moved).all():
                return None
            y = moved
        return y

    def _step(self, y: Vector, duration: float) -> Vector | None:
        """Move by a step. The efforts switch where the first switching function is zero."""
        left, before = duration, self._switching(y)
        for _ in range(2 * self._n):
            self._flow.choose(np.where(before < 0.0, self._limits, -self._limits))
            end = self._flow.moved(y, left)
            if end is None:
                return None
            after = self._switching(end)
            changing = np.flatnonzero(before * after < 0.0)
            if not changing.size:
                return end
            times = [self._zero(y, left, int(i)) for i in changing]
            first = int(np.argmin(times))
            switched = self._flow.moved(y, times[first])
            if switched is None:
                return None
            y, left = switched, left - times[first]
            before = self._switching(y)
            before[changing[first]] = after[changing[first]]
        return self._flow.moved(y, left)

    def _zero(self, y: Vector, duration: float, joint: int) -> float:
        def switching(t: float) -> float:
            moved = self._flow.moved(y, t)
            return np.nan if moved is None else float(self._switching(moved)[joint])

        if switching(0.0) * switching(duration) >= 0.0:
            return 0.0  # the function was zero at the start of the step, up to rounding
        return float(brentq(switching, 0.0, duration, xtol=1e-13, rtol=1e-13))


# ------------------------------------------------------------------------------------- rows
def printed_guesses(published: Mapping[str, Any]) -> dict[str, Guess]:
    """Return the guesses by case. The thesis interleaves the states of the joints."""
    guesses = {}
    for case, entry in published["guesses"].items():
        costates = entry["costates0"]
        ordered = (*costates[0::2], *costates[1::2])
        guesses[case] = Guess(tuple(entry["q0"]), ordered, entry["t_final"])
    return guesses


def musn_rows(
    guesses: Mapping[str, Guess],
    arms: Callable[[str], Robot],
    printed: Mapping[str, float],
    half: float,
    progress: Callable[[str], None],
) -> Iterator[MusnRow]:
    """Yield results of shooting from the printed guesses, and from those with opposite costates.

    A guess is varied by random factors. Without convergence from the guess itself, only the change
    `NEARBY` is tried.

    Args:
        guesses: Guesses by case.
        arms: Function of a case that returns its arm.
        printed: Printed final times by case, s.
        half: Half a unit of the last printed digit, s.
        progress: Called with a line of text before each guess.
    """
    for case, guess in guesses.items():
        opposite = guess._replace(costates0=tuple(-p for p in guess.costates0))
        for words, signed in (("as printed", guess), ("opposite sign", opposite)):
            progress(f"MUSN, {case}, {words}")
            for intervals in (1, INTERVALS):
                problem = BoundaryValueProblem(arms(case), np.array(guess.q0), intervals)
                own = problem.solve(signed) is not None
                single = intervals == 1 and signed is guess
                rank, unknowns = problem.rank(signed) if single else None, len(guess.costates0)
                unknowns = 2 * unknowns * intervals + 1
                for varied in VARIATIONS if own and intervals == 1 else (0.0, NEARBY):
                    solutions = [problem.solve(trial) for trial in _trials(signed, varied)]
                    converged = [
                        solution.t_final for solution in solutions if solution is not None
                    ]
                    close = [t for t in converged if abs(t - printed[case]) <= 2.0 * half]
                    counts = (len(solutions), len(converged), len(close))
                    least = min(converged, default=float("nan"))
                    size = (rank if varied == 0.0 else None, unknowns)
                    setting = (case, words, intervals, varied)
                    yield MusnRow(*setting, *counts, least, printed[case], *size)


def _trials(guess: Guess, varied: float) -> Iterator[Guess]:
    """Yield a guess with random relative changes of at most `varied`, or once without changes."""
    generator = np.random.default_rng(0)
    for _ in range(TRIALS if varied else 1):
        factors = 1.0 + varied * generator.uniform(-1.0, 1.0, len(guess.costates0) + 1)
        costates = tuple((np.array(guess.costates0) * factors[:-1]).tolist())
        yield guess._replace(costates0=costates, t_final=float(guess.t_final * factors[-1]))


# ----------------------------------------------------------------------------------- claims
def musn_claims(rows: Sequence[MusnRow]) -> Iterator[Claim]:
    """Yield the claims about sensitivity, by chapter, and about the number of conditions."""
    judged = [row for row in rows if row.varied == NEARBY]
    for chapter in dict.fromkeys(row.case[0] for row in judged):
        cases = []
        for name in dict.fromkeys(row.case for row in judged if row.case[0] == chapter):
            mine = [row for row in judged if row.case == name]
            most = max(row.converged / row.runs for row in mine)
            cases.append(Evidence(name, most, most < 0.5))
        yield Claim(
            "sensitive",
            f"fraction of guesses within {NEARBY:.0%} of the printed one, with the better sign "
            "and number of intervals, from which shooting converges; below 1/2",
            tuple(cases),
            about=f"chapter {chapter}",
        )
    sizes = {row.case: (row.unknowns, row.rank) for row in rows if row.rank}
    yield Claim(
        "conditions",
        "unknowns minus independent conditions at the printed guess; 0",
        tuple(
            Evidence(name, unknowns - rank, unknowns == rank)
            for name, (unknowns, rank) in sizes.items()
        ),
    )

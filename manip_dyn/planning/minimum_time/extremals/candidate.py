"""Minimum-time candidates: extremals with certificates, and their ranking."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector, distinct_digits
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.certificate import FULL_EFFORT, Certificate
from manip_dyn.planning.minimum_time.extremals.structure import Extremal
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

BEATEN = 1.001
"""An extremal that is slower than a grid motion by more than this ratio is not the fastest
motion."""
CLOSE = 1.001
"""The second-best extremal is reported if it is slower by less than this ratio."""


class Candidate(NamedTuple):
    """An extremal with its trajectory, its certificate and the violated limit, if any."""

    extremal: Extremal
    trajectory: Trajectory
    certificate: Certificate
    violation: str

    @property
    def t_final(self) -> float:
        """Time of arrival, s."""
        return self.extremal.switching.t_final

    @property
    def holds(self) -> bool:
        """Whether the certificate holds and no limit is violated."""
        return self.certificate.holds and not self.violation


def least_time(candidates: list[Candidate]) -> float:
    """Return the shortest time of the certified motions within the limits, s."""
    return min((candidate.t_final for candidate in candidates if candidate.holds), default=np.inf)


def best_of(robot: Robot, candidates: list[Candidate], on_grid: float) -> Candidate:
    """Return the fastest certified candidate, or the fastest one within the limits.

    A certified candidate is ignored if a motion on a grid, which takes `on_grid` s, is faster.
    """
    allowed = [candidate for candidate in candidates if not candidate.violation]
    if not candidates:
        raise ManipDynError(
            f"no minimum-time motion of robot '{robot.name}' found between start and goal: "
            "no search converged."
        )
    if not allowed:
        first = min(candidates, key=lambda candidate: candidate.t_final)
        raise ManipDynError(f"every minimum-time candidate violates a limit: {first.violation}.")
    return min(
        allowed,
        key=lambda candidate: (
            not candidate.holds or is_beaten(candidate, on_grid),
            candidate.t_final,
        ),
    )


def is_beaten(candidate: Candidate, on_grid: float) -> bool:
    """Return whether a motion on a grid is faster than a candidate."""
    return candidate.t_final > BEATEN * on_grid


def distinct_motions(candidates: list[Candidate]) -> list[Candidate]:
    """Return distinct motions within the limits, fastest first."""
    allowed = sorted(
        (candidate for candidate in candidates if not candidate.violation),
        key=lambda candidate: candidate.t_final,
    )
    distinct: list[Candidate] = []
    for candidate in allowed:
        if not any(_are_same(candidate, previous) for previous in distinct):
            distinct.append(candidate)
    return distinct


def _are_same(first: Candidate, second: Candidate) -> bool:
    """Return whether two motions have equal durations and equal initial costates."""
    costates = first.extremal.costate, second.extremal.costate
    size = max(float(np.abs(costates[0]).max()), 1e-30)
    away = float(np.abs(costates[0] - costates[1]).max())
    return abs(first.t_final / second.t_final - 1.0) < 1e-7 and away < 1e-4 * size


def alternatives_note(candidates: list[Candidate], best: Candidate, on_grid: float) -> str:
    """Return a note on candidates that are faster than the plan or almost as fast, or ""."""
    fastest = min(candidates, key=lambda candidate: candidate.t_final)
    if fastest.t_final < best.t_final * (1.0 - 1e-9):
        reason = fastest.violation or "; ".join(fastest.certificate.failures)
        return f"; rejected a faster candidate, {fastest.t_final:.6g} s: {reason}"
    others = [
        candidate
        for candidate in distinct_motions(candidates)
        if candidate.holds and candidate is not best
    ]
    others = [candidate for candidate in others if not _are_same(candidate, best)]
    if others and others[0].t_final < CLOSE * best.t_final:
        return f"; second-best extremal {others[0].t_final:.9g} s"
    return ""


def violated_limit(robot: Robot, trajectory: Trajectory) -> str:
    """Return the first violated limit of effort, speed or position, or ""."""
    n = robot.n
    for i, joint in enumerate(robot.joint_names):
        load = float(np.abs(trajectory.normalized_efforts[:, i]).max())
        if load > FULL_EFFORT:
            (ratio, _) = distinct_digits(load, 1.0, digits=4)
            return f"joint '{joint}' would require {ratio} times its effort limit"
        q, v = trajectory.states[:, i], trajectory.states[:, n + i]
        speed = float(np.abs(v).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            value, most = distinct_digits(speed, robot.v_max[i], digits=4)
            return f"joint '{joint}' would reach {value} {robot.unit(i)}/s; its limit is {most}"
        low, high = _range(trajectory.times, q, v)
        for extreme, limit in ((low, robot.q_min[i]), (high, robot.q_max[i])):
            if not robot.q_min[i] - 1e-9 <= extreme <= robot.q_max[i] + 1e-9:
                value, most = distinct_digits(extreme, limit, digits=4)
                return f"joint '{joint}' would reach {value} {robot.unit(i)}; its limit is {most}"
    return ""


def _range(times: Vector, q: Vector, v: Vector) -> tuple[float, float]:
    """Return the smallest and largest position, including reversals between samples."""
    turning = np.flatnonzero(v[:-1] * v[1:] < 0.0)
    h, a, b = np.diff(times)[turning], v[turning], v[turning + 1]
    first, rise = q[turning], q[turning + 1] - q[turning]
    # The slope of the cubic interpolant, a + 2 c z + d z^2, has one root between the samples.
    c, d = 3.0 * rise / h - 2.0 * a - b, 3.0 * (a + b) - 6.0 * rise / h
    z = -a / (c + np.copysign(np.sqrt(np.maximum(c * c - a * d, 0.0)), -a))
    peaks = first + h * z * (a + z * (c + z * d / 3.0))
    reached = np.append(q, peaks)
    return float(reached.min()), float(reached.max())

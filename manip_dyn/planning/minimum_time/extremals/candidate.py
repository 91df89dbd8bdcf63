"""Candidates for minimum time: extremals with their evidence, and which of them is best."""

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
"""An extremal slower than a motion on a grid by this ratio is not the fastest."""
CLOSE = 1.001
"""Extremals slower by less are told."""


class Candidate(NamedTuple):
    """An extremal with its trajectory, its certificate and the limit that it passes, if any."""

    extremal: Extremal
    along: Trajectory
    certificate: Certificate
    passed: str

    @property
    def t_final(self) -> float:
        """Time of arrival, s."""
        return self.extremal.switching.t_final

    @property
    def holds(self) -> bool:
        """Whether the certificate holds and no limit is passed."""
        return self.certificate.holds and not self.passed


def least_time(found: list[Candidate]) -> float:
    """Return the least time of the certified motions within the limits, s."""
    return min((each.t_final for each in found if each.holds), default=np.inf)


def best_of(robot: Robot, found: list[Candidate], on_grid: float) -> Candidate:
    """Return the fastest certified motion, or the fastest that arrives.

    A certified one does not count if a grid has a faster motion, `on_grid` s.
    """
    allowed = [each for each in found if not each.passed]
    if not found:
        raise ManipDynError(
            f"no minimum-time motion of robot '{robot.name}' was found between start and goal: "
            "no search converged"
        )
    if not allowed:
        first = min(found, key=lambda each: each.t_final)
        raise ManipDynError(f"every minimum-time motion found passes a limit: {first.passed}")
    return min(
        allowed,
        key=lambda each: (not each.holds or is_beaten(each, on_grid), each.t_final),
    )


def is_beaten(candidate: Candidate, on_grid: float) -> bool:
    """Return whether a grid has a faster motion."""
    return candidate.t_final > BEATEN * on_grid


def distinct_motions(found: list[Candidate]) -> list[Candidate]:
    """Return different motions that arrive within the limits, the fastest first."""
    allowed = sorted((each for each in found if not each.passed), key=lambda each: each.t_final)
    kept: list[Candidate] = []
    for each in allowed:
        if not any(_are_same(each, other) for other in kept):
            kept.append(each)
    return kept


def _are_same(one: Candidate, other: Candidate) -> bool:
    """Return whether two motions take the same time with the same costates at the start."""
    costates = one.extremal.costate, other.extremal.costate
    size = max(float(np.abs(costates[0]).max()), 1e-30)
    away = float(np.abs(costates[0] - costates[1]).max())
    return abs(one.t_final / other.t_final - 1.0) < 1e-7 and away < 1e-4 * size


def alternatives_note(found: list[Candidate], best: Candidate, on_grid: float) -> str:
    """Return what is to be told about motions that are as fast as the plan or faster."""
    quickest = min(found, key=lambda each: each.t_final)
    if quickest.t_final < best.t_final * (1.0 - 1e-9):
        why = quickest.passed or "; ".join(quickest.certificate.failures)
        return f"; a faster motion, {quickest.t_final:.6g} s, is not the plan: {why}"
    others = [each for each in distinct_motions(found) if each.holds and each is not best]
    others = [each for each in others if not _are_same(each, best)]
    if others and others[0].t_final < CLOSE * best.t_final:
        return f"; another motion that it holds for takes {others[0].t_final:.9g} s"
    return ""


def violated_limit(robot: Robot, along: Trajectory) -> str:
    """Return which limit of position or speed a motion passes, or nothing."""
    n = robot.n
    for i, joint in enumerate(robot.joint_names):
        share = float(np.abs(along.shares[:, i]).max())
        if share > FULL_EFFORT:
            (times, _) = distinct_digits(share, 1.0, digits=4)
            return f"joint '{joint}' would need {times} times its effort limit"
        q, v = along.states[:, i], along.states[:, n + i]
        speed = float(np.abs(v).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            found, most = distinct_digits(speed, robot.v_max[i], digits=4)
            return f"joint '{joint}' would reach {found} {robot.unit(i)}/s; its limit is {most}"
        low, high = _range(along.times, q, v)
        for value, limit in ((low, robot.q_min[i]), (high, robot.q_max[i])):
            if not robot.q_min[i] - 1e-9 <= value <= robot.q_max[i] + 1e-9:
                found, most = distinct_digits(value, limit, digits=4)
                return f"joint '{joint}' would pass {found} {robot.unit(i)}; its limit is {most}"
    return ""


def _range(times: Vector, q: Vector, v: Vector) -> tuple[float, float]:
    """Return least and largest position, turning points between samples included."""
    turning = np.flatnonzero(v[:-1] * v[1:] < 0.0)
    h, a, b = np.diff(times)[turning], v[turning], v[turning + 1]
    first, rise = q[turning], q[turning + 1] - q[turning]
    # On the cubic through both: its slope is a + 2 c z + d z^2 with one root between them.
    c, d = 3.0 * rise / h - 2.0 * a - b, 3.0 * (a + b) - 6.0 * rise / h
    z = -a / (c + np.copysign(np.sqrt(np.maximum(c * c - a * d, 0.0)), -a))
    peaks = first + h * z * (a + z * (c + z * d / 3.0))
    reached = np.append(q, peaks)
    return float(reached.min()), float(reached.max())

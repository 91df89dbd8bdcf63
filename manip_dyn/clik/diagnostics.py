"""`TrackingDiagnostics`: joint limits, singularities and path errors of a tracked motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.clik.law.poses import task_error
from manip_dyn.clik.paths import Path
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.clik.samples import TrackingSample
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

FADE_TIME_CONSTANTS = 14.0
"""Number of time constants 1 / gain after which the initial error has decayed by 1e-6."""
STUCK_TIME, PROGRESS = 1.0, 2e-3
"""A tool is stuck if, within `STUCK_TIME` (s), it approaches its target by less than its maximum
speed times `PROGRESS` (s)."""


class Miss(NamedTuple):
    """Tool error (m, rad), desired position (3,) in m, and time in s."""

    position: float
    orientation: float
    desired: Vector
    t: float

    def __str__(self) -> str:
        """Return error, position and time as text."""
        at = ", ".join(f"{x:.4g}" for x in self.desired)
        return f"{self.position:.3g} m and {self.orientation:.3g} rad at ({at}) m, {self.t:.3f} s"


class TrackingDiagnostics:
    """Collects joint limits, singularities and errors from the samples of a motion.

    Attributes:
        controlled: Flags (6,) of the controlled rows of the task; errors of other rows are
            ignored.
        news: Log messages; the caller removes them.
        limits_met: Time (s) at which each joint first reached its limit, by joint name.
        slowest: Smallest speed scale.
        worst: Largest error after the tool left the path, by position; None if it did not.
        unreached: Current error of a target that is out of reach; otherwise None.
    """

    def __init__(
        self,
        robot: Robot,
        path: Path,
        tolerance: float,
        controlled: Sequence[bool] = (True,) * 6,
    ):
        """Prepare diagnostics of a path; larger errors than `tolerance` (m, rad) are reported."""
        self._robot, self._path, self._tolerance = robot, path, tolerance
        self.controlled = controlled
        self.begin()

    def begin(self) -> None:
        """Reset all diagnostics, for a restart of the path."""
        self.news: list[str] = []
        self.limits_met: dict[str, float] = {}
        self.slowest = 1.0
        self.worst: Miss | None = None
        self.unreached: Miss | None = None
        self._followed = self._off = self._damped = False
        self._excess: Miss | None = None
        self._nearest = self._size = np.full(2, np.inf)
        self._nearest_at = 0.0

    def look(self, sample: TrackingSample, gain: float) -> None:
        """Process the next sample; `gain` is the feedback gain of the law, 1/s."""
        for joint in sample.at_limit:
            if joint not in self.limits_met:
                self.limits_met[joint] = sample.t
                self.news.append(f"joint '{joint}' met its limit at {sample.t:.3f} s of the path")
        self.slowest = min(self.slowest, sample.speed_scale)
        miss = self._error(sample)
        size = max(miss.position, miss.orientation)
        if size > max(self._tolerance, max(self._excess[:2]) if self._excess else 0.0):
            self._excess = miss
        if (sample.damping > 0.0) != self._damped:
            self._damped = not self._damped
            if self._damped:
                self.news.append(f"near a singularity at {sample.t:.3f} s: {self._value(sample)}")
        if isinstance(self._path, SmoothTarget):
            self._look_at_target(sample, self._path)
        else:
            self._look_at_path(sample, gain)

    def _value(self, sample: TrackingSample) -> str:
        """Return a phrase with the smallest singular value, with and without joints at limits."""
        if not sample.at_limit:
            return f"smallest singular value {sample.smallest_singular_value:.3g}"
        free = [name not in sample.at_limit for name in self._robot.joint_names]
        rows = customize(self._robot).jacobian(sample.q)[np.array(self.controlled, dtype=bool)]
        value = 0.0
        if any(free):
            value = float(np.linalg.svd(rows[:, free], compute_uv=False)[len(rows) - 1 :].sum())
        return (
            f"smallest singular value {value:.3g} without joints at their limits "
            f"({', '.join(sample.at_limit)}), {sample.smallest_singular_value:.3g} with them"
        )

    def _look_at_path(self, sample: TrackingSample, gain: float) -> None:
        miss = self._error(sample)
        off = max(miss.position, miss.orientation) > self._tolerance
        self._followed |= not off or sample.t * gain > FADE_TIME_CONSTANTS
        if off and self._followed:
            if self.worst is None or miss.position > self.worst.position:
                self.worst = miss
            if not self._off:
                self.news.append(f"the tool leaves the path: off by {miss}")
        elif self._off:
            self.news.append(f"the tool is back on the path; it was off by up to {self.worst}")
        self._off = off and self._followed

    def _look_at_target(self, sample: TrackingSample, path: SmoothTarget) -> None:
        error = np.array(self.controlled) * task_error(path.goal, sample.actual, "log")
        miss = _miss(error, path.goal.position, sample.t)
        size = np.array([miss.position, miss.orientation])
        progress = PROGRESS * np.array([path.bounds.linear_speed, path.bounds.angular_speed])
        moved = np.any(size > self._size + self._tolerance)
        if moved or size.max() <= self._tolerance or np.any(size < self._nearest - progress):
            self._nearest, self._nearest_at, self.unreached = size, sample.t, None
        elif sample.t - self._nearest_at > STUCK_TIME:
            if self.unreached is None:
                tool = ", ".join(f"{x:.4g}" for x in sample.actual.position)
                self.news.append(
                    f"the target is out of reach{_limit_note(sample)}: off by {miss}; the tool "
                    f"is at ({tool}) m"
                )
            self.unreached = miss
        self._size = size

    def sentence(self, sample: TrackingSample) -> str:
        """Return a phrase about the most important problem, or an empty string.

        Joint limits on a path are reported until `begin`, other problems only while they last.
        """
        if self.unreached is not None:
            return f"target out of reach{_limit_note(sample)}: off by {self.unreached}"
        if self._off:
            return f"off the path by up to {self.worst}"
        if sample.damping > 0.0:
            return "near a singularity: damped"
        # Limits that were reached before the target changed are no longer relevant.
        met = sample.at_limit if isinstance(self._path, SmoothTarget) else self.limits_met
        if met:
            return f"joint limit met: {', '.join(met)}"
        return ""

    def excess(self) -> str:
        """Describe the largest error since the last call, or return "" if none was too large."""
        miss, self._excess = self._excess, None
        return "" if miss is None else f"off the desired pose by up to {miss}"

    def _error(self, sample: TrackingSample) -> Miss:
        error = np.array(self.controlled) * sample.error
        return _miss(error, sample.desired.position, sample.t)

    def values(self, sample: TrackingSample) -> dict[str, Any]:
        """Return the values for /diagnostics by name."""
        return {
            "path time [s]": sample.path_time,
            "position error [m]": float(np.linalg.norm(sample.error[:3])),
            "orientation error [rad]": float(np.linalg.norm(sample.error[3:])),
            "off the path at most": str(self.worst) if self.worst else "never",
            "target out of reach": str(self.unreached) if self.unreached else "no",
            "smallest singular value": sample.smallest_singular_value,
            "damping": sample.damping,
            "escape speed [rad/s or m/s]": sample.escape_speed,
            "smallest speed scale": self.slowest,
            "joints that met a limit": ", ".join(self.limits_met) or "none",
            "joints at a limit": ", ".join(sample.at_limit) or "none",
        }


def _limit_note(sample: TrackingSample) -> str:
    return f" with {', '.join(sample.at_limit)} at a limit" if sample.at_limit else ""


def _miss(error: Vector, desired: Vector, t: float) -> Miss:
    return Miss(float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])), desired, t)

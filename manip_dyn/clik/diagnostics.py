"""What a follower tells of its motion: limits, singularities, where and how much it missed."""

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
"""After this many time constants 1 / gain what the start was off the path has faded, to 1e-6."""
STUCK_TIME, PROGRESS = 1.0, 2e-3
"""A tool that gets no nearer in this time, s, than this share of its speeds is stuck."""


class Miss(NamedTuple):
    """How far the tool was off, m and rad, where it should have been (3,), m, and when, s."""

    position: float
    orientation: float
    place: Vector
    t: float

    def __str__(self) -> str:
        """Return it in words."""
        place = ", ".join(f"{x:.4g}" for x in self.place)
        return (
            f"{self.position:.3g} m and {self.orientation:.3g} rad at ({place}) m, {self.t:.3f} s"
        )


class TrackingDiagnostics:
    """Looks at every sample and keeps what is worth a report; `news` are sentences to log.

    Attributes:
        controlled: Which rows of the task are followed (6,): errors of others are no miss.
    """

    def __init__(
        self,
        robot: Robot,
        path: Path,
        tolerance: float,
        controlled: Sequence[bool] = (True,) * 6,
    ):
        """Take what is followed, the error that counts as being on it, and the rows that count."""
        self._robot, self._path, self._tolerance = robot, path, tolerance
        self.controlled = controlled
        self.begin()

    def begin(self) -> None:
        """Forget everything: the path begins anew."""
        self.news: list[str] = []
        self.limits_met: dict[str, float] = {}
        self.slowest = 1.0
        self.worst: Miss | None = None
        self.unreached: Miss | None = None
        self._followed = self._off = self._damped = False
        self._nearest = self._size = np.full(2, np.inf)
        self._nearest_at = 0.0

    def look(self, sample: TrackingSample, gain: float) -> None:
        """Look at the next sample."""
        for joint in sample.at_limit:
            if joint not in self.limits_met:
                self.limits_met[joint] = sample.t
                self.news.append(f"joint '{joint}' met its limit at {sample.t:.3f} s of the path")
        self.slowest = min(self.slowest, sample.speed_scale)
        if (sample.damping > 0.0) != self._damped:
            self._damped = not self._damped
            if self._damped:
                self.news.append(f"near a singularity at {sample.t:.3f} s: {self._value(sample)}")
        if isinstance(self._path, SmoothTarget):
            self._look_at_target(sample, self._path)
        else:
            self._look_at_path(sample, gain)

    def _value(self, sample: TrackingSample) -> str:
        """Return the smallest singular value of what the joints can do that are free to move."""
        if not sample.at_limit:
            return f"smallest singular value {sample.smallest_singular_value:.3g}"
        free = [name not in sample.at_limit for name in self._robot.joint_names]
        rows = customize(self._robot).jacobian(sample.q)[np.array(self.controlled, dtype=bool)]
        value = 0.0
        if any(free):
            value = float(np.linalg.svd(rows[:, free], compute_uv=False)[len(rows) - 1 :].sum())
        return (
            f"smallest singular value {value:.3g} without what is at its limit, "
            f"{', '.join(sample.at_limit)} ({sample.smallest_singular_value:.3g} with it)"
        )

    def _look_at_path(self, sample: TrackingSample, gain: float) -> None:
        miss = _miss(np.array(self.controlled) * sample.error, sample.desired.position, sample.t)
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
                place = ", ".join(f"{x:.4g}" for x in sample.actual.position)
                self.news.append(
                    f"the target is out of reach{_limit_note(sample)}: off by {miss}; the tool "
                    f"is at ({place}) m"
                )
            self.unreached = miss
        self._size = size

    def sentence(self, sample: TrackingSample) -> str:
        """Return what is wrong now, or nothing."""
        if self.unreached is not None:
            return f"target out of reach{_limit_note(sample)}: off by {self.unreached}"
        if self._off:
            return f"off the path by up to {self.worst}"
        if sample.damping > 0.0:
            return "near a singularity: damped"
        # A target changes: what was met on the way to another one is over.
        met = sample.at_limit if isinstance(self._path, SmoothTarget) else self.limits_met
        if met:
            return f"joint limit met: {', '.join(met)}"
        return ""

    def values(self, sample: TrackingSample) -> dict[str, Any]:
        """Return named values for /diagnostics."""
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
    """Return which joint limits may be the cause."""
    return f" with {', '.join(sample.at_limit)} at a limit" if sample.at_limit else ""


def _miss(error: Vector, place: Vector, t: float) -> Miss:
    return Miss(float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])), place, t)

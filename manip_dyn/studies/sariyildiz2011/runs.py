"""Runs of the PA-10 along circles.

The paper's loop has neither joint nor speed limits, so the arm of most runs has no limits. A table
reports whether its joints stay within the ranges of the PA-10.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from manip_dyn.clik import Circle, ClikSettings, Pose, TrackResult, posture_for, track
from manip_dyn.core.checks import Vector
from manip_dyn.integration.methods.adams import Adams
from manip_dyn.robot import load_robot
from manip_dyn.studies.sariyildiz2011.settings import Settings

COARSE, FINE = 1.0, 0.1
"""Printed sampling periods of the claims, s."""
LABELS = {
    "rk1": "Euler",
    "rk2": "RK2",
    "rk4": "RK4",
    "euler_trapezoidal": "Euler trapezoidal",
    "ab4": "Adams-Bashforth 4",
    "abm4": "Adams-Moulton 4",
    "ab4_rising": "Adams-Bashforth 4, low start",
    "abm4_rising": "Adams-Moulton 4, low start",
}


RISING = {
    "ab4_rising": Adams("ab4_rising", corrected=False, rising=True),
    "abm4_rising": Adams("abm4_rising", corrected=True, rising=True),
}
"""Adams methods that start with formulas of lower orders, as in the paper, instead of rk4."""


class Case(NamedTuple):
    """Parameters of a run.

    Attributes:
        circle: Name of the circle.
        method: Integration method: a name in `METHODS` or `RISING`.
        step: Step, s.
        gain: Feedback gain, 1/s.
        offset: Offset of the start from the path along the circle's normal, m.
        orientation_error: Orientation error: a name in `manip_dyn.clik.ERRORS`.
        inverse: Inverse of the Jacobian: a name in `manip_dyn.clik.INVERSES`.
        limited: Whether the joint and speed limits of the PA-10 apply.
        laps: Number of laps.
    """

    circle: str
    method: str
    step: float
    gain: float
    offset: float = 0.0
    orientation_error: str = "columns"
    inverse: str = "pseudo_inverse"
    limited: bool = False
    laps: int = 3


class Run(NamedTuple):
    """Results of a run.

    Attributes:
        t: End times of the intervals (k,), s.
        position: Largest position error in each interval, m.
        orientation: Largest orientation error in each interval, rad.
        first: Largest position error in the first lap, m.
        steady: Largest position error after the first lap, m. For a single lap: equal to `first`.
        steady_orientation: Largest orientation error after the first lap, rad, or 0.
        growth: Ratio of the largest position error in the last lap to that in the previous lap.
            NaN for a single lap.
        stable: Whether the path is not lost and errors do not grow.
        largest: Largest position error, m.
        last: Final position error, m.
        speed: Largest joint speed as a fraction of the PA-10's speed limit.
        smallest: Smallest singular value of the Jacobian during the run.
        near: Largest position error from the first singular posture on, m; NaN without one.
        before: Largest position error before the first singular posture, m; NaN without one.
        within: Whether all joints stayed in the PA-10's ranges during the first lap.
    """

    t: tuple[float, ...]
    position: tuple[float, ...]
    orientation: tuple[float, ...]
    first: float
    steady: float
    steady_orientation: float
    growth: float
    stable: bool
    largest: float
    last: float
    speed: float
    smallest: float
    near: float
    before: float
    within: bool


class Choice(NamedTuple):
    """Values of the parameters that the paper leaves open."""

    circle: str
    gain: float
    offset: float
    orientation_error: str

    def __str__(self) -> str:
        """Return the choice as text for tables and claims."""
        text = f"{self.circle}, K {self.gain:g}"
        if self.offset:
            text += f", start {self.offset:g} m off"
        return text if self.orientation_error == "columns" else f"{text}, {self.orientation_error}"


class Varied(NamedTuple):
    """Runs of all methods for one choice and one step."""

    choice: Choice
    step: float
    runs: dict[str, Run]


def shown(name: str) -> str:
    """Format a name from the settings as text."""
    return name.replace("_", " ")


SAMPLES = 300
"""Maximum number of intervals of a run for which the largest errors are stored."""
GROWTH, SMALL = 2.0, 1e-6
"""Factor and position error (m). A run is unstable if its error in the last lap exceeds this error
and is larger than that of the previous lap by more than this factor."""


# -------------------------------------------------------------------------------------- runs
class Runs:
    """Performs the runs of the study and caches their results."""

    def __init__(self, settings: Settings, linear_speed: float, angular_speed: float):
        """Store the settings and the printed speeds of the tool (m/s and rad/s)."""
        self.settings = settings
        self._speeds = linear_speed, angular_speed
        self._paths: dict[str, Circle] = {}
        self._entries: dict[str, float] = {}
        self._starts: dict[tuple[str, float], Vector] = {}
        self._results: dict[Case, Run] = {}

    @cached_property
    def robot(self):
        """The PA-10."""
        return load_robot("pa10")

    @cached_property
    def unlimited(self):
        """The PA-10 without limits."""
        none = np.full(self.robot.n, np.inf)
        return replace(self.robot, q_min=-none, q_max=none, v_max=none)

    def path(self, circle: str) -> Circle:
        """Return a circle by its name."""
        if circle not in self._paths:
            self._paths[circle] = self.settings.all_circles[circle].path(*self._speeds)
        return self._paths[circle]

    def start(self, circle: str, offset: float = 0.0) -> Vector:
        """Return the initial posture (n,) of a start at distance `offset` (m) from the path."""
        if (circle, offset) not in self._starts:
            placement, pose = self.settings.all_circles[circle], self.path(circle).pose(0.0)
            moved = pose.position + offset * placement.normal / np.linalg.norm(placement.normal)
            posture = posture_for(self.robot, Pose(moved, pose.rotation), placement.posture)
            self._starts[circle, offset] = posture
        return self._starts[circle, offset]

    def tracking(self, case: Case) -> TrackResult:
        """Return all samples of a run."""
        path = self.path(case.circle)
        settings = ClikSettings(
            gain=case.gain,
            orientation_error=case.orientation_error,
            inverse=case.inverse,
            damping_threshold=self.settings.singular.near,
            max_damping=self.settings.singular.damping,
        )
        return track(
            self.robot if case.limited else self.unlimited,
            path,
            RISING.get(case.method, case.method),
            case.step,
            self.start(case.circle, case.offset),
            case.laps * path.duration,
            settings,
        )

    def run(self, case: Case) -> Run:
        """Return the results of a run, which is computed once per case."""
        if case not in self._results:
            self._results[case] = self._summary(case, self.tracking(case))
        return self._results[case]

    def _summary(self, case: Case, done: TrackResult) -> Run:
        lost, period = self.settings.lost, self.path(case.circle).duration
        position = np.nan_to_num(done.position_error, nan=np.inf)
        orientation = np.nan_to_num(done.orientation_error, nan=np.inf)
        laps = [
            position[(done.t > k * period) & (done.t <= (k + 1) * period)].max(initial=0.0)
            for k in range(case.laps)
        ]
        steady = max(laps[1:], default=laps[0])
        growth = laps[-1] / laps[-2] if case.laps > 1 and laps[-2] > 0.0 else np.nan
        grows = growth > GROWTH and laps[-1] > SMALL
        ended = done.t[-1] > case.laps * period - 1e-6
        first = done.t <= period
        low, high = self.robot.q_min, self.robot.q_max
        entry = self._entry(case.circle)
        near, before = (
            float(position[part].max(initial=0.0)) if np.isfinite(entry) else np.nan
            for part in (done.path_time >= entry, done.path_time < entry)
        )
        intervals = np.array_split(np.arange(len(done.t)), min(SAMPLES, len(done.t)))
        return Run(
            t=tuple(float(done.t[interval[-1]]) for interval in intervals),
            position=tuple(float(position[interval].max()) for interval in intervals),
            orientation=tuple(float(orientation[interval].max()) for interval in intervals),
            first=float(laps[0]),
            steady=float(steady),
            steady_orientation=float(orientation[~first].max(initial=0.0)),
            growth=float(growth),
            stable=bool(ended and steady < lost and not grows),
            largest=float(position.max()),
            last=float(position[-1]),
            speed=float((np.abs(done.v) / self.robot.v_max).max()),
            smallest=float(done.smallest_singular_value.min()),
            near=near,
            before=before,
            within=bool(np.all((done.q[first] >= low) & (done.q[first] <= high))),
        )

    def _entry(self, circle: str) -> float:
        """Return the path time (s) of the first singular posture, or NaN if there is none."""
        chosen = self.settings.singular
        if circle not in chosen.circles:
            return np.nan
        if circle not in self._entries:
            case = Case(circle, "rk4", 0.1, chosen.gains[0], inverse="filtered", laps=1)
            done = self.tracking(case)
            near = np.flatnonzero(done.smallest_singular_value < chosen.near)
            self._entries[circle] = float(done.path_time[near[0]]) if near.size else np.nan
        return self._entries[circle]

"""Motion along a path as a function of time, and the result of `time_path`.

Between grid points the motion has a closed form. The path acceleration is linear in s,
s'' = u + w^2 (s - s_k), so s(t) consists of hyperbolic functions of w t, or of trigonometric ones
where w^2 is negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector, distinct_digits, finite, sampled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.planning.path_timing.constraints import STANDSTILL
from manip_dyn.planning.path_timing.joint_path import (
    ENDPOINT_OFFSET,
    JointPath,
    interval_durations,
)
from manip_dyn.planning.plan import Plan, Samples, held_samples
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.planning.path_timing.jerk_motion import CubicProfile

SMALL = 1e-6
METHOD = "path_timing"
ROUNDING = 1e-9
"""How far outside a motion a time is taken for its end, s."""


class PathState(NamedTuple):
    """Where on a path a motion is: s, ds/dt and d2s/dt2."""

    s: float
    speed: float
    acceleration: float


class JointState(NamedTuple):
    """Positions, velocities and accelerations (n,), rad or m, per s, per s^2."""

    q: Vector
    v: Vector
    a: Vector


class PathMotion:
    """A motion along a path, see `planning.motion.Motion`.

    Attributes:
        knots: Times at the grid points (k + 1,), s.
    """

    def __init__(
        self, robot: Robot, path: JointPath, payload: Vector | None, grid: Vector, squares: Vector
    ):
        """Take the grid (k + 1,) and the control points (2 k + 1,) of the squared speed."""
        self._robot, self._path, self._payload = robot, path, payload
        self.grid, self.speed = grid, np.sqrt(squares[::2])
        widths = np.diff(grid)
        self.begin = (squares[1::2] - squares[:-1:2]) / widths
        self.slope = np.diff(squares, 2)[::2] / widths**2
        self.knots = np.concatenate([[0.0], np.cumsum(interval_durations(widths, squares))])

    @property
    def t_final(self) -> float:
        """Time of arrival, s."""
        return float(self.knots[-1])

    @property
    def switches(self) -> list[float]:
        """Times at which the path's acceleration changes its sign, s."""
        ends = self.begin + self.slope * np.diff(self.grid)
        signs = np.sign(np.stack([self.begin, ends], axis=1)).ravel()
        places = np.repeat(self.knots, 2)[1:-1]
        changes = np.flatnonzero(signs[1:] * signs[:-1] < 0.0) + 1
        return sorted({float(places[k]) for k in changes if k < len(places)} - {self.t_final})

    def on_path(self, t: float) -> PathState:
        """Return place, speed and acceleration along the path at time `t` s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self.begin) - 1)
        since = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u, slope = float(self.speed[k]), float(self.begin[k]), float(self.slope[k])
        zero, one, two = _hyperbolic_terms(slope * since * since)
        moved = (v * one + u * since * two) * since
        width = self.grid[k + 1] - self.grid[k]
        moved = min(max(moved, ENDPOINT_OFFSET * width), (1.0 - ENDPOINT_OFFSET) * width)
        return PathState(
            float(self.grid[k] + moved),
            max(v * zero + (u + 0.0) * since * one, 0.0),
            u + slope * moved,
        )

    def joints(self, t: float) -> JointState:
        """Return positions, velocities and accelerations (n,) at time `t` s."""
        s, speed, acceleration = self.on_path(t)
        place = np.array([s])
        q, first, second = (self._path(place, order)[0] for order in range(3))
        return JointState(q, first * speed, first * acceleration + second * speed * speed)

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""
        return self.joints(t)[:2]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on, friction and payload included."""
        first = self._path(np.array([self.on_path(t).s]), 1)[0]
        return joint_efforts(self._robot, self._payload, self.joints(t), first)

    def samples(self, period: float) -> Samples:
        """Return efforts every `period` s and from every switch on."""
        times = {0.0, *np.arange(0.0, self.t_final, period).tolist(), *self.switches}
        return held_samples(sorted(times), self.effort)


class JerkLimitedMotion(PathMotion):
    """A motion along a path with a continuous acceleration."""

    def __init__(
        self, robot: Robot, path: JointPath, payload: Vector | None, pieces: CubicProfile
    ):
        """Take s(t) in pieces."""
        self._robot, self._path, self._payload = robot, path, payload
        self._pieces, self._jerk = pieces, pieces.jerk
        self.grid, self.speed = pieces.grid, pieces.speed
        self.knots = np.concatenate([[0.0], np.cumsum(pieces.times)])

    @property
    def switches(self) -> list[float]:
        """None: efforts jump only where dry friction does."""
        return []

    def on_path(self, t: float) -> PathState:
        """Return place, speed and acceleration along the path at time `t` s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self._jerk) - 1)
        since = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u = float(self.speed[k]), float(self._pieces.acceleration[k])
        j = float(self._jerk[k])
        moved = since * (v + since * (0.5 * u + since * j / 6.0))
        width = self.grid[k + 1] - self.grid[k]
        moved = min(max(moved, ENDPOINT_OFFSET * width), (1.0 - ENDPOINT_OFFSET) * width)
        return PathState(
            float(self.grid[k] + moved),
            max(v + since * (u + 0.5 * since * j), 0.0),
            u + since * j,
        )


def joint_efforts(
    robot: Robot, payload: Vector | None, joints: JointState, first: Vector
) -> Vector:
    """Return the efforts (n,) of a motion: inverse dynamics, payload and dry friction.

    At rest friction is that in the direction dq/ds, `first` (n,), in which the joints go on.
    """
    kernels, (q, v, a) = customize(robot).unchecked, joints
    if payload is None:
        effort = kernels.inverse_dynamics(q, v, a)
    else:
        effort = kernels.inverse_dynamics_loaded(q, v, a, payload, np.zeros(6))
    if not robot.has_dry_friction:
        return effort
    ahead = np.where(np.abs(first) > STANDSTILL * np.abs(first).max(), first, 0.0)
    return effort + robot.friction.sliding(ahead, np.abs(v))


def stack_states(states: list[JointState]) -> tuple[Matrix, Matrix, Matrix]:
    """Return positions, velocities and accelerations (m, n) of m states."""
    q, v, a = (np.array(each) for each in zip(*states, strict=True))
    return q, v, a


def _hyperbolic_terms(z: float) -> tuple[float, float, float]:
    """Return cosh w, sinh w / w and (cosh w - 1) / w^2 for w^2 = z, of any sign."""
    if abs(z) < SMALL:
        return 1.0 + z / 2.0, 1.0 + z / 6.0, 0.5 + z / 24.0
    w = math.sqrt(abs(z))
    if z > 0.0:
        return math.cosh(w), math.sinh(w) / w, 2.0 * (math.sinh(0.5 * w) / w) ** 2
    return math.cos(w), math.sin(w) / w, 2.0 * (math.sin(0.5 * w) / w) ** 2


class PathSamples(NamedTuple):
    """A motion at times (m,), s.

    Attributes:
        time: Times (m,), s.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), per s.
        a: Accelerations (m, n), per s^2.
        effort: Efforts (m, n), N m or N.
    """

    time: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    effort: Matrix


@dataclass(frozen=True, eq=False, repr=False)
class PathTiming(Result):
    """The fastest motion along a path.

    Attributes:
        robot: The arm.
        path: The path, ``path(s, order)``.
        payload: What the tool carries (10,), see `Kernels`; None: nothing.
        end_speeds: ds/dt at begin and end.
        t_final: How long it takes, s.
        t_relaxed: How long it would take with limits held at the grid points alone, s: what
            keeping them in between costs is the difference.
        motion: The motion by time; its `knots` are the times at the grid points.
        load: Greatest share of a limit that was read, 1 at most.
        reads: At how many places of the path, grid points and others, efforts, accelerations
            and speeds were read.
        status: ``solved``; ``uncertified`` where limits of jerk are kept, but a small change
            may be faster.
        reason: The same in words.
        jerk_limits: Of the joints (n,), rad/s^3 or m/s^3; None: none.
    """

    robot: Robot = field(repr=False)
    path: JointPath = field(repr=False)
    payload: Vector | None
    end_speeds: tuple[float, float]
    t_final: float
    t_relaxed: float
    motion: PathMotion
    load: float
    reads: int
    status: str
    reason: str
    jerk_limits: Vector | None = None

    @property
    def success(self) -> bool:
        """Whether there is a motion: always, as a path without one is an error."""
        return self.status in ("solved", "uncertified")

    def joints(self, t: float) -> JointState:
        """Return positions, velocities and accelerations (n,) at time `t`, s, on the path.

        Raises:
            ManipDynError: If `t` is before 0 or after `t_final`; `plan` holds the arm there.
        """
        return self.motion.joints(self._on_path(t))

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s, on the path, N m or N; see `joints`."""
        return self.motion.effort(self._on_path(t))

    def samples(self, period: float) -> PathSamples:
        """Return the motion every `period` s and at its end.

        Raises:
            ManipDynError: If that is not above 0, or gives more than ten million rows.
        """
        period = sampled(period, self.t_final)
        times = np.append(np.arange(0.0, self.t_final * (1.0 - 1e-9), period), self.t_final)
        q, v, a = stack_states([self.joints(float(t)) for t in times])
        effort = np.array([self.motion.effort(float(t)) for t in times])
        return PathSamples(times, q, v, a, effort)

    def _on_path(self, t: float) -> float:
        """Return a time, s, that is within the motion, rounding apart."""
        time = finite("time", t, "s")
        if not -ROUNDING <= time <= self.t_final + ROUNDING:
            asked, end = distinct_digits(time, self.t_final)
            raise ManipDynError(
                f"time is {asked} s; expected 0 to {end} s, where the motion is on "
                "its path (its `plan` holds the arm after it)"
            )
        return min(max(time, 0.0), self.t_final)

    @cached_property
    def plan(self) -> Plan:
        """The motion as a plan, which a `PlanExecutor` takes; it begins and ends at rest.

        Its efforts carry the payload, which its `work_curves` leave out.

        Raises:
            ManipDynError: If a speed at an end is not 0.
        """
        if any(self.end_speeds):
            raise ManipDynError(
                f"the speeds at the ends of the path are {self.end_speeds}; expected 0 for a "
                "plan, which is from rest to rest"
            )
        ends = self.path(self.path.breaks[[0, -1]], 0)
        still = np.zeros(self.robot.n)
        moving = np.any(np.abs(self.path(self.motion.grid, 0) - ends[0]) > 0.0, axis=0)
        switches = self.motion.switches
        return Plan(
            self.robot,
            ends[0],
            ends[1],
            self.t_final,
            [list(switches) if each else [] for each in moving],
            [self.t_final if each else 0.0 for each in moving],
            self.motion,
            joint_efforts(self.robot, self.payload, JointState(ends[1], still, still), still),
            METHOD,
            self.status,
            self.reason,
        )

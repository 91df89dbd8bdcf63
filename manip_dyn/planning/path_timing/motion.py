"""Motion along a path as a function of time, and the result of `time_path`.

Between grid points the motion has a closed form. The path acceleration is linear in s: d2s/dt2 =
u + w^2 (s - s_k). Therefore s(t) consists of hyperbolic functions of w t, or of trigonometric
functions if w^2 is negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.collision import JointCurve, interpolated_curve, polynomial_curve
from manip_dyn.core.checks import Matrix, Vector, distinct_digits, finite, sampled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result, data_frame
from manip_dyn.planning.path_timing.constraints import STANDSTILL
from manip_dyn.planning.path_timing.joint_path import (
    ENDPOINT_OFFSET,
    JointPath,
    PiecewisePath,
    interval_durations,
)
from manip_dyn.planning.plan import Plan, Samples, held_samples
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.collision import Clearance, Scene
    from manip_dyn.planning.path_timing.jerk_motion import CubicProfile

SMALL = 1e-6
METHOD = "path_timing"
ROUNDING = 1e-9
"""Tolerance for times before the start or after the end, s."""


class PathState(NamedTuple):
    """State along the path: s, ds/dt (`speed`) and d2s/dt2 (`acceleration`)."""

    s: float
    speed: float
    acceleration: float


class JointState(NamedTuple):
    """State of the joints.

    Attributes:
        q: Positions (n,), rad or m.
        v: Velocities (n,), rad/s or m/s.
        a: Accelerations (n,), rad/s^2 or m/s^2.
    """

    q: Vector
    v: Vector
    a: Vector


class PathMotion:
    """Motion along a path as a function of time; see `planning.plan.Motion`.

    Attributes:
        knots: Times at the grid points (k + 1,), s.
    """

    def __init__(
        self, robot: Robot, path: JointPath, payload: Vector | None, grid: Vector, squares: Vector
    ):
        """Initialize from the grid (k + 1,) and control points (2 k + 1,) of the squared speed."""
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
        """Times of the grid points at or after sign changes of the path acceleration, s."""
        ends = self.begin + self.slope * np.diff(self.grid)
        signs = np.sign(np.stack([self.begin, ends], axis=1)).ravel()
        times = np.repeat(self.knots, 2)[1:-1]
        changes = np.flatnonzero(signs[1:] * signs[:-1] < 0.0) + 1
        return sorted({float(times[k]) for k in changes if k < len(times)} - {self.t_final})

    def on_path(self, t: float) -> PathState:
        """Return position, speed and acceleration along the path at time `t`, s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self.begin) - 1)
        elapsed = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u, slope = float(self.speed[k]), float(self.begin[k]), float(self.slope[k])
        zero, one, two = _hyperbolic_terms(slope * elapsed * elapsed)
        distance = (v * one + u * elapsed * two) * elapsed
        width = self.grid[k + 1] - self.grid[k]
        distance = min(max(distance, ENDPOINT_OFFSET * width), (1.0 - ENDPOINT_OFFSET) * width)
        return PathState(
            float(self.grid[k] + distance),
            max(v * zero + (u + 0.0) * elapsed * one, 0.0),
            u + slope * distance,
        )

    def joint_curve(self) -> JointCurve:
        """Return the positions on the path as a piecewise polynomial, for collision checks.

        User-defined paths are interpolated with a deviation of 1e-7 rad or m.
        """
        path = self._path
        if isinstance(path, PiecewisePath):
            return polynomial_curve(path.polynomial, self.time_at)
        curve = interpolated_curve(lambda s: (path(s, 0), path(s, 1)), path.breaks)
        return replace(curve, time_of=self.time_at)

    def time_at(self, s: float) -> float:
        """Return the time, s, at which the motion reaches a parameter of the path."""
        k = int(np.searchsorted(self.grid, s, side="right")) - 1
        k = min(max(k, 0), len(self.grid) - 2)
        low, high = float(self.knots[k]), float(self.knots[k + 1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.on_path(middle).s < s else (low, middle)
        return high

    def joints(self, t: float) -> JointState:
        """Return positions, velocities and accelerations (n,) at time `t`, s."""
        s, speed, acceleration = self.on_path(t)
        position = np.array([s])
        q, first, second = (self._path(position, order)[0] for order in range(3))
        return JointState(q, first * speed, first * acceleration + second * speed * speed)

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        return self.joints(t)[:2]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s, including friction and payload."""
        first = self._path(np.array([self.on_path(t).s]), 1)[0]
        return joint_efforts(self._robot, self._payload, self.joints(t), first)

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts every `period` seconds and at every switch."""
        times = {0.0, *np.arange(0.0, self.t_final, period).tolist(), *self.switches}
        return held_samples(sorted(times), self.effort)


class JerkLimitedMotion(PathMotion):
    """Motion along a path with continuous acceleration."""

    def __init__(
        self, robot: Robot, path: JointPath, payload: Vector | None, profile: CubicProfile
    ):
        """Initialize from a piecewise cubic s(t)."""
        self._robot, self._path, self._payload = robot, path, payload
        self._profile, self._jerk = profile, profile.jerk
        self.grid, self.speed = profile.grid, profile.speed
        self.knots = np.concatenate([[0.0], np.cumsum(profile.times)])

    @property
    def switches(self) -> list[float]:
        """Empty list, because the path acceleration is continuous."""
        return []

    def on_path(self, t: float) -> PathState:
        """Return position, speed and acceleration along the path at time `t`, s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self._jerk) - 1)
        elapsed = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u = float(self.speed[k]), float(self._profile.acceleration[k])
        j = float(self._jerk[k])
        distance = elapsed * (v + elapsed * (0.5 * u + elapsed * j / 6.0))
        width = self.grid[k + 1] - self.grid[k]
        distance = min(max(distance, ENDPOINT_OFFSET * width), (1.0 - ENDPOINT_OFFSET) * width)
        return PathState(
            float(self.grid[k] + distance),
            max(v + elapsed * (u + 0.5 * elapsed * j), 0.0),
            u + elapsed * j,
        )


def joint_efforts(
    robot: Robot, payload: Vector | None, joints: JointState, first: Vector
) -> Vector:
    """Return the efforts (n,) of a motion by inverse dynamics with payload and dry friction.

    Args:
        robot: The arm.
        payload: Payload at the tool (10,), or None.
        joints: Positions, velocities and accelerations.
        first: Derivatives dq/ds (n,). At rest, friction opposes this direction.
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
    """Return arrays of the positions, velocities and accelerations (m, n) of m states."""
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    return q, v, a


def _hyperbolic_terms(z: float) -> tuple[float, float, float]:
    """Return cosh w, sinh w / w and (cosh w - 1) / w^2 for w^2 = z of either sign."""
    if abs(z) < SMALL:
        return 1.0 + z / 2.0, 1.0 + z / 6.0, 0.5 + z / 24.0
    w = math.sqrt(abs(z))
    if z > 0.0:
        return math.cosh(w), math.sinh(w) / w, 2.0 * (math.sinh(0.5 * w) / w) ** 2
    return math.cos(w), math.sin(w) / w, 2.0 * (math.sin(0.5 * w) / w) ** 2


class PathSamples(NamedTuple):
    """Samples of a motion at times (m,), s.

    Attributes:
        time: Times (m,), s.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), rad/s or m/s.
        a: Accelerations (m, n), rad/s^2 or m/s^2.
        effort: Efforts (m, n), N m or N.
    """

    time: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    effort: Matrix


@dataclass(frozen=True, eq=False, repr=False)
class PathTiming(Result):
    """The fastest motion along a path that `time_path` found.

    Attributes:
        robot: The arm.
        path: The path, ``path(s, order)``.
        payload: Payload at the tool (10,), see `Kernels`, or None.
        end_speeds: Speeds ds/dt at start and end.
        t_final: Duration, s.
        t_relaxed: Duration if limits are satisfied only at the grid points, s. The difference from
            `t_final` is the cost of satisfying them between grid points.
        motion: The motion as a function of time. Its `knots` are the times at the grid points.
        load: Largest fraction of a limit at the checked points, at most 1.
        reads: Number of path points at which the limits were checked.
        status: ``solved``, or ``uncertified`` if jerk limits are satisfied but a small change of
            the timing may be faster.
        reason: Explanation of the status.
        jerk_limits: Jerk limits of the joints (n,), rad/s^3 or m/s^3, or None.
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
        """True, because `time_path` raises an error if it finds no timing."""
        return self.status in ("solved", "uncertified")

    def joints(self, t: float) -> JointState:
        """Return positions, velocities and accelerations (n,) at time `t`, s.

        Raises:
            ManipDynError: If `t` is before 0 or after `t_final`.
        """
        return self.motion.joints(self._on_path(t))

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,), N m or N, at time `t`, s.

        Raises:
            ManipDynError: If `t` is before 0 or after `t_final`.
        """
        return self.motion.effort(self._on_path(t))

    def samples(self, period: float) -> PathSamples:
        """Return samples of the motion every `period` seconds and at its end.

        Raises:
            ManipDynError: If `period` is not positive or would give more than ten million rows.
        """
        period = sampled(period, self.t_final)
        times = np.append(np.arange(0.0, self.t_final * (1.0 - 1e-9), period), self.t_final)
        q, v, a = stack_states([self.joints(float(t)) for t in times])
        effort = np.array([self.motion.effort(float(t)) for t in times])
        return PathSamples(times, q, v, a, effort)

    def to_dataframe(self, period: float = 0.01) -> Any:
        """Return a pandas DataFrame of the motion every `period` seconds and at its end.

        The columns are ``t`` and ``position_JOINT``, ``velocity_JOINT``, ``acceleration_JOINT``
        and ``effort_JOINT``. Requires the extra ``pandas``.
        """
        rows = self.samples(period)
        quantities = {"position": rows.q, "velocity": rows.v, "acceleration": rows.a}
        return data_frame(rows.time, self.robot.joint_names, **quantities, effort=rows.effort)

    def joint_curve(self) -> JointCurve:
        """Return the positions on the path as a piecewise polynomial, for collision checks."""
        return self.motion.joint_curve()

    def clearance(self, scene: Scene | None = None, **options: Any) -> Clearance:
        """Check the motion for collisions, with a proof for all times; see `md.check_motion`.

        Args:
            scene: Objects around the arm. Default: only the arm itself is checked.
            options: Other arguments of `md.check_motion`.
        """
        from manip_dyn.collision import check_motion

        return check_motion(self.robot, self, scene, **options)

    def _on_path(self, t: float) -> float:
        """Check that a time (s) is within the motion up to rounding, and return it clipped."""
        time = finite("time", t, "s")
        if not -ROUNDING <= time <= self.t_final + ROUNDING:
            requested, end = distinct_digits(time, self.t_final)
            raise ManipDynError(
                f"time must be 0 to {end} s, got {requested} s; `plan` holds the arm after the "
                "motion."
            )
        return min(max(time, 0.0), self.t_final)

    @cached_property
    def plan(self) -> Plan:
        """The motion as a plan for `PlanExecutor`. It must start and end at rest.

        The efforts of the plan include the payload, but its `work_curves` do not.

        Raises:
            ManipDynError: If an end speed is not 0.
        """
        if any(self.end_speeds):
            raise ManipDynError(
                f"end_speeds must be 0 for a plan, which starts and ends at rest, got "
                f"{self.end_speeds}."
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
            [list(switches) if moves else [] for moves in moving],
            [self.t_final if moves else 0.0 for moves in moving],
            self.motion,
            joint_efforts(self.robot, self.payload, JointState(ends[1], still, still), still),
            METHOD,
            self.status,
            self.reason,
        )

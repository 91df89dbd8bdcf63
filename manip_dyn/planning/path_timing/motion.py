"""The motion along a path by time, in closed form between grid points.

In an interval the path's acceleration is linear in s, so s'' = u + w^2 (s - s_k): hyperbolic
functions of w t, trigonometric ones where w^2 is negative.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.motion import Samples, held_samples
from manip_dyn.planning.path_timing.grid import INSIDE, durations
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.rows import STILL
from manip_dyn.robot import Robot

SMALL = 1e-6


class OnPath(NamedTuple):
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
        self.knots = np.concatenate([[0.0], np.cumsum(durations(widths, squares))])

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

    def on_path(self, t: float) -> OnPath:
        """Return place, speed and acceleration along the path at time `t` s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self.begin) - 1)
        since = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u, slope = float(self.speed[k]), float(self.begin[k]), float(self.slope[k])
        zero, one, two = _powers(slope * since * since)
        moved = (v * one + u * since * two) * since
        width = self.grid[k + 1] - self.grid[k]
        moved = min(max(moved, INSIDE * width), (1.0 - INSIDE) * width)
        return OnPath(
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
        return efforts(self._robot, self._payload, self.joints(t), first)

    def samples(self, period: float) -> Samples:
        """Return efforts every `period` s and from every switch on."""
        times = {0.0, *np.arange(0.0, self.t_final, period).tolist(), *self.switches}
        return held_samples(sorted(times), self.effort)


def efforts(robot: Robot, payload: Vector | None, joints: JointState, first: Vector) -> Vector:
    """Return the efforts (n,) of a motion: inverse dynamics, payload and dry friction.

    At rest friction is that in the direction dq/ds, `first` (n,), in which the joints go on.
    """
    kernels, (q, v, a) = customize(robot).unchecked, joints
    if payload is None:
        effort = kernels.inverse_dynamics(q, v, a)
    else:
        effort = kernels.inverse_dynamics_loaded(q, v, a, payload, np.zeros(6))
    if not robot.rubs:
        return effort
    ahead = np.where(np.abs(first) > STILL * np.abs(first).max(), first, 0.0)
    return effort + robot.friction.sliding(ahead, np.abs(v))


def stacked(states: list[JointState]) -> tuple[Matrix, Matrix, Matrix]:
    """Return positions, velocities and accelerations (m, n) of m states."""
    q, v, a = (np.array(each) for each in zip(*states, strict=True))
    return q, v, a


def _powers(z: float) -> tuple[float, float, float]:
    """Return cosh w, sinh w / w and (cosh w - 1) / w^2 for w^2 = z, of any sign."""
    if abs(z) < SMALL:
        return 1.0 + z / 2.0, 1.0 + z / 6.0, 0.5 + z / 24.0
    w = math.sqrt(abs(z))
    if z > 0.0:
        return math.cosh(w), math.sinh(w) / w, 2.0 * (math.sinh(0.5 * w) / w) ** 2
    return math.cos(w), math.sin(w) / w, 2.0 * (math.sin(0.5 * w) / w) ** 2

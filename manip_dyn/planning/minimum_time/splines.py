"""Motions as cubic splines with equal cells, and solutions on grids."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.collision import JointCurve
from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.results import PickledByArguments
from manip_dyn.planning.certificate import Convergence
from manip_dyn.planning.minimum_time.nodes import efforts_at, inverse_kernels_of
from manip_dyn.planning.plan import Plan, Samples, held_samples
from manip_dyn.robot import Robot


class Ends(NamedTuple):
    """Positions (n,), rad or m, and velocities (n,), rad/s or m/s, at start and goal."""

    q0: Vector
    v0: Vector
    qf: Vector
    vf: Vector

    @property
    def moving(self) -> bool:
        """Whether the arm moves at the start or the goal."""
        return bool(np.any(self.v0) or np.any(self.vf))


class Spline(NamedTuple):
    """A motion with accelerations that are linear in every cell.

    Attributes:
        control: Control points (cells + 3, n), including one before and one after the motion.
        duration: Duration, s.
    """

    control: Matrix
    duration: float

    @classmethod
    def between(cls, ends: Ends, inner: Matrix, duration: float) -> Spline:
        """Create the motion with inner control points (cells - 1, n)."""
        h, control = duration / (len(inner) + 1), np.empty((len(inner) + 4, inner.shape[1]))
        control[2:-2] = inner
        control[0], control[-1] = inner[0] - 2.0 * h * ends.v0, inner[-1] + 2.0 * h * ends.vf
        control[1] = 1.5 * ends.q0 - 0.5 * inner[0] + 0.5 * h * ends.v0
        control[-2] = 1.5 * ends.qf - 0.5 * inner[-1] - 0.5 * h * ends.vf
        return cls(control, duration)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.control) - 3

    @property
    def inner(self) -> Matrix:
        """Control points without those near the ends (cells - 1, n)."""
        return self.control[2:-2]

    def halved(self) -> Spline:
        """Return the same motion with cells of half the length (Boehm 1980)."""
        c = self.control
        fine = np.empty((2 * self.cells + 3, c.shape[1]))
        fine[1::2] = (c[:-2] + 6.0 * c[1:-1] + c[2:]) / 8.0
        fine[::2] = 0.5 * (c[:-1] + c[1:])
        return Spline(fine, self.duration)

    def reflected(self) -> Spline:
        """Return the motion that is reflected in time and at the middle of start and goal."""
        middle = self.control[0] + self.control[-1] + 4.0 * (self.control[1] + self.control[-2])
        middle += self.control[2] + self.control[-3]
        return Spline(middle / 6.0 - self.control[::-1], self.duration)

    def joints(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (k, n) at times (k,), s."""
        h = self.duration / self.cells
        cell = np.clip((times / h).astype(int), 0, self.cells - 1)
        z = (times / h - cell)[:, None]
        a, b, c, d = (self.control[cell + i] for i in range(4))
        y = 1.0 - z
        place = (y**3 * a + (3 * z**3 - 6 * z**2 + 4) * b + (3 * y**3 - 6 * y**2 + 4) * c) / 6.0
        place += z**3 * d / 6.0
        speed = (y**2 * (b - a) + (1 + 2 * y * z) * (c - b) + z**2 * (d - c)) / (2.0 * h)
        bend = (y * (a - 2 * b + c) + z * (b - 2 * c + d)) / h**2
        return place, speed, bend


CELLS = (128, 512, 2048)
"""Numbers of cells of the grids on which motions are refined."""
BARRIER = 1e-5
"""Final weight of the barrier on the last grid, times its cells and joints."""
FREE_EFFORT = 0.9
"""Normalized effort below which an effort is between its limits."""
NEAR_POSITION, NEAR_SPEED = 2e-5, 1e-3
"""Relative distances from position and speed limits below which a limit is active, for the barrier
of the finest grid. Away from its limit, the speed of a joint changes by more than the second
distance between two nodes. Near a contact point, a position is near its limit for many nodes."""
SETTLED = 1e-3
"""Predicted decrease, relative to the barrier weight, at which an exact solution has converged."""


class GridSolution(NamedTuple):
    """The fastest motion on a grid.

    Attributes:
        spline: The motion.
        weight: Final weight of the barrier.
        promised: Predicted decrease by one more step as a fraction of the duration.
        limits: Number of limits at all nodes.
        effort: Multipliers of the effort limits (nodes, n), positive at upper limits: the weight
            over the slack.
        last_effort: The same after the last step (nodes, n), without errors of first order in the
            slack. Structures are read from `effort`: with `last_effort`, arms at speed limits
            require up to 8 % more time.
        speed: Multipliers of the speed limits up to the next node (nodes, n).
        place: Multipliers of the position limits (nodes, n), for distances divided by `scale`.
        scale: Largest distance of a joint between start and goal, rad or m.
        curved: Whether steps included the curvature of the limits.
    """

    spline: Spline
    weight: float
    promised: float
    limits: int
    effort: Matrix
    last_effort: Matrix
    speed: Matrix
    place: Matrix
    scale: float
    curved: bool

    @property
    def settled(self) -> bool:
        """Whether the predicted decrease of the last step is negligible."""
        return abs(self.promised) <= SETTLED * self.weight


class RefinedSolution(NamedTuple):
    """A motion that was moved within its limits between the nodes.

    Attributes:
        spline: The motion.
        solved: Solution on the grid with tightened effort limits, before it was slowed down.
        uniform: Solution with equal limits at all nodes if it has converged, else `solved`.
            Limits that differ between adjacent nodes make the multipliers oscillate.
        durations: Shortest durations on the previous grid, or inf, and on this grid, s, with
            limits at the nodes.
        load: Largest effort over its limit, including times between the nodes.
    """

    spline: Spline
    solved: GridSolution
    uniform: GridSolution
    durations: list[float]
    load: float


def efforts_of(robot: Robot, spline: Spline, count: int) -> Matrix:
    """Return the efforts (count + 1, n) at equal time steps."""
    q, v, a = spline.joints(np.linspace(0.0, spline.duration, count + 1))
    tau = np.empty_like(q)
    efforts_at(inverse_kernels_of(robot), q, v, a, tau)
    return tau


def spline_of_plan(ends: Ends, plan: Plan, cells: int) -> Spline:
    """Return the cubic spline through positions of a plan at equal time steps."""
    from scipy.interpolate import CubicSpline

    times = np.linspace(0.0, plan.t_final, cells + 1)
    places = np.array([plan.state(t)[0] for t in times.tolist()])
    through = CubicSpline(times, places, bc_type=((1, ends.v0), (1, ends.vf)))
    h = plan.t_final / cells
    control = places - h * h / 6.0 * through(times, 2)
    return Spline.between(ends, control[1:-1], plan.t_final)


def exceeded_limit(robot: Robot, times: Vector, q: Matrix, v: Matrix) -> str:
    """Return the first speed or position limit that a motion exceeds, or "".

    Args:
        robot: The arm.
        times: Sample times (k,), s.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s.
    """
    for i, joint in enumerate(robot.joint_names):
        speed = float(np.abs(v[:, i]).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            value, most = distinct_digits(speed, robot.v_max[i], digits=4)
            return f"joint '{joint}' would reach {value} {robot.unit(i)}/s; its limit is {most}"
        low, high = _range(times, q[:, i], v[:, i])
        for extreme, limit in ((low, robot.q_min[i]), (high, robot.q_max[i])):
            if not robot.q_min[i] - 1e-9 <= extreme <= robot.q_max[i] + 1e-9:
                value, most = distinct_digits(extreme, limit, digits=4)
                return f"joint '{joint}' would reach {value} {robot.unit(i)}; its limit is {most}"
    return ""


def _range(times: Vector, q: Vector, v: Vector) -> tuple[float, float]:
    """Return the smallest and largest position, including reversals between samples."""
    turning = np.flatnonzero((v[:-1] * v[1:] < 0.0) & (np.diff(times) > 0.0))
    h, a, b = np.diff(times)[turning], v[turning], v[turning + 1]
    first, rise = q[turning], q[turning + 1] - q[turning]
    # The slope of the cubic interpolant, a + 2 c z + d z^2, has one root between the samples.
    c, d = 3.0 * rise / h - 2.0 * a - b, 3.0 * (a + b) - 6.0 * rise / h
    z = -a / (c + np.copysign(np.sqrt(np.maximum(c * c - a * d, 0.0)), -a))
    peaks = first + h * z * (a + z * (c + z * d / 3.0))
    reached = np.append(q, peaks)
    return float(reached.min()), float(reached.max())


FULL_EFFORT = 0.99
"""Normalized effort above which efforts are full."""
SWITCH_CELLS = 6
"""Maximum number of cells of a transition between limits that is a switch."""


class SplineMotion(PickledByArguments):
    """Motion with accelerations that are linear in each cell; see `planning.plan.Motion`.

    Attributes:
        spline: Positions of the motion.
        solved: Solution on the finest grid, with the multipliers of its limits.
        knots: Node times (k,), s, between which the efforts are smooth.
    """

    def __init__(self, robot: Robot, solution: RefinedSolution, proof: Convergence):
        """Initialize from the refined solution and its certificate with costates."""
        self.spline, self.solved, self._proof = solution.spline, solution.solved, proof
        spline = solution.spline
        self.knots = np.linspace(0.0, spline.duration, spline.cells + 1)
        self._robot, self._efforts = robot, customize(robot).unchecked.inverse_dynamics

    @property
    def switching(self) -> None:
        """Switching structure: None, because the motion has no exact structure."""
        return None

    @property
    def switches(self) -> list[list[float]]:
        """Times at which each joint's effort switches between its limits, s."""
        shares = efforts_of(self._robot, self.spline, self.spline.cells) / self._robot.tau_max
        return [self._switches(share) for share in shares.T]

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        q, v, _ = self.spline.joints(np.array([t]))
        return q[0], v[0]

    def joint_curve(self) -> JointCurve:
        """Return the positions as a piecewise polynomial, for collision checks."""
        a, b, c, d = (self.spline.control[k : k + self.spline.cells] for k in range(4))
        rows = [(a + 4.0 * b + c) / 6.0, (2.0 * b + c) / 3.0, (b + 2.0 * c) / 3.0]
        coefficients = np.stack([*rows, (b + 4.0 * c + d) / 6.0], axis=1)
        rounding = 1e-15 * np.abs(self.spline.control).max(axis=0)
        return JointCurve(self.knots, coefficients, rounding)

    def joints(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (k, n) at times (k,), s."""
        return self.spline.joints(times)

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t`, s, on, N m or N."""
        q, v, a = self.spline.joints(np.array([t]))
        return self._efforts(q[0], v[0], a[0])

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        q, v, a = self.spline.joints(times)
        return q, v, np.array([self._efforts(*state) for state in zip(q, v, a, strict=True)])

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t`, s, interpolated linearly between nodes."""
        times, costates = self._proof.times, self._proof.costates
        return np.array([np.interp(t, times, values) for values in costates.T])

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts every `period` s."""
        times = np.arange(0.0, self.spline.duration, period)
        efforts = dict(zip(times.tolist(), self.at(times)[2], strict=True))
        return held_samples(efforts, efforts.__getitem__)

    def _switches(self, share: Vector) -> list[float]:
        full = np.flatnonzero(np.abs(share) > FULL_EFFORT)
        return [
            float(0.5 * (self.knots[before] + self.knots[after]))
            for before, after in pairwise(full)
            if share[before] * share[after] < 0.0 and after - before <= SWITCH_CELLS
        ]

"""Fastest motion along the straight joint path, for any arm that can hold its weight on this path.

On q(s) = q0 + s d the arm has one degree of freedom. Without damping, its efforts are linear in
the path acceleration u and in the squared path speed x. With damping, they are::

    tau = A(s) u + C(s) x + D sqrt(x) + B(s)

Here A = M d, C contains the Coriolis terms at unit speed, D the damping, and B weight and springs
(Shin, McKay 1985). As in Pham, Pham (2018), a backward pass over a grid computes the controllable
sets of x, and a forward pass the largest feasible u. Between two grid points u is constant. The
limits are satisfied at both points. As for any motion from rest to rest, the net work on every
link is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import rk4_step
from manip_dyn.planning.plan import Samples, held_samples
from manip_dyn.robot import Robot

GRID_INTERVALS = 100
MARGINS = (1e-4, 1e-3, 1e-2, 0.1)
"""Fractions of the effort limits reserved for violations between grid points, as tried in turn."""
CHECK_POINTS = 9
"""Number of points per interval at which limits are checked."""
REPLAY_STEPS = (400, 1600, 6400)
"""Numbers of Runge-Kutta steps for the whole motion, in order of trial. An interval has at least
one step."""
REPLAY_TOLERANCE = 1e-7
"""Largest sum of the deviations over all intervals: rad or m, and rad/s or m/s."""


class PathEfforts(NamedTuple):
    """Coefficients (k, n) of the efforts at the grid points, see the module docstring.

    Attributes:
        acceleration: Coefficients A of the path acceleration.
        square: Coefficients C of the squared path speed.
        speed: Coefficients D of the path speed.
        rest: Efforts B at rest.
    """

    acceleration: Vector
    square: Vector
    speed: Vector
    rest: Vector


class PathMotion(PickledByArguments):
    """Motion along the straight path with piecewise constant path acceleration."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, x: Vector):
        """Initialize from squared path speeds `x` (k,), 1/s^2, at equidistant s from 0 to 1."""
        self._kernels = customize(robot).unchecked
        self._start, self._direction = start, goal - start
        self.speed = np.sqrt(x)
        self.parameter = np.linspace(0.0, 1.0, len(x))
        width = 1.0 / (len(x) - 1)
        self.acceleration = np.diff(x) / (2.0 * width)
        durations = 2.0 * width / (self.speed[:-1] + self.speed[1:])
        self.knots = np.concatenate([[0.0], np.cumsum(durations)])

    @property
    def t_final(self) -> float:
        """Time of arrival, s."""
        return float(self.knots[-1])

    @property
    def switches(self) -> list[float]:
        """Times at which the motion changes between driving, braking and cruising, s."""
        pushes = self.acceleration
        signs = np.sign(np.where(np.abs(pushes) < 1e-9 * np.abs(pushes).max(), 0.0, pushes))
        return [float(t) for t in self.knots[1:-1][signs[1:] != signs[:-1]]]

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        s, speed, _ = self._at(t)
        return self._start + s * self._direction, speed * self._direction

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s. At a jump, return those after the jump."""
        s, speed, push = self._at(t)
        direction = self._direction
        return self._kernels.inverse_dynamics(
            self._start + s * direction, speed * direction, push * direction
        )

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        s, speed, push = (x[:, None] for x in self._at(times))
        q, v = self._start + s * self._direction, speed * self._direction
        efforts = map(self._kernels.inverse_dynamics, q, v, push * self._direction)
        return q, v, np.array(list(efforts))

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts every `period` seconds and at every switch."""
        times = {0.0, *np.arange(0.0, self.t_final, period).tolist(), *self.switches}
        return held_samples(sorted(times), self.effort)

    def _at(self, t: Any) -> tuple[Any, Any, Any]:
        """Return path parameter, path speed and path acceleration at time(s) `t`, s."""
        k = self.knots[1:-1].searchsorted(t, side="right")
        since, push = t - self.knots[k], self.acceleration[k]
        speed = self.speed[k] + push * since
        return self.parameter[k] + (self.speed[k] + 0.5 * push * since) * since, speed, push


def straight_path(robot: Robot, start: Vector, goal: Vector) -> PathMotion:
    """Return the fastest motion along the straight joint path, after verifying it.

    Raises:
        ManipDynError: If the arm cannot hold its weight on the path, or no motion is feasible.
    """
    _check_held(robot, start, goal)
    coefficients = path_efforts(robot, start, goal)
    with np.errstate(divide="ignore"):
        fastest = float(np.min(robot.v_max / np.abs(goal - start))) ** 2
    for margin in MARGINS:
        x = fastest_squares(*coefficients, (1.0 - margin) * robot.tau_max, min(fastest, 1e12))
        if not np.all(x[1:-1] > 0.0):
            continue
        motion = PathMotion(robot, start, goal, x)
        if not _within_limits(robot, motion):
            continue
        if any(_replay_error(robot, motion, steps) < REPLAY_TOLERANCE for steps in REPLAY_STEPS):
            return motion
    raise ManipDynError("the effort limits are too low to move along the straight joint path.")


def path_efforts(robot: Robot, start: Vector, goal: Vector) -> PathEfforts:
    """Return the coefficients of the efforts at the grid points of the straight path."""
    efforts, d = customize(robot).unchecked.inverse_dynamics, goal - start
    zero = np.zeros(robot.n)
    rows = []
    for s in np.linspace(0.0, 1.0, GRID_INTERVALS + 1):
        q = start + s * d
        rest = efforts(q, zero, zero)
        damping = robot.damping * d
        rows.append(
            (efforts(q, zero, d) - rest, efforts(q, d, zero) - rest - damping, damping, rest)
        )
    return PathEfforts(*(np.array(x) for x in zip(*rows, strict=True)))


@compiled(short=True)
def fastest_squares(a, c, d, b, limit, fastest):
    """Return the squares (k,) of the largest path speeds at the grid points.

    Args:
        a: Coefficients A of the efforts (k, n).
        c: Coefficients C (k, n).
        d: Coefficients D (k, n).
        b: Coefficients B (k, n).
        limit: Effort limits (n,).
        fastest: Square of the path speed limit, 1/s^2.

    Returns:
        The squares, or zeros if no motion is feasible.
    """
    last = a.shape[0] - 1
    width = 1.0 / last
    most = np.zeros(last + 1)
    for k in range(last - 1, -1, -1):
        low, high = 0.0, fastest
        middle = fastest
        for _ in range(100):
            least, greatest = _acceleration_interval(
                a, c, d, b, limit, k, width, middle, most[k + 1], most[k + 1]
            )
            if least <= greatest:
                low = middle
            else:
                high = middle
            middle = 0.5 * (low + high)
        most[k] = low
    x = np.zeros(last + 1)
    for k in range(last):
        behind = x[k]
        for _ in range(5):
            least, greatest = _acceleration_interval(
                a, c, d, b, limit, k, width, x[k], most[k + 1], behind
            )
            if least > greatest + 1e-9 * (1.0 + abs(greatest)):
                return np.zeros(last + 1)
            behind = max(x[k] + 2.0 * width * greatest, 0.0)
        x[k + 1] = behind
    x[last] = 0.0
    return x


@inlined
def _acceleration_interval(a, c, d, b, limit, k, width, x, most, behind):
    """Return the smallest and largest path acceleration feasible at grid points k and k + 1.

    The squared speed is `x` at point k and must be at most `most` at point k + 1. The damping at
    point k + 1 is evaluated for the squared speed `behind`. If no acceleration is feasible, the
    first number is larger than the second.
    """
    least, greatest = -x / (2.0 * width), (most - x) / (2.0 * width)
    for end in range(2):
        row, root = k + end, np.sqrt(behind if end == 1 else x)
        for i in range(limit.shape[0]):
            slope = a[row, i] + (2.0 * width * c[row, i] if end == 1 else 0.0)
            rest = c[row, i] * x + d[row, i] * root + b[row, i]
            if abs(slope) < 1e-12:
                if abs(rest) > limit[i]:
                    return 1.0, -1.0
                continue
            first, second = (-limit[i] - rest) / slope, (limit[i] - rest) / slope
            least = max(least, min(first, second))
            greatest = min(greatest, max(first, second))
    return least, greatest


def _check_held(robot: Robot, start: Vector, goal: Vector) -> None:
    """Check that the arm can hold itself at equidistant points of the path."""
    efforts, zero = customize(robot).unchecked.inverse_dynamics, np.zeros(robot.n)
    for s in np.linspace(0.0, 1.0, 2 * GRID_INTERVALS + 1):
        effort = efforts(start + s * (goal - start), zero, zero)
        for i in np.flatnonzero(np.abs(effort) > robot.tau_max * (1.0 + 1e-9)):
            required, most = distinct_digits(effort[i], robot.tau_max[i], digits=4)
            raise ManipDynError(
                f"at {100 * s:.0f} % of the straight joint path joint '{robot.joint_names[i]}' "
                f"needs the effort {required} to be held; its limit is {most}."
            )


def _within_limits(robot: Robot, motion: PathMotion) -> bool:
    """Return whether efforts and speeds satisfy their limits at and between grid points."""
    last = np.nextafter(motion.knots[1:], 0.0)
    _, v, effort = motion.at(np.linspace(motion.knots[:-1], last, CHECK_POINTS).ravel())
    slow = np.abs(v) <= robot.v_max * (1.0 + 1e-9)
    return bool(np.all(np.abs(effort) <= robot.tau_max) and np.all(slow))


def _replay_error(robot: Robot, motion: PathMotion, most: int) -> float:
    """Return the sum of the deviations from the motion when its clipped efforts are simulated.

    The simulation of each interval starts on the motion, because an arm under gravity amplifies
    integration errors. The check is only whether the efforts produce the motion.

    Args:
        robot: The arm.
        motion: The motion.
        most: Approximate number of Runge-Kutta steps for the whole motion.
    """
    forward, n = customize(robot).unchecked.forward_dynamics, robot.n

    def rates(t: float, y: Vector) -> Vector:
        effort = np.clip(motion.effort(min(t, last)), -robot.tau_max, robot.tau_max)
        return np.concatenate([y[n:], forward(y[:n], y[n:], effort)])

    missed = 0.0
    for before, after in zip(motion.knots[:-1], motion.knots[1:], strict=True):
        last = np.nextafter(after, 0.0)
        steps = int(np.ceil(most * (after - before) / motion.t_final))
        step = (after - before) / steps
        y = np.concatenate(motion.state(before))
        for k in range(steps):
            y = rk4_step(rates, before + k * step, y, step)
        missed += float(np.abs(y - np.concatenate(motion.state(after))).max())
    return missed

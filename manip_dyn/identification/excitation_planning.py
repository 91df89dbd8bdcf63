"""`plan_excitation`: plan periodic motions for accurate identification of base parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from manip_dyn.core.checks import (
    Matrix,
    Vector,
    finite_vector,
    not_negative,
    positive,
    whole_number,
)
from manip_dyn.core.errors import ManipDynError
from manip_dyn.identification.parameters import (
    OF_A_JOINT,
    BaseParameters,
    base_parameters,
    check_independent_joints,
    checked_estimated,
    observation,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.robot import Robot


class Fourier(NamedTuple):
    """Joint motions q_j(t) = center_j + sum_l a_jl sin(l w t) / (l w) - b_jl cos(l w t) / (l w).

    The fundamental angular frequency is w = 2 pi / period.

    Attributes:
        center: Constant terms (n,), rad or m.
        a: Cosine amplitudes (n, harmonics) of the velocities, rad/s or m/s.
        b: Sine amplitudes (n, harmonics) of the velocities, rad/s or m/s.
        period: Duration of one period, s.
    """

    center: Vector
    a: Matrix
    b: Matrix
    period: float

    def at(self, t: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions (rad or m), velocities and accelerations (m, n) at times (m,), s."""
        rates = 2.0 * np.pi / self.period * np.arange(1, self.a.shape[1] + 1)
        phases = np.multiply.outer(t, rates)
        sines, cosines = np.sin(phases), np.cos(phases)
        q = self.center + sines @ (self.a / rates).T - cosines @ (self.b / rates).T
        v = cosines @ self.a.T + sines @ self.b.T
        a = cosines @ (self.b * rates).T - sines @ (self.a * rates).T
        return q, v, a

    def within(self, low: Vector, high: Vector, fastest: Vector, samples: Vector) -> Fourier:
        """Return the motion centred in its range and scaled to the position and speed limits.

        Args:
            low: Lower position limits (n,), rad or m.
            high: Upper position limits (n,), rad or m.
            fastest: Speed limits (n,), rad/s or m/s.
            samples: Times (m,) at which the limits are evaluated, s.
        """
        q, v, _ = self._replace(center=np.zeros(len(low))).at(samples)
        top, bottom = q.max(axis=0), q.min(axis=0)
        scale = np.minimum(
            (high - low) / np.maximum(top - bottom, 1e-12),
            fastest / np.maximum(np.abs(v).max(axis=0), 1e-12),
        )[:, None]
        center = 0.5 * (low + high) - 0.5 * scale[:, 0] * (top + bottom)
        return Fourier(center, scale * self.a, scale * self.b, self.period)


def series(shape: Vector, joints: int, period: float) -> Fourier:
    """Return a series with center 0 that starts and ends at rest, without acceleration.

    Args:
        shape: Shape parameters (2 * joints * harmonics,).
        joints: Number of joints.
        period: Duration of one period, s.
    """
    a, b = shape.reshape(2, joints, -1)
    orders = np.arange(1, a.shape[1] + 1)
    a = a - a.mean(axis=1, keepdims=True)  # the sum of a is the initial velocity
    b = b - np.outer(b @ orders, orders) / (
        orders @ orders
    )  # the sum of l b is proportional to the initial acceleration
    return Fourier(np.zeros(joints), a, b, period)


SAMPLES = 80
"""Number of times per period at which the search evaluates regressor and limits."""
SPREAD = 3.0
"""Scale of the shape parameters for amplitudes. Most amplitudes of initial motions are between 5 %
and 95 % of the largest ones within the limits."""
FREE, FAST = np.pi, 2.0
"""For joints without limits: largest distance from zero, pi rad, and largest speed, 2 rad/s."""


class Candidate(NamedTuple):
    """A motion, the condition number of its regressor, and its largest efforts (n,), N m or N."""

    motion: Fourier | None
    condition: float
    effort: Vector


class Search:
    """Cost of motions as a function of their shape parameters.

    Attributes:
        efforts: Effort limits (n,), N m or N.
        evaluations: Number of evaluated motions.
        best: The motion with the smallest condition number within the effort limits.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        margin: float,
        effort_limit: ArrayLike | None,
        estimated: tuple[str, ...],
    ):
        """Initialize with the limits of a robot; see `plan_excitation`."""
        self._robot, self._period = robot, period
        self._base: BaseParameters = base_parameters(robot, estimated)
        self._stated = self._base.of(stated_parameters(robot))
        self._times = np.linspace(0.0, period, SAMPLES, endpoint=False)
        low = np.where(np.isfinite(robot.q_min), robot.q_min, -FREE)
        high = np.where(np.isfinite(robot.q_max), robot.q_max, FREE)
        spare = margin * (high - low)
        self._low, self._high = low + spare, high - spare
        usable = np.isfinite(robot.v_max) & (robot.v_max > 0.0)
        self._fastest = (1.0 - margin) * np.where(usable, robot.v_max, FAST)
        self.efforts = np.where(robot.tau_max > 0.0, robot.tau_max, np.inf)
        if effort_limit is not None:
            self.efforts = finite_vector("effort_limit", effort_limit, robot.n)
            if np.any(self.efforts <= 0.0):
                values = self.efforts.tolist()
                raise ManipDynError(f"effort_limit must be above 0, got {values}.")
        self.evaluations = 0
        self.best = Candidate(None, np.inf, np.zeros(robot.n))

    def cost(self, shape: Vector) -> float:
        """Return the logarithm of the condition number plus a penalty for excessive efforts.

        The function also updates `best`.
        """
        candidate = self._motion(shape)
        excess = float(np.sum(np.maximum(candidate.effort / self.efforts - 1.0, 0.0)))
        if excess == 0.0 and candidate.condition < self.best.condition:
            self.best = candidate
        return float(np.log(candidate.condition)) + 10.0 * excess

    def _motion(self, shape: Vector) -> Candidate:
        """Return the motion for shape parameters: n for the amplitudes, then coefficients.

        A logistic function maps the first n to fractions of the largest amplitudes within the
        limits.
        """
        self.evaluations += 1
        n = self._robot.n
        free = series(shape[n:], n, self._period)
        widest = free.within(self._low, self._high, self._fastest, self._times)
        used = 1.0 / (1.0 + np.exp(-SPREAD * shape[:n, None]))
        motion = widest._replace(a=used * widest.a, b=used * widest.b)
        states = motion.at(self._times)
        observed = observation(self._robot, self._base, *states)
        efforts = observed @ self._stated + spring_efforts(self._robot, states[0])
        size = np.abs(efforts).max(axis=0)
        rows = (observed / np.maximum(size, 1e-9)[:, None]).reshape(-1, observed.shape[2])
        lengths = np.linalg.norm(rows, axis=0)
        condition = float(np.linalg.cond(rows / np.maximum(lengths, 1e-12)))
        return Candidate(motion, condition, size)


STARTS = 20
"""Number of random initial motions per joint."""


@dataclass(frozen=True)
class Excitation:
    """A periodic motion that starts and ends at rest.

    Attributes:
        fourier: The motion.
        condition: Condition number of the regressor with normalized columns.
        first_condition: Condition number of the best initial motion; inf if none of them satisfies
            the effort limits.
        effort: Largest efforts (n,), computed with the robot's masses, N m or N.
        evaluations: Number of evaluated motions.
    """

    fourier: Fourier = field(repr=False)
    condition: float
    first_condition: float
    effort: Vector
    evaluations: int

    @property
    def period(self) -> float:
        """Duration of one period, s."""
        return self.fourier.period

    def at(self, t: ArrayLike) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions (rad or m), velocities and accelerations (m, n) at times (m,), s."""
        times: ArrayLike = np.atleast_1d(np.asarray(t))
        return self.fourier.at(finite_vector("t", times, np.size(times)))


def plan_excitation(
    robot: Robot,
    period: float = 10.0,
    harmonics: int = 5,
    *,
    margin: float = 0.05,
    effort_limit: ArrayLike | None = None,
    estimated: tuple[str, ...] = OF_A_JOINT,
    seed: int = 0,
    iterations: int = 300,
) -> Excitation:
    """Plan a motion with a well-conditioned regressor within the limits of the joints.

    The motion is a finite Fourier series that starts and ends at rest within the position and
    speed limits. Its shape minimizes the condition number (Swevers et al. 1997). The cost is not
    differentiable, so COBYLA (Powell) improves the best of several random motions. Efforts are
    computed with the masses of the robot.

    Args:
        robot: The robot, with position, speed and effort limits and without mimic joints.
            Obstacles are ignored.
        period: Duration of one period, s.
        harmonics: Number of harmonics per joint, at least 2.
        margin: Fraction of the position range that remains unused at each end, and of the speed
            limits.
        effort_limit: Effort limits (n,), N m or N. Default: those of the robot.
        estimated: Joint parameters to estimate, see `identify`.
        seed: Seed of the random search.
        iterations: Maximum number of motions that COBYLA evaluates. Values below the number of
            shape parameters plus 2 are increased to that number.

    Raises:
        ManipDynError: If an argument is invalid, or no motion satisfies the effort limits, for
            example because gravity exceeds them.
    """
    check_independent_joints(robot)
    period = positive("period", period, "s")
    harmonics = whole_number("harmonics", harmonics, 2)
    iterations = whole_number("iterations", iterations, 1)
    margin = not_negative("margin", margin)
    if margin >= 0.5:
        raise ManipDynError(f"margin must be at least 0 and below 0.5, got {margin:g}.")
    search = Search(robot, period, margin, effort_limit, checked_estimated(estimated))
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    shapes = [rng.normal(size=(2 * harmonics + 1) * robot.n) for _ in range(STARTS * robot.n)]
    first = min(shapes, key=search.cost)
    first_condition = search.best.condition
    size = {"maxiter": max(iterations, len(first) + 2), "rhobeg": 0.5, "tol": 1e-3}
    minimize(search.cost, first, method="COBYLA", options=size)
    motion, condition, effort = search.best
    if motion is None:
        raise ManipDynError(
            f"None of {search.evaluations} motions satisfies the effort limits of "
            f"'{robot.name}', {search.efforts.tolist()}. Use a longer period, or load the robot "
            "with holds_itself=True if its controller compensates gravity."
        )
    return Excitation(motion, condition, first_condition, effort, search.evaluations)

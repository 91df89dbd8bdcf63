"""`plan_excitation`: periodic motions that identify base parameters accurately."""

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
    checked_estimated,
    observation,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot


class Fourier(NamedTuple):
    """Joint motions q_j(t) = center_j + sum_l a_jl sin(l w t) / (l w) - b_jl cos(l w t) / (l w).

    Attributes:
        center: (n,), rad or m.
        a: Velocities in phase, (n, harmonics), rad/s or m/s.
        b: Velocities out of phase, (n, harmonics), rad/s or m/s.
        period: s.
    """

    center: Vector
    a: Matrix
    b: Matrix
    period: float

    def at(self, t: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (m, n) at the times (m,)."""
        rates = 2.0 * np.pi / self.period * np.arange(1, self.a.shape[1] + 1)
        phases = np.multiply.outer(t, rates)
        sines, cosines = np.sin(phases), np.cos(phases)
        q = self.center + sines @ (self.a / rates).T - cosines @ (self.b / rates).T
        v = cosines @ self.a.T + sines @ self.b.T
        gain = cosines @ (self.b * rates).T - sines @ (self.a * rates).T
        return q, v, gain

    def within(self, low: Vector, high: Vector, fastest: Vector, samples: Vector) -> Fourier:
        """Return it about the middle of its range, as wide as positions and speeds allow.

        Args:
            low: Lower positions (n,).
            high: Upper positions (n,).
            fastest: Largest speeds (n,).
            samples: Times (m,) at which the limits are looked at.
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
    """Return a series about zero by free numbers (2 joints harmonics,): at rest at both ends."""
    a, b = shape.reshape(2, joints, -1)
    orders = np.arange(1, a.shape[1] + 1)
    a = a - a.mean(axis=1, keepdims=True)  # the sum of a is the first velocity
    b = b - np.outer(b @ orders, orders) / (orders @ orders)  # and of l b the acceleration
    return Fourier(np.zeros(joints), a, b, period)


SAMPLES = 80
"""Times of a period at which regressor and limits are looked at, while one is searched."""
SPREAD = 3.0
"""How differently wide motions the search begins with: from a twentieth to all of the limits."""
FREE, FAST = np.pi, 2.0
"""Positions from -pi to pi rad and speeds to 2 rad/s where a robot has no limits."""


class Candidate(NamedTuple):
    """A motion, the condition number of its regressor, and its largest efforts (n,)."""

    motion: Fourier | None
    condition: float
    effort: Vector


class Search:
    """The condition number of motions by the numbers that shape them."""

    def __init__(
        self,
        robot: Robot,
        period: float,
        margin: float,
        effort_limit: ArrayLike | None,
        estimated: tuple[str, ...],
    ):
        """Take a robot's limits, see `excitation`."""
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
                shown = self.efforts.tolist()
                raise ManipDynError(f"effort_limit is {shown}; expected numbers above 0")
        self.evaluations = 0
        self.best = Candidate(None, np.inf, np.zeros(robot.n))

    def cost(self, shape: Vector) -> float:
        """Return the logarithm of the condition number, and more where efforts are too large."""
        found = self._motion(shape)
        beyond = float(np.sum(np.maximum(found.effort / self.efforts - 1.0, 0.0)))
        if beyond == 0.0 and found.condition < self.best.condition:
            self.best = found
        return float(np.log(found.condition)) + 10.0 * beyond

    def _motion(self, shape: Vector) -> Candidate:
        """Return a motion by the shapes of its joints, and how much of the limits each uses."""
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
"""Random motions per joint with which the search begins."""


@dataclass(frozen=True)
class Excitation:
    """A periodic motion that begins and ends at rest.

    Attributes:
        fourier: The motion.
        condition: Condition number of its regressor, columns scaled to length one.
        first_condition: That of the best motion with which the search began.
        effort: Largest efforts on the way with the masses that are described, (n,), N m or N.
        evaluations: Motions that were looked at.
    """

    fourier: Fourier = field(repr=False)
    condition: float
    first_condition: float
    effort: Vector
    evaluations: int

    @property
    def period(self) -> float:
        """Duration of a period, s."""
        return self.fourier.period

    def at(self, t: ArrayLike) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (m, n) at the times (m,), s."""
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
    """Search a motion whose regressor is well conditioned, within the limits of the joints.

    Finite Fourier series, which begin and end at rest, as wide and as fast as positions and
    speeds allow; their shape minimizes the condition number (Swevers et al. 1997): the best of
    some random ones, improved by Powell's COBYLA, which needs no derivatives of what has kinks.
    Efforts are those of the masses that are described.

    Args:
        robot: Its limits of position, speed and effort are kept. Nothing is known of obstacles.
        period: Duration, s.
        harmonics: Sines and cosines of each joint.
        margin: Share of each range of positions and speeds that is kept free at both ends.
        effort_limit: Efforts (n,), N m or N, instead of the robot's.
        estimated: As `identify` takes it.
        seed: Of the random search.
        iterations: Most motions that the improvement looks at.

    Raises:
        ManipDynError: If an argument makes no sense, or no motion keeps the efforts, as where
            gravity alone takes more.
    """
    checked_robot(robot)
    period = positive("period", period, "s")
    harmonics = whole_number("harmonics", harmonics, 2)
    iterations = whole_number("iterations", iterations, 1)
    margin = not_negative("margin", margin)
    if margin >= 0.5:
        raise ManipDynError(f"margin is {margin:g}; expected 0 to below 0.5")
    search = Search(robot, period, margin, effort_limit, checked_estimated(estimated))
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    shapes = [rng.normal(size=(2 * harmonics + 1) * robot.n) for _ in range(STARTS * robot.n)]
    first = min(shapes, key=search.cost)
    begun = search.best.condition
    size = {"maxiter": max(iterations, len(first) + 2), "rhobeg": 0.5, "tol": 1e-3}
    minimize(search.cost, first, method="COBYLA", options=size)
    motion, condition, effort = search.best
    if motion is None:
        raise ManipDynError(
            f"no motion of {search.evaluations} keeps the efforts of '{robot.name}', "
            f"{search.efforts.tolist()}; expected a longer period, or an arm that holds itself"
        )
    return Excitation(motion, condition, begun, effort, search.evaluations)

"""`excitation`: a motion from whose efforts base parameters can be told best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.identification.base import BaseParameters, base_parameters, observation
from manip_dyn.identification.fourier import Fourier, series
from manip_dyn.identification.regressor import OF_A_JOINT, spring_efforts, stated_parameters
from manip_dyn.robot import Robot

SAMPLES = 80
"""Times of a period at which regressor and limits are looked at, while one is searched."""
STARTS = 20
"""Random motions per joint with which the search begins."""
SPREAD = 3.0
"""How differently wide motions the search begins with: from a twentieth to all of the limits."""
FREE, FAST = np.pi, 2.0
"""Positions from -pi to pi rad and speeds to 2 rad/s where a robot has no limits."""


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
        return self.fourier.at(np.atleast_1d(np.asarray(t, dtype=float)))


def excitation(
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
    period = positive("period", period, "s")
    if not isinstance(harmonics, int) or harmonics < 2:
        raise ManipDynError(f"harmonics is {harmonics!r}; expected a whole number from 2 on")
    if not 0.0 <= not_negative("margin", margin) < 0.5:
        raise ManipDynError(f"margin is {margin:g}; expected 0 to below 0.5")
    search = _Search(robot, period, margin, effort_limit, tuple(estimated))
    rng = np.random.default_rng(seed)
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


class _Candidate(NamedTuple):
    """A motion, the condition number of its regressor, and its largest efforts (n,)."""

    motion: Fourier | None
    condition: float
    effort: Vector


class _Search:
    """The condition number of motions by the numbers that shape them."""

    def __init__(
        self,
        robot: Robot,
        period: float,
        margin: float,
        effort_limit: ArrayLike | None,
        estimated: tuple[str, ...],
    ):
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
        given = robot.tau_max if effort_limit is None else effort_limit
        if effort_limit is not None:
            given = finite_vector("effort_limit", effort_limit, robot.n)
        self.efforts = np.where(np.asarray(given) > 0.0, given, np.inf)
        self.evaluations = 0
        self.best = _Candidate(None, np.inf, np.zeros(robot.n))

    def cost(self, shape: Vector) -> float:
        """Return the logarithm of the condition number, and more where efforts are too large."""
        found = self._motion(shape)
        beyond = float(np.sum(np.maximum(found.effort / self.efforts - 1.0, 0.0)))
        if beyond == 0.0 and found.condition < self.best.condition:
            self.best = found
        return float(np.log(found.condition)) + 10.0 * beyond

    def _motion(self, shape: Vector) -> _Candidate:
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
        return _Candidate(motion, condition, size)

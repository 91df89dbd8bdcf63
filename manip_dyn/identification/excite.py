"""`excitation`: a motion from whose efforts base parameters can be told best."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from manip_dyn.identification.fourier import Fourier
from manip_dyn.identification.regressor import OF_A_JOINT, checked_estimated
from manip_dyn.identification.search import Search
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

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

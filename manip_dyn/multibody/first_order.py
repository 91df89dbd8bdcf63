"""Mechanisms as first-order systems y' = f(t, y) for any solver, and Adams methods.

This is algorithm 2 of Sandu et al. (2001). The solver integrates the independent positions and
velocities. Each evaluation of f computes the dependent ones from the constraints. The solver
restarts after each new partition and where forces are not smooth. The paper used DDEABM of
Shampine and Watts. This module uses VODE (Brown, Byrne and Hindmarsh 1989) from SciPy, with
Adams-Moulton formulas of order 1 to 12 and functional iteration.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from manip_dyn.core.checks import Vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Statistics
from manip_dyn.integration import Status
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.state_space import expand, needs_repartition, rates
from manip_dyn.multibody.equations.tables import Forces, Motion
from manip_dyn.multibody.model.linearization import prepare_memory
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.simulation import MechanismMotion

HIGHEST_ORDER = 12
Sample = tuple[float, Vector, Vector, float]
"""Time, coordinates, rates, and violation."""


class FirstOrder:
    """``f(t, y)`` of a mechanism, where y (2 n,) are independent positions and their rates.

    `needs_repartition` and `expanded` count the full turns of rotational springs. If a spring
    rotates by more than half a turn, call one of them after each step of the solver.

    Attributes:
        mechanism: The mechanism.
        y0: Initial state (2 n,).
        partition: Partition of the coordinates.
        evaluations: Number of calls of f.
        angles: Deflections (f,) of rotational springs, rad; 0 for other forces.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: Vector | None = None,
        v: Vector | None = None,
        partition: Partition | None = None,
        angles: Vector | None = None,
    ):
        """Start at coordinates q and rates v (N,). Default: the initial state of the mechanism.

        Pass the `angles` (f,) of an earlier object to retain the full turns of rotational springs.
        """
        self.mechanism = mechanism
        q = mechanism.q0 if q is None else q
        self.partition = mechanism.partition if partition is None else partition
        self._memory, self.y0 = prepare_memory(
            mechanism,
            q,
            mechanism.v0 if v is None else v,
            self.partition,
            angles,
            derivatives=False,
        )
        self.angles, self.evaluations = self._memory.array(Forces, "angles"), 0
        self._out, self._need = np.zeros(len(self.y0)), np.zeros(1)

    def __call__(self, t: float, y: Vector) -> Vector:
        """Return the rates (2 n,).

        The accelerations are NaN if the mechanism cannot be assembled.
        """
        self.evaluations += 1
        rates(t, _float_copy(y), self._memory, self._out)
        return self._out.copy()

    def accelerations(self, t: float, y: Vector) -> Vector:
        """Return the accelerations (N,) of all coordinates, or NaN if y cannot be assembled."""
        rates(t, _float_copy(y), self._memory, self._out)
        values = self._memory.array(Motion, "a")[: self.mechanism.size].copy()
        return values if np.isfinite(self._out).all() else np.full_like(values, np.nan)

    def needs_repartition(self, t: float, y: Vector) -> bool:
        """Return whether a new partition is due: y cannot be assembled or is ill-conditioned."""
        needs_repartition(t, _float_copy(y), self._memory, self._need)
        return bool(self._need[0] > 0.0)

    def expanded(self, y: Vector) -> tuple[Vector, Vector, float]:
        """Return all coordinates and rates (N,), and the largest violation of a constraint.

        Raises:
            ManipDynError: If the mechanism cannot be assembled at y.
        """
        size, worst = self.mechanism.size, np.zeros(2)
        q, v = np.empty((1, size)), np.empty((1, size))
        if expand(_float_copy(y)[np.newaxis], self._memory, q, v, worst) < 1:
            raise ManipDynError("the mechanism cannot be assembled at the state of the solver.")
        return q[0], v[0], float(worst.max())


def _float_copy(y: Vector) -> Vector:
    """Return a contiguous float64 copy for compiled functions."""
    return np.array(y, dtype=np.float64, order="C")


def simulate_by_adams(
    mechanism: Mechanism, duration: float, *, rtol: float = 1e-6, atol: float | None = None
) -> MechanismMotion:
    """Simulate a mechanism with the Adams methods of VODE.

    If the solver fails, or a position is singular, the motion ends there with the status EVENT.

    Args:
        mechanism: The mechanism. For stiff mechanisms, stability limits the steps.
        duration: Duration, s.
        rtol: Relative tolerance of the independent coordinates and velocities.
        atol: Absolute tolerance: m or Euler parameters for coordinates, and m/s or 1/s for their
            rates. Default: `rtol`.
    """
    if not isinstance(mechanism, Mechanism):
        raise ManipDynError(f"mechanism must be a Mechanism, got {mechanism!r}.")
    duration, rtol = positive("duration", duration, "s"), positive("rtol", rtol)
    tolerances = (rtol, rtol if atol is None else positive("atol", atol))
    ends = [*mechanism.switches_between(0.0, duration), duration]
    equations = [FirstOrder(mechanism)]
    samples = [(0.0, *equations[0].expanded(equations[0].y0))]
    reason = ""
    try:
        while samples[-1][0] < duration:
            t = samples[-1][0]
            end = next(time for time in ends if time > t)
            due = _add_samples(samples, equations[-1], end, tolerances)
            equations.append(_successor(equations[-1], samples[-1], due))
    except ManipDynError as error:
        reason = str(error)
    times, q, v, violations = (np.array(column) for column in zip(*samples, strict=True))
    return MechanismMotion(
        t=times,
        q=q,
        v=v,
        status=Status.EVENT if reason else Status.SUCCESS,
        reason=reason or f"t = {duration:.9g} s was reached",
        statistics=Statistics(len(samples) - 1, 0, sum(part.evaluations for part in equations)),
        partitions=1 + sum(a.partition is not b.partition for a, b in pairwise(equations)),
        violation=float(violations.max()),
    )


def _add_samples(
    samples: list[Sample], rhs: FirstOrder, end: float, tolerances: tuple[float, float]
) -> bool:
    """Add the steps up to time `end`. Stop early and return True if a new partition is due."""
    for t, y in _steps(rhs, samples[-1][0], end, tolerances):
        samples.append((t, *rhs.expanded(y)))
        if rhs.needs_repartition(t, y):
            return True
    return False


def _steps(
    rhs: FirstOrder, t: float, end: float, tolerances: tuple[float, float]
) -> Iterator[tuple[float, Vector]]:
    """Yield time and state after each step of the solver; the last step ends at `end`."""
    from scipy.integrate import ode  # slow to load

    solver = ode(rhs).set_integrator(
        "vode", method="adams", order=HIGHEST_ORDER, rtol=tolerances[0], atol=tolerances[1]
    )
    solver.set_initial_value(rhs.y0, t)
    while solver.t < end:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # failures raise an error below
            y = solver.integrate(end, step=True)
            if solver.t > end:
                y = solver.integrate(end)  # interpolated between its last two steps
        if not (solver.successful() and np.isfinite(y).all()):
            raise ManipDynError(f"the Adams method failed at t = {solver.t:.9g} s.")
        yield solver.t, y


def _successor(rhs: FirstOrder, sample: Sample, repartition: bool) -> FirstOrder:
    """Return the equations that continue from a sample, with a new partition if one is due."""
    t, q, v, _ = sample
    roles = rhs.mechanism.roles_at(q) if repartition else rhs.partition
    if roles is None:
        raise ManipDynError(f"the mechanism is in a singular position at t = {t:.9g} s.")
    return FirstOrder(rhs.mechanism, q, v, roles, rhs.angles)

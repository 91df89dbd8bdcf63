"""`simulate`: compute a sampled `Trajectory` from an initial state and efforts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.integration import Status
from manip_dyn.integration.methods.adams import Adams
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import EffortLaw, Planned, Schedule, held, schedule_of
from manip_dyn.simulation.function_law import Feedback, LawError, check_size
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.pd_control import PDControl, PDLaw
from manip_dyn.simulation.simulation import DivergenceError, JointLimitError, Simulation


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """A sampled motion of m samples.

    Attributes:
        t: Times (m,), s.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), rad/s or m/s.
        tau: Efforts (m, n) from each sample on, N m or N.
        energy: Kinetic, potential, work and balance residual (m, 4), J.
        status: How it ended; EVENT where a joint reached its limit and was to stop there.
        reason: The same in one sentence.
        statistics: Steps, failed steps and evaluations of the dynamics.
        saturated: Whether an effort is at its limit (m, n), of the joints for which the law wants
            more; empty where nobody has looked.
    """

    t: Vector
    q: Matrix
    v: Matrix
    tau: Matrix
    energy: Matrix
    status: Status
    reason: str
    statistics: dict[str, int]
    saturated: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    @property
    def success(self) -> bool:
        """Whether the whole duration was simulated."""
        return self.status is Status.SUCCESS


def simulate(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    effort: ArrayLike | EffortLaw | PDControl | Planned | Callable[..., Vector],
    duration: float,
    step: float = 1e-3,
    sample_period: float | None = None,
    *,
    method: str = "rk4",
    rtol: float = 0.0,
    atol: float = 0.0,
    taylor_order: int = 0,
    stop_at_limits: bool = False,
    parameters: ArrayLike | None = None,
) -> Trajectory:
    """Simulate `robot` from (q0, v0) under `effort`.

    A motion ends where it diverges, where a function raises or gives NaN, or, if asked, at a joint
    limit: the result has what came before, a status and a reason.

    Args:
        robot: The arm.
        q0: Initial positions (n,), rad or m.
        v0: Initial velocities (n,), rad/s or m/s.
        effort: Constant efforts (n,); a function (t, q, v) -> efforts, or (t, q, v, p) with
            `parameters`; a `PDControl`; a `Plan`, whose efforts are played back, held for a
            `step` where they change smoothly; or an `EffortLaw` such as `Schedule`. Saturated at
            the effort limits, see `Trajectory.saturated`; an `EffortLaw` of your own keeps them
            itself. Functions are compiled by numba or, if it cannot, run in Python: slowly, and
            with the method ``rk4`` alone.
        duration: s.
        step: Integration step, s, without tolerances.
        sample_period: Time between samples, s, on which steps end. Default: the step; a
            hundredth of the duration with tolerances and with Adams methods (they restart there).
        method: Name in `md.METHODS`.
        rtol: Relative tolerance, for methods with an error estimate; 0 with `atol` 0: fixed step.
        atol: Absolute tolerance, rad or m (and per s); 0 beside an rtol: the same number.
        taylor_order: Order of the method ``taylor``; 0: what the tolerances ask for.
        stop_at_limits: Whether to end where a joint reaches a position limit: the last sample is
            that time, and `success` is false. Otherwise joints pass their limits.
        parameters: (k,), of a function (t, q, v, p).

    Raises:
        ManipDynError: If an argument is wrong, or a function cannot be used at all: it uses an
            index out of range, returns another number of efforts, or raises at the start where
            numba cannot compile it.
    """
    integrator = Integrator(method, step, rtol, atol, taylor_order, stop_at_limits)
    simulation = Simulation(robot, q0, v0, integrator)
    simulation.law = _as_law(simulation, effort, step, parameters)
    end = nanoseconds("duration", duration)
    if sample_period is None:
        sample_period = _sample_period(integrator, duration)
    period = nanoseconds("sample_period", sample_period)
    rows = [_begun(simulation)]
    status, reason = Status.SUCCESS, "the duration is over"
    while simulation.time_ns < end and status is Status.SUCCESS:
        try:
            simulation.advance(min(period, end - simulation.time_ns))
        except DivergenceError as error:
            status, reason = error.status, str(error)
            break
        except JointLimitError as error:
            status, reason = Status.EVENT, str(error)
        rows.append(_sample(simulation))
    t, q, v, tau, energy = (np.array(column) for column in zip(*rows, strict=True))
    wanted = getattr(simulation.law, "cut_off", robot.tau_max > 0.0)
    saturated = wanted & (np.abs(tau) >= robot.tau_max)
    return Trajectory(t, q, v, tau, energy, status, reason, simulation.statistics, saturated)


def _sample_period(integrator: Integrator, duration: float) -> float:
    if integrator.adaptive:
        return max(duration / 100, 1e-9)
    every = round(duration / (100 * integrator.step))
    return integrator.step * (max(every, 1) if isinstance(integrator.found, Adams) else 1)


def _as_law(simulation: Simulation, effort: Any, step: float, parameters: Any) -> EffortLaw:
    robot, laws = simulation.robot, (Schedule, Planned)
    if isinstance(effort, (list, tuple)) and any(isinstance(each, laws) for each in effort):
        raise ManipDynError(
            f"effort is a list of {len(effort)} laws; expected one for a single motion, or "
            "simulate_many"
        )
    function = callable(effort) and not isinstance(effort, EffortLaw)
    if parameters is not None and not function:
        raise ManipDynError("parameters are given, but effort is no function that takes them")
    if isinstance(effort, EffortLaw):
        return effort
    if isinstance(effort, PDControl):
        return PDLaw(simulation.kernels, effort, step)
    if isinstance(effort, Planned):
        return schedule_of(robot, effort, step)
    if function:
        return Feedback(robot, effort, parameters=parameters)
    return held(robot, effort)


def _begun(simulation: Simulation) -> tuple:
    """Return the first sample, with the law compiled; refuse one that cannot be used."""
    law = simulation.law
    if not isinstance(law, Feedback):
        return _sample(simulation)
    if law.efforts is None and law.compilable:
        plain = getattr(law.function, "py_func", law.function)
        start = law.arguments(0.0, simulation.q, simulation.v)
        check_size(plain, start, simulation.robot.n)
    simulation.motion(law)
    if law.efforts is None:
        return _state(simulation, simulation.effort)
    return _sample(simulation)


def _sample(simulation: Simulation) -> tuple:
    """Return time, state, efforts, NaN where the law has none, and energies."""
    try:
        return _state(simulation, simulation.effort)
    except LawError:
        return _state(simulation, np.full(simulation.robot.n, np.nan))


def _state(simulation: Simulation, effort: Vector) -> tuple:
    q, v = simulation.q, simulation.v
    return simulation.time_ns * 1e-9, q, v, effort, simulation.energy()

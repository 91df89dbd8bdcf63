"""`simulate`: compute a sampled `Trajectory` from an initial state and an effort law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.collision import JointCurve, sampled_curve
from manip_dyn.core.checks import Matrix, Vector, nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result, Statistics, data_frame
from manip_dyn.integration import Method, Status, StepControl
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import (
    EffortLaw,
    Planned,
    Schedule,
    held,
    schedule_of,
    unpowered,
)
from manip_dyn.simulation.function_law import Feedback, check_size
from manip_dyn.simulation.integrator import Integrator, checked_order
from manip_dyn.simulation.pd_control import PDControl, PDLaw
from manip_dyn.simulation.simulation import Simulation


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """A simulated motion with m samples.

    Attributes:
        t: Times (m,), s.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), rad/s or m/s.
        tau: Efforts (m, n) that act after each sample, N m or N.
        energy: Kinetic energy, potential energy, work and balance residual (m, 4), J.
        status: Status of the simulation; EVENT if a joint reached its limit with `stop_at_limits`.
        reason: The status as a sentence.
        statistics: Steps, failures and evaluations of the dynamics.
        saturated: Flags (m, n) of efforts at their limit. In a `Schedule`, only joints with
            clipped efforts count. Empty if unknown.
    """

    t: Vector
    q: Matrix
    v: Matrix
    tau: Matrix
    energy: Matrix
    status: Status
    reason: str
    statistics: Statistics
    saturated: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    @property
    def success(self) -> bool:
        """Whether the whole duration was simulated."""
        return self.status is Status.SUCCESS

    def to_dataframe(self, robot: Robot | None = None) -> Any:
        """Return a pandas DataFrame with a row per sample.

        The columns are ``t`` and ``position_JOINT``, ``velocity_JOINT`` and ``effort_JOINT``, with
        the joint names of `robot`, or indices without a robot. Requires the extra ``pandas``.
        """
        joints = range(self.q.shape[1]) if robot is None else robot.joint_names
        return data_frame(self.t, joints, position=self.q, velocity=self.v, effort=self.tau)

    def joint_curve(self) -> JointCurve:
        """Return the curve through the samples, for collision checks; see `sampled_curve`."""
        return sampled_curve(self.t, self.q, self.v)


def simulate(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    effort: ArrayLike | EffortLaw | PDControl | Planned | Callable[..., Vector] | None = None,
    duration: float = 1.0,
    step: float = 1e-3,
    sample_period: float | None = None,
    *,
    method: str | Method = "rk4",
    rtol: float = 0.0,
    atol: float = 0.0,
    order: int | None = None,
    control: StepControl | None = None,
    stop_at_limits: bool = False,
    parameters: ArrayLike | None = None,
    taylor_order: int | None = None,
) -> Trajectory:
    """Simulate an arm from an initial state under given efforts.

    The motion ends early if the integration fails, if an effort function raises an exception or
    returns NaN, or if a joint reaches a limit and `stop_at_limits` is set. The result then has the
    samples up to that time, a status and a reason.

    Args:
        robot: The arm.
        q0: Initial positions (n,), rad or m.
        v0: Initial velocities (n,), rad/s or m/s.
        effort: Constant efforts (n,); a function (t, q, v) -> efforts, or (t, q, v, p) with
            `parameters`; a `PDControl`; a `Plan`, whose efforts are played back and held for one
            `step` where they change smoothly; or an `EffortLaw` such as `Schedule`. Efforts are
            saturated at the effort limits, see `Trajectory.saturated`, except those of a custom
            `EffortLaw`. Functions are compiled by numba. They are also called in Python before
            the motion, to check the number of efforts and, with tolerances, to find conditions on
            time. If numba cannot compile a function, it runs in Python: slowly, and only with the
            method ``rk4`` with a fixed step, without `control` and `stop_at_limits`. Default: zero
            efforts.
        duration: Duration of the motion, s.
        step: Fixed integration step, s. With tolerances, only the time for which the efforts of
            smooth plans are held.
        sample_period: Time between samples, s; steps end at the samples. Default: `step`, or 1 %
            of the duration with tolerances and with Adams methods, which restart at samples.
        method: Name in `md.METHODS`, or a `Method`.
        rtol: Relative tolerance, for methods with an error estimate. Fixed steps if `rtol` and
            `atol` are both 0.
        atol: Absolute tolerance: rad or m for positions, rad/s or m/s for velocities. 0 stands for
            `rtol`.
        order: Order of the method ``taylor``. Default: determined by the tolerances.
        control: Step control.
        stop_at_limits: Whether to end when a joint reaches a position limit. The last sample is
            then at that time, and `success` is False. Otherwise joints may exceed their limits.
        parameters: Parameters p (k,) of a function (t, q, v, p).
        taylor_order: Deprecated name of `order`.

    Raises:
        ManipDynError: If an argument is invalid, or if a function cannot be used at all: an index
            is out of range, the number of efforts is wrong, or numba cannot compile the function
            and it raises an exception at the start.
    """
    order = checked_order(order, taylor_order)
    integrator = Integrator(method, step, rtol, atol, order, stop_at_limits, control)
    simulation = Simulation(robot, q0, v0, integrator)
    simulation.law = _as_law(simulation, effort, step, parameters)
    end = nanoseconds("duration", duration)
    if sample_period is None:
        sample_period = _sample_period(integrator, duration)
    period = nanoseconds("sample_period", sample_period)
    _compile(simulation, duration)
    samples, failure = simulation.record(end, period)
    status, reason = Status.SUCCESS, "the whole duration was simulated"
    if failure:
        status, reason = getattr(failure, "status", Status.EVENT), str(failure)
    t, tau, n = 1e-9 * samples.times_ns, samples.tau, robot.n
    q, v = samples.states[:, :n].copy(), samples.states[:, n : 2 * n].copy()
    energy = simulation.energy_columns(samples)
    exceeds = getattr(simulation.law, "cut_off", robot.tau_max > 0.0)
    saturated = exceeds & (np.abs(tau) >= robot.tau_max)
    return Trajectory(t, q, v, tau, energy, status, reason, simulation.statistics, saturated)


def _sample_period(integrator: Integrator, duration: float) -> float:
    if integrator.adaptive:
        return max(duration / 100, 1e-9)
    every = round(duration / (100 * integrator.step))
    return integrator.step * (max(every, 1) if integrator.solver.multistep else 1)


def _as_law(simulation: Simulation, effort: Any, step: float, parameters: Any) -> EffortLaw:
    robot, laws = simulation.robot, (Schedule, Planned)
    if isinstance(effort, (list, tuple)) and any(isinstance(law, laws) for law in effort):
        raise ManipDynError(
            f"effort must be one law for a single motion, got a list of {len(effort)}. Use "
            "simulate_many for several motions."
        )
    is_law = hasattr(effort, "effort") and hasattr(effort, "next_switch")  # of `EffortLaw`
    function = callable(effort) and not is_law
    if parameters is not None and not function:
        raise ManipDynError(
            "parameters must be None unless effort is a function (t, q, v, p), got "
            f"effort of type {type(effort).__name__}."
        )
    if is_law:
        return effort
    if isinstance(effort, PDControl):
        return PDLaw(simulation.kernels, effort, step)
    if function:
        return Feedback(robot, effort, parameters=parameters)
    if not isinstance(effort, np.ndarray) and isinstance(effort, Planned):
        return schedule_of(robot, effort, step)
    return unpowered(robot) if effort is None else held(robot, effort)


def _compile(simulation: Simulation, duration: float) -> None:
    """Compile a law that depends on the state; raise an error if it cannot be used.

    If steps are inspected, the switches of the law up to `duration` (s) are also found.
    """
    law = simulation.law
    if not isinstance(law, Feedback):
        return
    if law.efforts is None and law.compilable:
        plain = getattr(law.function, "py_func", law.function)
        start = law.arguments(0.0, simulation.q, simulation.v)
        check_size(plain, start, simulation.robot.n)
    if simulation.propagator(law).is_inspected:
        law.find_switches(duration, simulation.q, simulation.v)

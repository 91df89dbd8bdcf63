"""A robot's motion under one effort law, compiled with an integrator into one loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.friction import CREEP
from manip_dyn.core.specialized import specialized
from manip_dyn.integrate import Engine, Jacobian, Options, Status, compile_engine, rk4_step
from manip_dyn.integrate.functions import jitted
from manip_dyn.simulation import feedback, friction, rubbed, saturated
from manip_dyn.simulation.effort_laws import Feedback
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.joint_limits import JointLimits, joint_limits


class Propagator:
    """Moves the state (q, v, work), (2 n + 1,), in place.

    Attributes:
        steps: Steps so far.
        failures: Steps that the error control threw away.
        evaluations: Evaluations of the dynamics; of the whole series for Taylor's method.
        status: How the last run ended.
        met: Which joint limit ended it; empty if none did.
    """

    steps = failures = evaluations = 0
    status = Status.SUCCESS
    met = ""

    def run(self, begin: float, end: float, y: Vector, effort: Vector | None) -> float:
        """Move `y` from `begin` to `end`, s, and return the time reached.

        Args:
            begin: Time at the start.
            end: Time to reach; earlier where something went wrong, see `status`.
            y: The state, changed.
            effort: The constant efforts (n,), or None if the law itself is in the loop.
        """
        raise NotImplementedError


class CompiledPropagator(Propagator):
    """The whole loop over the steps in compiled code."""

    def __init__(
        self,
        kernels: Kernels,
        integrator: Integrator,
        rhs: Any,
        parameters: Any,
        jacobian: Jacobian | None,
    ):
        """Compile the loop over `rhs` with its `parameters`; None if each run has its own.

        An implicit integrator takes the derivatives of `rhs`, `jacobian`.
        """
        self._limits = joint_limits(kernels.robot) if integrator.stop_at_limits else None
        engine = _engine(rhs, kernels, integrator, self._limits, jacobian)
        self._run = engine.run
        self._parameters = parameters
        self._space = engine.space(
            step=0.0 if integrator.adaptive else integrator.step,
            rtol=integrator.tolerances[0],
            atol=integrator.tolerances[1],
            orders=integrator.orders,
            **(self._limits.events.settings if self._limits else {}),
        )

    def run(self, begin: float, end: float, y: Vector, effort: Vector | None) -> float:
        """Move `y` to `end`."""
        parameters = self._parameters if effort is None else effort
        self.status = Status(self._run(begin, end, parameters, y, self._space))
        now = self._space.state
        self.steps += int(now.steps)
        self.failures += int(now.failures)
        self.evaluations += int(now.evaluations)
        event = self.status is Status.EVENT
        self.met = self._limits.reached(y) if self._limits and event else ""
        return float(now.t)


class RubbingPropagator(CompiledPropagator):
    """Constant efforts beside Coulomb friction, which depends on the velocity."""

    def run(self, begin: float, end: float, y: Vector, effort: Vector | None) -> float:
        """Move `y` to `end`."""
        self._parameters[0][:] = effort
        return super().run(begin, end, y, None)


class InterpretedPropagator(Propagator):
    """RK4 in Python, for effort laws that numba cannot compile."""

    def __init__(self, kernels: Kernels, law: Feedback, step: float):
        """Take the law and the step, s."""
        self._motion = kernels.unchecked.motion_and_work
        self._friction = kernels.robot.coulomb_friction
        self._law, self._step, self._n = law, step, kernels.robot.n

    def run(self, begin: float, end: float, y: Vector, effort: Vector | None) -> float:
        """Move `y` to `end`."""
        t, self.status = begin, Status.SUCCESS
        while end - t > 1e-9 * self._step:
            h = min(self._step, end - t)
            with np.errstate(over="ignore", invalid="ignore"):
                new = rk4_step(self._rate, t, y, h)
            if not np.all(np.isfinite(new)):
                self.status = Status.NON_FINITE
                return t
            y[:], t = new, t + h
            self.steps += 1
            self.evaluations += 4
        return end

    def _rate(self, t: float, y: Vector) -> Vector:
        n = self._n
        effort = self._law.effort(round(t * 1e9), y[:n], y[n : 2 * n])
        return self._motion(y, effort - self._friction * np.tanh(y[n : 2 * n] / CREEP))


def constant_propagator(kernels: Kernels, integrator: Integrator) -> Propagator:
    """Return the motion under efforts that stay constant in each run."""
    if np.any(kernels.robot.coulomb_friction):
        return _rubbing_propagator(kernels, integrator)
    taylor = integrator.method == "taylor"
    rhs = kernels.series_with_work.of_state if taylor else kernels.right_hand_side_with_work
    jacobian = None
    if integrator.implicit:
        jacobian = Jacobian(kernels.linearization_with_work, kernels.robot.n, mass=True)
    return CompiledPropagator(kernels, integrator, rhs, None, jacobian)


def _rubbing_propagator(kernels: Kernels, integrator: Integrator) -> Propagator:
    refuse_series(integrator, "Coulomb friction")
    n, jacobian = kernels.robot.n, None
    bound = {"motion": kernels.in_place.motion_and_work, "N": n}
    if integrator.implicit:
        bound["linear_motion"] = kernels.linearization_with_work
    module: Any = specialized(friction, **bound)
    if integrator.implicit:
        jacobian = Jacobian(module.derivatives, n, mass=True)
    parameters = np.zeros(n), np.array(kernels.robot.coulomb_friction), np.zeros(n)
    return RubbingPropagator(kernels, integrator, module.rates, parameters, jacobian)


def weightless_propagator(kernels: Kernels, integrator: Integrator) -> Propagator:
    """Return the motion under the efforts that hold the arm's weight."""
    refuse_series(integrator, "gravity compensation")
    hold = specialized(
        saturated, inverse_dynamics=kernels.in_place.inverse_dynamics, N=kernels.robot.n
    ).of_weight
    return _state_dependent(kernels, integrator, hold)


def feedback_propagator(kernels: Kernels, integrator: Integrator, law: Feedback) -> Propagator:
    """Return the motion under a feedback law: compiled, or RK4 in Python if numba cannot."""
    refuse_series(integrator, "a feedback law")
    n = kernels.robot.n
    efforts = specialized(saturated, law=jitted(law.function), N=n).of_law
    try:
        efforts(0.0, np.zeros(2 * n + 1), _parameters(kernels), np.zeros(n))
    except NumbaError as error:
        if integrator.method != "rk4" or integrator.adaptive or integrator.stop_at_limits:
            raise ManipDynError(
                f"the effort law cannot be compiled by numba, as method '{integrator.method}' "
                f"needs: {str(error).strip().splitlines()[0]}; expected numpy functions of t, q "
                "and v, or method 'rk4' with a fixed step and stop_at_limits false"
            ) from error
        return InterpretedPropagator(kernels, law, integrator.step)
    return _state_dependent(kernels, integrator, efforts)


def _state_dependent(kernels: Kernels, integrator: Integrator, efforts: Any) -> Propagator:
    """Return the motion under compiled ``efforts(t, y, p, tau)``."""
    n, jacobian = kernels.robot.n, None
    if np.any(kernels.robot.coulomb_friction):
        rubbing = np.array(kernels.robot.coulomb_friction)
        efforts = specialized(rubbed, efforts=efforts, FRICTION=rubbing).of_both
    bound = {"efforts": efforts, "motion": kernels.in_place.motion_and_work, "N": n}
    if integrator.implicit:
        bound["linear_motion"] = kernels.linearization_with_work
    module: Any = specialized(feedback, **bound)
    if integrator.implicit:
        jacobian = Jacobian(module.derivatives, n, mass=True)
    return CompiledPropagator(kernels, integrator, module.rates, _parameters(kernels), jacobian)


def _parameters(kernels: Kernels) -> tuple[Vector, ...]:
    """Return the effort limits (n,) and three scratch arrays (n,), see `saturated`."""
    limits = np.array(kernels.robot.tau_max)
    return limits, np.zeros_like(limits), np.zeros_like(limits), np.zeros_like(limits)


def _engine(
    rhs: Any,
    kernels: Kernels,
    integrator: Integrator,
    limits: JointLimits | None,
    jacobian: Jacobian | None,
) -> Engine:
    linear = jacobian or Jacobian()
    options = Options(
        size=2 * kernels.robot.n + 1,
        adaptive=integrator.adaptive,
        events=limits.events.count if limits else 0,
        positions=linear.positions,
        jacobian=jacobian is not None,
        mass=linear.mass,
    )
    width = kernels.series_with_work.width if integrator.method == "taylor" else 0
    signal = limits.events.function if limits else None
    return compile_engine(
        rhs, integrator.found, options, signal, scratch=width, jacobian=linear.function
    )


def refuse_series(integrator: Integrator, law: str) -> None:
    """Refuse Taylor series for efforts that depend on the state."""
    if integrator.method == "taylor":
        raise ManipDynError(
            f"method 'taylor' cannot follow {law}; expected piecewise constant efforts, or a "
            "method such as rkdp87"
        )

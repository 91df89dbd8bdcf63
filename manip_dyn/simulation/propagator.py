"""Propagators: a robot, an effort law and an integrator compiled into one loop.

The module of dry friction is imported only for robots with dry friction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError

from manip_dyn.codegen import Kernels
from manip_dyn.core.arrays import VECTOR
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import PLAIN, STOCK, inlined
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.fingerprint import digest_of
from manip_dyn.core.linking import instantiate
from manip_dyn.core.results import Statistics
from manip_dyn.integration import (
    METHODS,
    Engine,
    Events,
    Jacobian,
    Options,
    Status,
    StepControl,
    compile_engine,
    rk4_step,
)
from manip_dyn.integration.user_functions import COMPILING, jitted, not_compilable
from manip_dyn.simulation import feedback
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, no_pieces
from manip_dyn.simulation.function_law import Feedback, LawError, law_parameters, with_parameters
from manip_dyn.simulation.integrator import Integrator, limits_of
from manip_dyn.simulation.pd_control import PDLaw
from manip_dyn.simulation.sampling import Recorder, Samples

if TYPE_CHECKING:
    from manip_dyn.simulation.dry_friction import StickSlip


RECORDABLE = Schedule, Feedback, PDLaw
"""Effort laws that `CompiledPropagator.record` supports, without their subclasses."""
CELL = 5e-3
"""Length of the intervals at which steps under an effort law are inspected, s."""
EXPECTED = "numpy functions of t, q and v"
MAX_TRANSITIONS = 100_000
"""Maximum number of transitions between sliding and sticking in one run."""


class Propagator:
    """Advances the state (2 n + 1,), which consists of q, v and the work, in place.

    Attributes:
        steps: Accepted steps, see `statistics`.
        failures: Rejected steps.
        evaluations: Evaluations of the dynamics; for Taylor series, of the whole series.
        status: Status of the last run.
        reached: End time of the last run, s.
        limit: The joint limit that ended the last run, or an empty string.
        failure: The error of the effort law that ended the last run, or an empty string.
        law: The user's effort law, or None.
        is_inspected: Whether steps are inspected for short forces.
    """

    steps = failures = evaluations = _before = 0
    status, reached = Status.SUCCESS, 0.0
    limit = failure = ""
    law: Feedback | None = None
    is_inspected = False

    @property
    def statistics(self) -> Statistics:
        """Counts since construction or `reset_statistics`."""
        return Statistics(self.steps, self.failures, self.evaluations)

    def reset_statistics(self) -> None:
        """Set all counts to 0."""
        self.steps = self.failures = self.evaluations = self._before = 0

    @property
    def taken(self) -> int:
        """Number of accepted and rejected steps of the present motion."""
        return self.steps + self.failures - self._before

    def begin_motion(self) -> None:
        """Begin a new motion, to which the maximum number of steps applies; keep the counts."""
        self._before = self.steps + self.failures

    def run(self, begin: float, end: float, y: Vector, effort: Vector | None) -> float:
        """Advance `y` from `begin` towards `end`, set `status`, and return the time reached, s.

        Args:
            begin: Start, s.
            end: End, s.
            y: State, changed in place.
            effort: Constant efforts (n,), or None if the law is compiled into the loop.
        """
        self.reached = begin
        self._attempt(lambda: self._go(begin, end, y, effort))
        return self.reached

    def _attempt(self, advance: Callable[[], None]) -> None:
        """Call a function that advances the motion and sets `status`; catch errors of the law."""
        self.status, self.limit, self.failure = Status.SUCCESS, "", ""
        try:
            advance()
        except LawError as error:
            self.status, self.failure = Status.NON_FINITE, str(error)
        except Exception as error:
            if self.law is None or isinstance(error, (ManipDynError, NumbaError)):
                raise
            self.status, self.failure = Status.NON_FINITE, str(self.law.failed(error))

    def _go(self, begin: float, end: float, y: Vector, effort: Vector | None) -> None:
        """Advance `y` and `reached` together, even if the law raises."""
        raise NotImplementedError

    def is_recordable(self, law: EffortLaw) -> bool:
        """Return whether `record` supports a law."""
        return False

    def record(
        self, law: Any, y: Vector, begin: int, end: int, period: int
    ) -> tuple[Samples, int]:
        """Advance `y` and set `status`, see `Recorder.run`.

        Returns:
            The samples, and the time reached, ns.
        """
        raise NotImplementedError


class CompiledPropagator(Propagator):
    """Propagator with a compiled loop over the steps."""

    def __init__(
        self,
        kernels: Kernels,
        integrator: Integrator,
        rhs: Any,
        parameters: Any,
        jacobian: Jacobian | None,
        events: Events | None = None,
        efforts: Any = None,
        inspected: bool = False,
    ):
        """Compile the loop.

        Args:
            kernels: Kernels of the arm.
            integrator: Method and step size.
            rhs: Compiled right-hand side.
            parameters: Parameters of `rhs`; None to pass them to each run.
            jacobian: Derivatives of `rhs` for implicit methods.
            events: Events of the loop. Default: the joint limits, if they end the motion.
            efforts: Compiled efforts of `rhs`; None for constant efforts.
            inspected: Whether all adaptive steps are inspected for short forces.
        """
        self._robot, self.efforts = kernels.robot, efforts
        self._limits = limits_of(kernels.robot, integrator)
        events = events or (self._limits.events if self._limits else None)
        engine = _engine(rhs, kernels, integrator, events, jacobian, inspected)
        self._engine, self.is_inspected = engine, engine.options.inspected
        self._parameters = parameters
        self._most_steps = integrator.control.max_steps if integrator.control else inf
        self._space = engine.space(
            step=0.0 if integrator.adaptive else integrator.step,
            rtol=integrator.tolerances[0],
            atol=integrator.tolerances[1],
            orders=integrator.orders,
            **_limits_of_steps(integrator.control),
            **(events.settings if events else {}),
        )

    def _go(self, begin: float, end: float, y: Vector, effort: Vector | None) -> None:
        parameters = self._parameters if effort is None else effort
        if self._most_steps < inf:
            self._space.rules["max_steps"] = self._most_steps - self.taken
        # `Engine.go` calls `time_loop.advance`, linked with the method and the right-hand side.
        try:
            self.status = Status(self._engine.go(begin, end, parameters, y, self._space))
        finally:
            now = self._space.clock[0]  # faster than `state`
            self.steps += int(now["steps"])
            self.failures += int(now["failures"])
            self.evaluations += int(now["evaluations"])
            self.reached = float(now["t"])
        self._set_limit(y)

    def _set_limit(self, y: Vector) -> None:
        event = self.status is Status.EVENT
        self.limit = self._limits.reached(y) if self._limits and event else ""

    def is_recordable(self, law: EffortLaw) -> bool:
        """Return whether `record` supports a law."""
        return not STOCK and type(self) is CompiledPropagator and type(law) in RECORDABLE

    def record(
        self, law: Any, y: Vector, begin: int, end: int, period: int
    ) -> tuple[Samples, int]:
        """Advance `y` and record samples with the compiled loop."""
        has_pieces = isinstance(law, (Schedule, PDLaw))
        pieces = law.pieces() if has_pieces else no_pieces(self._robot.n, law.switches_ns)
        parameters = pieces.current if self.efforts is None else self._parameters
        robot, engine, space = self._robot, self._engine, self._space
        limit = self._most_steps - self.taken
        recorder = Recorder(robot, engine, space, parameters, self.efforts, pieces, limit)
        self._attempt(lambda: recorder.run(y, begin, end, period))
        if not self.failure:
            self.status = recorder.status
        statistics = recorder.statistics
        self.steps += statistics.steps
        self.failures += statistics.failures
        self.evaluations += statistics.evaluations
        self._set_limit(y)
        return recorder.samples, recorder.now_ns


class FrictionPropagator(CompiledPropagator):
    """Compiled propagator with dry friction, interrupted at transitions between slip and stick."""

    def __init__(
        self, kernels: Kernels, integrator: Integrator, sliding: StickSlip, inspected: bool = False
    ):
        """Compile the loop over the motion of `sliding`."""
        jacobian = None
        if integrator.implicit:
            jacobian = Jacobian(sliding.derivative_function, kernels.robot.n, mass=True)
        parameters, events = sliding.parameters, sliding.events
        rates = sliding.rate_function
        super().__init__(
            kernels, integrator, rates, parameters, jacobian, events, inspected=inspected
        )
        self._sliding = sliding

    def _go(self, begin: float, end: float, y: Vector, effort: Vector | None) -> None:
        if effort is not None:
            self._sliding.efforts[:] = effort
        distances = self._distances(y)
        for _ in range(MAX_TRANSITIONS):
            self._sliding.settle(self.reached, y)
            super()._go(self.reached, end, y, None)
            now = self._distances(y)
            at_limit = bool(np.any((distances > 0.0) & (now <= 0.0)))
            if self.status is not Status.EVENT or at_limit:
                return
            self.limit, distances = "", now
            self._sliding.stop(self.reached, y)
        self.status = Status.TOO_MANY_STEPS

    def _distances(self, y: Vector) -> Vector:
        return np.empty(0) if self._limits is None else self._limits.distances(y)


class InterpretedPropagator(Propagator):
    """Propagator with RK4 in Python, for effort laws that numba cannot compile."""

    def __init__(self, kernels: Kernels, law: Feedback, step: float):
        """Set the law and the step size, s."""
        self._motion = kernels.unchecked.motion_and_work
        self._law, self._step, self._n = law, step, kernels.robot.n

    def _go(self, begin: float, end: float, y: Vector, effort: Vector | None) -> None:
        while end - self.reached > 1e-9 * self._step:
            h = min(self._step, end - self.reached)
            with np.errstate(over="ignore", invalid="ignore"):
                new, h = self._stepped(self.reached, y, h)
            if not np.all(np.isfinite(new)):
                self.status = Status.NON_FINITE
                return
            y[:], self.reached = new, self.reached + h
            self.steps += 1
            self.evaluations += 4
        self.reached = end

    def _stepped(self, t: float, y: Vector, h: float) -> tuple[Vector, float]:
        """Take a step of at most `h` (s); return the new state and the step length (s)."""
        return rk4_step(self._rate, t, y, h), h

    def _rate(self, t: float, y: Vector) -> Vector:
        return self._motion(y, self._effort(t, y))

    def _effort(self, t: float, y: Vector) -> Vector:
        n = self._n
        return self._law.effort(round(t * 1e9), y[:n], y[n : 2 * n])


class InterpretedFrictionPropagator(InterpretedPropagator):
    """RK4 in Python with dry friction; steps end when a joint starts to slide or to stick."""

    def __init__(self, kernels: Kernels, law: Feedback, step: float, sliding: StickSlip):
        """Set the law, the step size, s, and the friction."""
        super().__init__(kernels, law, step)
        self._sliding = sliding

    def _stepped(self, t: float, y: Vector, h: float) -> tuple[Vector, float]:
        self._sliding.efforts[:] = self._effort(t, y)
        self._sliding.settle(t, y)
        new, before = rk4_step(self._rate, t, y, h), 0.0
        if not self._passed(t + h, new):
            return new, h
        while h - before > 1e-12 + 1e-15 * abs(t):
            middle = 0.5 * (before + h)
            if self._passed(t + middle, rk4_step(self._rate, t, y, middle)):
                h = middle
            else:
                before = middle
        new = rk4_step(self._rate, t, y, h)
        self._passed(t + h, new)
        self._sliding.stop(t + h, new)
        return new, h

    def _passed(self, t: float, y: Vector) -> bool:
        self._sliding.efforts[:] = self._effort(t, y)
        return bool(np.any(self._sliding.signals(t, y) <= 0.0))

    def _rate(self, t: float, y: Vector) -> Vector:
        self._sliding.efforts[:] = self._effort(t, y)
        return self._sliding.rates(t, y)


def constant_propagator(kernels: Kernels, integrator: Integrator) -> Propagator:
    """Return the propagator for efforts that are constant during each run.

    The loop contains the dynamics of the arm and is linked for each arm. Linking takes 0.1 s of
    CPU time for rk4, 0.5 s for rkdp87 and 0.65 s for rodas5p. A shared loop that calls the
    dynamics by address would make simulations of a PA-10 1 to 3 % slower, and 3.5 % with periods
    of 1 ms.
    """
    if kernels.robot.has_dry_friction:
        check_series(integrator, "Coulomb friction")
        return FrictionPropagator(kernels, integrator, _stick_slip(kernels, integrator))
    series = integrator.series
    rhs = kernels.series_with_work.of_state if series else kernels.right_hand_side_with_work
    jacobian = None
    if integrator.implicit:
        jacobian = Jacobian(kernels.linearization_with_work, kernels.robot.n, mass=True)
    return CompiledPropagator(kernels, integrator, rhs, None, jacobian)


def _stick_slip(
    kernels: Kernels, integrator: Integrator, efforts: Any = None, law: Any = None
) -> StickSlip:
    """Return the motion with friction under compiled `efforts`; None for constant efforts."""
    from manip_dyn.simulation.dry_friction import StickSlip  # only for robots with friction

    limits = limits_of(kernels.robot, integrator)
    ends = limits.events if limits else None
    return StickSlip(kernels, efforts, ends, integrator.implicit, law)


def weightless_propagator(kernels: Kernels, integrator: Integrator) -> Propagator:
    """Return the propagator for gravity compensation."""
    check_series(integrator, "gravity compensation")
    bound = {
        feedback.joints: kernels.robot.n,
        feedback.inverse_dynamics: kernels.in_place.inverse_dynamics,
    }
    hold = instantiate(feedback.of_weight, bound)
    return _state_dependent(kernels, integrator, hold, law_parameters(kernels.robot))


def pd_propagator(kernels: Kernels, integrator: Integrator, law: PDLaw) -> Propagator:
    """Return the propagator for a `PDControl`."""
    check_series(integrator, "a feedback law")
    return _state_dependent(kernels, integrator, law.efforts, law.arrays)


def feedback_propagator(kernels: Kernels, integrator: Integrator, law: Feedback) -> Propagator:
    """Return the propagator for a feedback law: compiled, or RK4 in Python as a fallback.

    Raises:
        ManipDynError: If the integrator is a Taylor series, or if numba cannot compile the law and
            the integrator is not RK4 with a fixed step, without `stop_at_limits` and `control`.
    """
    from manip_dyn.integration.code_analysis import is_smooth  # only for functions of the user

    check_series(integrator, "a feedback law")
    try:
        law.efforts, law.arrays = _compiled(kernels, law)
    except COMPILING as error:
        if not _is_simple(integrator):
            raise ManipDynError(
                f"{_not_compiled(kernels.robot.n, law, error)} Or use method 'rk4' with a fixed "
                f"step, stop_at_limits False and control None, got '{integrator.solver.name}'."
            ) from error
        if kernels.robot.has_dry_friction:
            sliding = _stick_slip(kernels, integrator)
            return InterpretedFrictionPropagator(kernels, law, integrator.step, sliding)
        return InterpretedPropagator(kernels, law, integrator.step)
    control = integrator.control or StepControl()
    inspected = control.inspection == "all" or not is_smooth(law.function)
    motion = _state_dependent(kernels, integrator, law.efforts, law.arrays, inspected)
    motion.law = law
    return motion


def _is_simple(integrator: Integrator) -> bool:
    """Return whether an integrator also runs in Python.

    This is RK4 with fixed steps, without joint limits and step control.
    """
    options = integrator.adaptive, integrator.stop_at_limits, integrator.control is not None
    return integrator.solver is METHODS["rk4"] and not any(options)


def _compiled(kernels: Kernels, law: Feedback) -> tuple[Any, tuple[Any, ...]]:
    """Return a law's compiled ``efforts(t, y, p, tau)`` and its parameters."""
    if not law.compilable:
        raise TypeError(f"the effort law is a {type(law.function).__name__}")
    digest, has_parameters = digest_of(law.function), law.parameters is not None
    compile_law = _efforts_of if digest else _efforts_of.__wrapped__
    efforts = compile_law(law.function, digest, kernels.robot.n, has_parameters)
    return efforts, law_parameters(kernels.robot, law.parameters)


@lru_cache(maxsize=64)
def _efforts_of(law: Any, digest: str, n: int, has_parameters: bool) -> Any:
    """Return the compiled efforts of a law of n joints.

    The `digest` covers the values that the function refers to, which are compiled in.
    """
    function = with_parameters(jitted(law), has_parameters)

    @inlined
    def write(t, q, v, p, tau):
        wanted = function(t, q, v, p)
        for i in range(n):
            tau[i] = wanted[i]

    efforts = instantiate(feedback.of_law, {feedback.joints: n, feedback.law: write})
    if not PLAIN:
        parameters = types.UniTuple(VECTOR, 5)
        efforts.compile((types.float64, VECTOR, parameters, VECTOR))
    return efforts


def _not_compiled(n: int, law: Feedback, error: Exception) -> str:
    """Return a sentence that explains why a law runs in Python."""
    if not law.compilable:
        return f"{error}, which runs in Python. Use a function of t, q and v."
    state = law.arguments(0.0, np.zeros(n), np.zeros(n))
    return str(not_compilable("the effort law", law.function, error, EXPECTED, state))


def _state_dependent(
    kernels: Kernels,
    integrator: Integrator,
    efforts: Any,
    parameters: Any,
    inspected: bool = False,
) -> Propagator:
    """Return the propagator for compiled ``efforts(t, y, p, tau)``, see `CompiledPropagator`."""
    if kernels.robot.has_dry_friction:
        sliding = _stick_slip(kernels, integrator, efforts, parameters)
        return FrictionPropagator(kernels, integrator, sliding, inspected)
    n, jacobian = kernels.robot.n, None
    rates = feedback.rates_of(efforts, kernels.in_place.motion_and_work)
    if integrator.implicit:
        bound = {
            feedback.joints: n,
            feedback.efforts: efforts,
            feedback.linear_motion: kernels.linearization_with_work,
        }
        jacobian = Jacobian(instantiate(feedback.derivatives, bound), n, mass=True)
    return CompiledPropagator(
        kernels, integrator, rates, parameters, jacobian, efforts=efforts, inspected=inspected
    )


def _engine(
    rhs: Any,
    kernels: Kernels,
    integrator: Integrator,
    events: Events | None,
    jacobian: Jacobian | None,
    inspected: bool,
) -> Engine:
    """Return the engine of a right-hand side, see `CompiledPropagator`."""
    linear, control = jacobian or Jacobian(), integrator.control or StepControl()
    options = Options(
        size=2 * kernels.robot.n + 1,
        adaptive=integrator.adaptive,
        events=events.count if events else 0,
        positions=linear.positions,
        controller=control.controller,
        norm=control.norm,
        estimate=control.estimate,
        jacobian=jacobian is not None,
        mass=linear.mass,
        inspected=inspected and integrator.adaptive and control.quiet > 0.0,
    )
    width = kernels.series_with_work.width if integrator.series else 0
    signal = events.function if events else None
    return compile_engine(
        rhs, integrator.solver, options, signal, scratch=width, jacobian=linear.function
    )


def _limits_of_steps(control: StepControl | None) -> dict[str, Any]:
    """Return the keyword arguments of `Engine.space` for a step control or None."""
    if control is None:
        return {"quiet": inf, "cell": CELL}
    names = ("min_step", "max_step", "fac", "facmin", "facmax")
    limits = {name: getattr(control, name) for name in names}
    limits |= {"quiet": inf, "cell": control.inspection_interval or CELL}
    return {**limits, "first_step": control.first_step or 0.0}


def check_series(integrator: Integrator, law: str) -> None:
    """Raise `ManipDynError` for Taylor series, which do not support efforts such as `law`.

    `law` describes efforts or friction that depend on the state.
    """
    if integrator.series:
        raise ManipDynError(
            f"method must not be 'taylor' with {law}: it requires piecewise constant efforts. Use "
            "a method such as rkdp87."
        )

"""`Simulation`: the direct dynamics of a robot, integrated over exact times.

The equations are M(q) a + C(q, v) v + g(q) + D v + K (q - rest) = tau - dry friction, with the
accelerations a. The work of efforts, damping and friction is also integrated, for the energy
balance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Matrix, Vector, finite_vector
from manip_dyn.core.deprecation import renamed_attribute
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Statistics
from manip_dyn.integration import Status
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, unpowered
from manip_dyn.simulation.function_law import Feedback, LawError
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.pd_control import PDLaw
from manip_dyn.simulation.propagator import (
    Propagator,
    check_series,
    constant_propagator,
    feedback_propagator,
    pd_propagator,
    weightless_propagator,
)
from manip_dyn.simulation.sampling import Samples

ADVICE = (
    "the state before the failed step is retained. Use a smaller step, smaller efforts, or an "
    "effort law that neither raises nor returns NaN."
)
"""End of messages about a divergence: the remaining state and possible remedies."""


class Energy(NamedTuple):
    """Energies in J; `residual` is the drift of kinetic + potential - work since the start."""

    kinetic: float
    potential: float
    work: float
    residual: float


class Disturbance(NamedTuple):
    """Efforts (n,) added to those of the law from `begin_ns` to `end_ns`.

    They do not saturate, and are ignored under a feedback law such as gravity compensation.
    """

    effort: Vector
    begin_ns: int
    end_ns: int

    def at(self, time_ns: int) -> Vector:
        """Return the efforts (n,) that act after `time_ns`."""
        return self.effort if self.begin_ns <= time_ns < self.end_ns else 0.0 * self.effort

    def next_switch(self, time_ns: int) -> list[int]:
        """Return the times among `begin_ns` and `end_ns` that are after `time_ns`."""
        return [time for time in (self.begin_ns, self.end_ns) if time > time_ns]


class DivergenceError(ManipDynError):
    """A simulation cannot continue from its last state.

    Attributes:
        status: Status of the integration.
    """

    def __init__(self, message: str, status: Status):
        """Set message and status."""
        super().__init__(message)
        self.status = status


class JointLimitError(ManipDynError):
    """A joint reached its limit with `stop_at_limits`. The simulation remains in this state."""


class Simulation:
    """The state of one simulated arm; `advance` integrates it over time.

    Attributes:
        time_ns: Simulated time, ns.
        kernels: Kernels of the arm.
        robot: The arm.
        integrator: Method and step size, see `use`.
        disturbance: Efforts in addition to those of the law.
    """

    time_ns: int
    _y: Vector
    _energy0: float | None
    _law: EffortLaw

    def __init__(
        self,
        robot: Robot,
        q0: ArrayLike,
        v0: ArrayLike,
        integrator: Integrator | None = None,
    ):
        """Start in the state (q0, v0), each (n,). Default integrator: RK4 with a step of 1 ms."""
        self.kernels: Kernels = customize(robot)
        self.robot = robot
        self._start = (finite_vector("q0", q0, robot.n), finite_vector("v0", v0, robot.n))
        robot.check_within_limits("initial position", self._start[0])
        self.use(integrator or Integrator())
        self.law = unpowered(robot)
        self.disturbance = Disturbance(np.zeros(robot.n), 0, 0)
        self.reset()

    def use(self, integrator: Integrator) -> None:
        """Continue with another integrator from the same state; statistics restart at 0."""
        if self.robot.has_dry_friction:
            check_series(integrator, "Coulomb friction")
        motions: dict[Feedback | None, Propagator] = {}
        self.integrator, self._motions = integrator, motions

    @property
    def law(self) -> EffortLaw:
        """The effort law of the joints. A `Schedule` must have been created for this arm."""
        return self._law

    @law.setter
    def law(self, law: EffortLaw) -> None:
        if isinstance(law, Schedule):
            law.check_for(self.robot)
        self._law = law

    def continue_from(self, before: Simulation) -> None:
        """Copy state, law and disturbance of an arm with the same joints but different masses.

        The energy residual and the work continue. Kinetic and potential energy are those of this
        arm.
        """
        residual = before.energy().residual
        self.time_ns, self._y = before.time_ns, before._y.copy()
        self.law, self.disturbance = before.law, before.disturbance
        self._energy0 = self._start_energy() + self.energy().residual - residual

    go_on_from = renamed_attribute("Simulation.go_on_from", "continue_from")

    @staticmethod
    def check(integrator: Integrator, law: EffortLaw) -> None:
        """Raise `ManipDynError` if the integrator cannot follow the law."""
        if isinstance(law, Feedback):
            check_series(integrator, "a feedback law such as gravity compensation")

    def prepare(self, law: EffortLaw) -> None:
        """Compile the loop for a law in advance, so that `advance` starts immediately.

        State and law are retained, and statistics restart at 0.
        """
        time_ns, y, previous = self.time_ns, self._y.copy(), self.law
        self.law = law
        try:
            self.advance(1)
        finally:
            self.time_ns, self._y, self.law = time_ns, y, previous
        for motion in self._motions.values():
            motion.reset_statistics()

    def reset(self) -> None:
        """Reset time and state to their initial values; the effort law is retained."""
        self.time_ns = 0
        self._y = np.concatenate([*self._start, [0.0]])
        self._energy0 = None
        for motion in self._motions.values():
            motion.begin_motion()

    def _start_energy(self) -> float:
        """Return the energy that `Energy.residual` is relative to, J."""
        if self._energy0 is None:
            self._energy0 = float(sum(self.kernels.unchecked.energy(*self._start)))
        return self._energy0

    @property
    def q(self) -> Vector:
        """Joint positions (n,), rad or m."""
        return self._y[: self.robot.n].copy()

    @property
    def v(self) -> Vector:
        """Joint velocities (n,), rad/s or m/s."""
        return self._y[self.robot.n : 2 * self.robot.n].copy()

    @property
    def effort(self) -> Vector:
        """Current efforts (n,) of the law, N m or N."""
        return self.law.effort(self.time_ns, self.q, self.v)

    @property
    def statistics(self) -> Statistics:
        """Steps, failures and evaluations since the integrator was set or `prepare` was called."""
        return sum((motion.statistics for motion in self._motions.values()), Statistics())

    def energy(self) -> Energy:
        """Return the current energies and the residual of the energy balance."""
        kinetic, potential = (float(x) for x in self.kernels.unchecked.energy(self.q, self.v))
        work = float(self._y[-1])
        return Energy(kinetic, potential, work, kinetic + potential - self._start_energy() - work)

    def advance(self, duration_ns: int) -> None:
        """Advance by `duration_ns`; steps end exactly at the switches of the efforts.

        Raises:
            DivergenceError: If the integration fails, for example because the state becomes
                infinite or NaN, the tolerances cannot be met, or a feedback law raises an
                exception. The state is then that of the last accepted step.
            JointLimitError: If a joint reaches its limit and the integrator stops at limits.
        """
        end = self.time_ns + duration_ns
        while self.time_ns < end:
            switch = self.law.next_switch(self.time_ns)
            edges = self.disturbance.next_switch(self.time_ns)
            self._run(min([end, *edges] if switch is None else [end, switch, *edges]))

    def _run(self, stop_ns: int, extra: Vector | None = None) -> None:
        """Advance over an interval without jumps.

        `extra` efforts (n,) are added to the law unless it is a `Feedback`.
        """
        begin_ns, law = self.time_ns, self.law
        motion = self.propagator(law)
        if isinstance(law, Feedback):
            effort, origin = None, begin_ns * 1e-9
            law.enter(begin_ns, stop_ns)
        else:
            origin = 0.0
            effort = law.effort(begin_ns, self.q, self.v) + self.disturbance.at(begin_ns)
            if extra is not None:
                effort += extra
        reached = motion.run(origin, origin + (stop_ns - begin_ns) * 1e-9, self._y, effort)
        if motion.status is Status.SUCCESS:
            self.time_ns = stop_ns
            return
        self.time_ns = begin_ns + round((reached - origin) * 1e9)
        raise self._end_of(motion)

    def _end_of(self, motion: Propagator) -> DivergenceError | JointLimitError:
        """Return the error that describes why a motion ended."""
        if motion.limit:
            return JointLimitError(f"{motion.limit} at {self.time_ns * 1e-9:.6f} s")
        name, time = f"the simulation of '{self.robot.name}'", f"{self.time_ns * 1e-9:.6f} s"
        if motion.failure:
            return DivergenceError(f"{name} ended at {time}: {motion.failure}", motion.status)
        control, too_many = self.integrator.control, motion.status is Status.TOO_MANY_STEPS
        if too_many and control is not None and motion.taken >= control.max_steps:
            reason = f"max_steps = {control.max_steps} was reached"
            return DivergenceError(f"{name} ended at {time}: {reason}", motion.status)
        extra = self.disturbance.at(self.time_ns)
        under = f" under the disturbance {extra.tolist()}" if extra.any() else ""
        return DivergenceError(
            f"{name} diverged at {time}{under} ({motion.status.meaning}); {ADVICE}", motion.status
        )

    def record(
        self, duration_ns: int, period_ns: int
    ) -> tuple[Samples, DivergenceError | JointLimitError | None]:
        """Advance by `duration_ns` like `advance`, and record samples every `period_ns`.

        The start and the end are sampled too, but not the end of a motion that diverges.

        Returns:
            The samples, and the error that ended the motion early, or None.

        Raises:
            LawError: If a law that runs in Python raises an exception at the start.
        """
        motion, end = self.propagator(self.law), self.time_ns + duration_ns
        is_plain = type(self) is Simulation and not self.disturbance.effort.any()
        if not is_plain or not motion.is_recordable(self.law):
            return self._record_in_python(end, period_ns)
        samples, now_ns = motion.record(self.law, self._y, self.time_ns, end, period_ns)
        if self.time_ns == 0 and self._energy0 is None:
            self._energy0 = float(samples.energies[0].sum())
        self.time_ns = now_ns
        return samples, None if motion.status is Status.SUCCESS else self._end_of(motion)

    def _record_in_python(
        self, end: int, period_ns: int
    ) -> tuple[Samples, DivergenceError | JointLimitError | None]:
        """Record like `record`, for laws that run in Python and for dry friction."""
        rows = [self._sample(first=True)]
        failure: DivergenceError | JointLimitError | None = None
        while self.time_ns < end and failure is None:
            try:
                self.advance(min(period_ns, end - self.time_ns))
            except DivergenceError as error:
                failure = error
                break
            except JointLimitError as error:
                failure = error
            rows.append(self._sample())
        return Samples(*map(np.array, zip(*rows, strict=True))), failure

    def _sample(self, first: bool = False) -> tuple:
        """Return the fields of `Samples` for the current state."""
        try:
            effort = self.effort
        except LawError:
            if first and isinstance(self.law, Feedback) and self.law.efforts is None:
                raise
            effort = np.full(self.robot.n, np.nan)
        energies = self.kernels.unchecked.energy(self.q, self.v)
        return self.time_ns, self._y.copy(), effort, energies

    def energy_columns(self, samples: Samples) -> Matrix:
        """Return kinetic and potential energy, work and residual (m, 4) of recorded samples, J."""
        work, mechanical = samples.states[:, -1], samples.energies.sum(axis=1)
        with np.errstate(invalid="ignore", over="ignore"):  # of motions that diverged
            residual = mechanical - self._start_energy() - work
        return np.column_stack([samples.energies, work, residual])

    def propagator(self, law: EffortLaw) -> Propagator:
        """Return the propagator of an effort law, compiled on first use."""
        key = law if isinstance(law, Feedback) else None
        if key not in self._motions:
            self._motions[key] = self._compiled(key)
        return self._motions[key]

    def _compiled(self, law: Feedback | None) -> Propagator:
        if law is None:
            return constant_propagator(self.kernels, self.integrator)
        if isinstance(law, PDLaw):
            return pd_propagator(self.kernels, self.integrator, law)
        if law.weightless:
            return weightless_propagator(self.kernels, self.integrator)
        return feedback_propagator(self.kernels, self.integrator, law)

"""`Simulation`: the direct dynamics of a robot, integrated over exact times.

The equations are M(q) q'' + C(q, v) v + g(q) + D v + K (q - rest) = tau - dry friction. The work
of efforts, damping and friction is also integrated, for the energy balance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.deprecation import renamed_attribute
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Statistics
from manip_dyn.integration import Status
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, held
from manip_dyn.simulation.function_law import Feedback
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
    _energy0: float
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
        self.law = held(robot, np.zeros(robot.n))
        self.disturbance = Disturbance(np.zeros(robot.n), 0, 0)
        self.reset()

    def use(self, integrator: Integrator) -> None:
        """Continue with another integrator from the same state; statistics restart at 0."""
        motions: dict[Feedback | None, Propagator] = {
            None: constant_propagator(self.kernels, integrator)
        }
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
        self._energy0 += self.energy().residual - residual

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
        self._energy0 = sum(self.kernels.unchecked.energy(*self._start))

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
        return Energy(kinetic, potential, work, kinetic + potential - self._energy0 - work)

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
        if isinstance(law, Feedback):
            motion, effort, origin = self.motion(law), None, begin_ns * 1e-9
            law.enter(begin_ns, stop_ns)
        else:
            motion, origin = self._motions[None], 0.0
            effort = law.effort(begin_ns, self.q, self.v) + self.disturbance.at(begin_ns)
            if extra is not None:
                effort += extra
        reached = motion.run(origin, origin + (stop_ns - begin_ns) * 1e-9, self._y, effort)
        if motion.status is Status.SUCCESS:
            self.time_ns = stop_ns
            return
        self.time_ns = begin_ns + round((reached - origin) * 1e9)
        if motion.limit:
            raise JointLimitError(f"{motion.limit} at {self.time_ns * 1e-9:.6f} s")
        name, time = f"the simulation of '{self.robot.name}'", f"{self.time_ns * 1e-9:.6f} s"
        if motion.failure:
            raise DivergenceError(f"{name} ended at {time}: {motion.failure}", motion.status)
        raise DivergenceError(
            f"{name} diverged at {time} ({motion.status.meaning}); {ADVICE}", motion.status
        )

    def motion(self, law: Feedback) -> Propagator:
        """Return the propagator of a state-dependent law, compiled on first use."""
        if law not in self._motions:
            if isinstance(law, PDLaw):
                motion: Propagator = pd_propagator(self.kernels, self.integrator, law)
            elif law.weightless:
                motion = weightless_propagator(self.kernels, self.integrator)
            else:
                motion = feedback_propagator(self.kernels, self.integrator, law)
            self._motions[law] = motion
        return self._motions[law]

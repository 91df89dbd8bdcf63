"""`Simulation`: a robot's direct dynamics advanced in exact time steps.

Integrates M(q) q'' + C(q, v) v + g(q) + D v + K (q - rest) = tau together with the work done
by the efforts and the damping, so that energy can be balanced against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import Status
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, held
from manip_dyn.simulation.function_law import Feedback
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.pd_control import PDLaw
from manip_dyn.simulation.propagator import (
    Propagator,
    constant_propagator,
    feedback_propagator,
    pd_propagator,
    refuse_series,
    weightless_propagator,
)

KEPT = (
    "the state is kept there. Expected a smaller step, smaller efforts, or a law that neither "
    "raises nor gives NaN"
)
"""What is done, and to be done, about a motion that diverged."""


class Energy(NamedTuple):
    """Energies in J; `residual` is what the balance kinetic + potential - work has drifted."""

    kinetic: float
    potential: float
    work: float
    residual: float


class Disturbance(NamedTuple):
    """Efforts (n,) that act on the joints beside those of the law, from begin to end, ns.

    They do not saturate. Beside a feedback law, such as gravity compensation, they do not act.
    """

    effort: Vector
    begin_ns: int
    end_ns: int

    def at(self, time_ns: int) -> Vector:
        """Return the efforts (n,) from `time_ns` on."""
        return self.effort if self.begin_ns <= time_ns < self.end_ns else 0.0 * self.effort

    def next_switch(self, time_ns: int) -> list[int]:
        """Return begin and end as far as they come after `time_ns`."""
        return [time for time in (self.begin_ns, self.end_ns) if time > time_ns]


class DivergenceError(ManipDynError):
    """A simulation could not go on from the state that it kept.

    Attributes:
        status: Why.
    """

    def __init__(self, message: str, status: Status):
        """Take the sentence and the status."""
        super().__init__(message)
        self.status = status


class JointLimitError(ManipDynError):
    """A joint reached its limit, where the simulation was to stop; the state is the one there."""


class Simulation:
    """The state of one simulated arm; `advance` moves it in time."""

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
        """Start at rest-or-moving state (q0, v0), each (n,); default: RK4 with 1 ms."""
        self.kernels: Kernels = customize(robot)
        self.robot = robot
        self._start = (finite_vector("q0", q0, robot.n), finite_vector("v0", v0, robot.n))
        robot.check_within_limits("initial position", self._start[0])
        self.use(integrator or Integrator())
        self.law = held(robot, np.zeros(robot.n))
        self.disturbance = Disturbance(np.zeros(robot.n), 0, 0)
        self.reset()

    def use(self, integrator: Integrator) -> None:
        """Go on with another integrator; the state stays."""
        motions: dict[Feedback | None, Propagator] = {
            None: constant_propagator(self.kernels, integrator)
        }
        self.integrator, self._motions = integrator, motions

    @property
    def law(self) -> EffortLaw:
        """What drives the joints; a `Schedule` only if it was made for this arm."""
        return self._law

    @law.setter
    def law(self, law: EffortLaw) -> None:
        if isinstance(law, Schedule):
            law.check_for(self.robot)
        self._law = law

    def go_on_from(self, before: Simulation) -> None:
        """Take over state, law and disturbance of an arm of the same joints, but other masses.

        What its energy balance had drifted by stays; kinetic and potential energy are from now on
        those of this arm, and work goes on to be counted.
        """
        drifted = before.energy().residual
        self.time_ns, self._y = before.time_ns, before._y.copy()
        self.law, self.disturbance = before.law, before.disturbance
        self._energy0 += self.energy().residual - drifted

    @staticmethod
    def check(integrator: Integrator, law: EffortLaw) -> None:
        """Raise `ManipDynError` if the integrator cannot follow the law."""
        if isinstance(law, Feedback):
            refuse_series(integrator, "a feedback law such as gravity compensation")

    def prepare(self, law: EffortLaw) -> None:
        """Compile the loop for a law now, so that the first `advance` is not slow."""
        time_ns, y, now = self.time_ns, self._y.copy(), self.law
        self.law = law
        try:
            self.advance(1)
        finally:
            self.time_ns, self._y, self.law = time_ns, y, now
        for motion in self._motions.values():
            motion.steps = motion.failures = motion.evaluations = 0

    def reset(self) -> None:
        """Go back to time zero and the initial state; the effort law stays."""
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
        """The efforts (n,) that act from now on, N m or N."""
        return self.law.effort(self.time_ns, self.q, self.v)

    @property
    def statistics(self) -> dict[str, int]:
        """Steps, failed steps and evaluations since the integrator was chosen."""
        names = ("steps", "failures", "evaluations")
        motions = self._motions.values()
        return {name: sum(getattr(each, name) for each in motions) for name in names}

    def energy(self) -> Energy:
        """Return the energies now and the drift of their balance."""
        kinetic, potential = (float(x) for x in self.kernels.unchecked.energy(self.q, self.v))
        work = float(self._y[-1])
        return Energy(kinetic, potential, work, kinetic + potential - self._energy0 - work)

    def advance(self, duration_ns: int) -> None:
        """Move on by `duration_ns`; every switch of the efforts ends a step exactly.

        Raises:
            DivergenceError: If the state would become infinite or NaN, or the tolerances cannot
                be met; it then stays where the last good step left it.
            JointLimitError: If a joint reached its limit and the integrator is to stop there.
        """
        end = self.time_ns + duration_ns
        while self.time_ns < end:
            switch = self.law.next_switch(self.time_ns)
            edges = self.disturbance.next_switch(self.time_ns)
            self._run(min([end, *edges] if switch is None else [end, switch, *edges]))

    def _run(self, stop_ns: int, beside: Vector | None = None) -> None:
        """Move on while no effort jumps; `beside` (n,) acts beside the law's efforts."""
        begin_ns, law = self.time_ns, self.law
        if isinstance(law, Feedback):
            motion, effort, origin = self.motion(law), None, begin_ns * 1e-9
            law.enter(begin_ns, stop_ns)
        else:
            motion, origin = self._motions[None], 0.0
            effort = law.effort(begin_ns, self.q, self.v) + self.disturbance.at(begin_ns)
            if beside is not None:
                effort += beside
        reached = motion.run(origin, origin + (stop_ns - begin_ns) * 1e-9, self._y, effort)
        if motion.status is Status.SUCCESS:
            self.time_ns = stop_ns
            return
        self.time_ns = begin_ns + round((reached - origin) * 1e9)
        if motion.met:
            raise JointLimitError(f"{motion.met} at {self.time_ns * 1e-9:.6f} s")
        told = f"the simulation of '{self.robot.name}'"
        if motion.failed:
            told += f" ended at {self.time_ns * 1e-9:.6f} s, the state is kept there: "
            raise DivergenceError(told + motion.failed, motion.status)
        told += f" diverged at {self.time_ns * 1e-9:.6f} s ({motion.status.meaning})"
        raise DivergenceError(f"{told}; {KEPT}", motion.status)

    def motion(self, law: Feedback) -> Propagator:
        """Return the loop for a law that depends on the state, compiled at its first use."""
        if law not in self._motions:
            if isinstance(law, PDLaw):
                motion: Propagator = pd_propagator(self.kernels, self.integrator, law)
            elif law.weightless:
                motion = weightless_propagator(self.kernels, self.integrator)
            else:
                motion = feedback_propagator(self.kernels, self.integrator, law)
            self._motions[law] = motion
        return self._motions[law]

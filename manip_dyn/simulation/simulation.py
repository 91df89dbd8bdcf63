"""`Simulation`: a robot's direct dynamics advanced in exact time steps.

Integrates M(q) q'' + C(q, v) v + g(q) + D v + K (q - rest) = tau together with the work done
by the efforts and the damping, so that energy can be balanced against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.errors import ManipDynError
from manip_dyn.integrate import rk4_step
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import EffortLaw, held
from manip_dyn.validate import Vector, finite_vector, nanoseconds


class Energy(NamedTuple):
    """Energies in J; `residual` is what the balance kinetic + potential - work has drifted."""

    kinetic: float
    potential: float
    work: float
    residual: float


class Simulation:
    """The state of one simulated arm; `advance` moves it in time."""

    def __init__(self, robot: Robot, q0: ArrayLike, v0: ArrayLike, step: float = 1e-3):
        """Start at rest-or-moving state (q0, v0), each (n,), with an RK4 step of `step` s."""
        self.kernels: Kernels = customize(robot)
        self.robot = robot
        self.step_ns = nanoseconds("step", step)
        self._start = (finite_vector("q0", q0, robot.n), finite_vector("v0", v0, robot.n))
        robot.check_within_limits("initial position", self._start[0])
        self.law: EffortLaw = held(robot, np.zeros(robot.n))
        self.reset()

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

    def energy(self) -> Energy:
        """Return the energies now and the drift of their balance."""
        kinetic, potential = self.kernels.unchecked.energy(self.q, self.v)
        work = float(self._y[-1])
        return Energy(kinetic, potential, work, kinetic + potential - self._energy0 - work)

    def advance(self, duration_ns: int) -> None:
        """Move on by `duration_ns`, in RK4 steps that end at every switch of the efforts.

        Raises:
            ManipDynError: If the state would become infinite or NaN; it then stays where the
                last good step left it.
        """
        end = self.time_ns + duration_ns
        while self.time_ns < end:
            switch = self.law.next_switch(self.time_ns)
            stop = min(self.time_ns + self.step_ns, end, end if switch is None else switch)
            self._step(stop)

    def _step(self, stop_ns: int) -> None:
        begin_ns, n = self.time_ns, self.robot.n
        dynamics, law, damping = self.kernels.unchecked, self.law, self.robot.damping
        # Efforts that jump at `stop_ns` still act in this step's last stage.
        last_ns = stop_ns - 1 if law.next_switch(begin_ns) == stop_ns else stop_ns

        def rhs(t: float, y: Vector) -> Vector:
            q, v = y[:n], y[n : 2 * n]
            tau = law.effort(min(begin_ns + round(t * 1e9), last_ns), q, v)
            power = v @ (tau - damping * v)
            return np.concatenate([v, dynamics.forward_dynamics(q, v, tau), [power]])

        with np.errstate(over="ignore", invalid="ignore"):
            y = rk4_step(rhs, 0.0, self._y, (stop_ns - begin_ns) * 1e-9)
        if not np.all(np.isfinite(y)):
            raise ManipDynError(
                f"the simulation of '{self.robot.name}' diverged at {begin_ns * 1e-9:.6f} s; "
                "the state is kept there. Expected a smaller step or smaller efforts"
            )
        self._y, self.time_ns = y, stop_ns

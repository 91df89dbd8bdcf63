"""An effort law that follows a joint trajectory, and holds the arm after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.control import Brake
from manip_dyn.control.brake import RATE
from manip_dyn.control.joint_trajectory import (
    Code,
    JointSplines,
    Outcome,
    Tolerances,
    TrajectoryFollower,
    Waypoint,
)
from manip_dyn.core.checks import Vector

PERIOD_NS = 1_000_000
"""Time for which efforts are held."""
SLOW = 0.05
"""Speed at which a braked joint is held where it is, rad/s or m/s."""


class Following:
    """Follows, then holds the last point; or brakes, then holds where the arm came to rest.

    The efforts depend on time and state alone, so that a simulation may ask for them twice;
    what is next is decided by `go_on` and `stop`.

    Attributes:
        outcome: How the following ended; None while it goes on.
    """

    def __init__(
        self,
        kernels: Kernels,
        waypoints: list[Waypoint],
        tolerances: Tolerances,
        start_ns: int,
        now: tuple[int, Vector, Vector],
        brake_rate: float = RATE,
    ):
        """Begin from a state.

        Args:
            kernels: The arm's.
            waypoints: See `checked_waypoints`.
            tolerances: Those of the goal.
            start_ns: When the trajectory begins, simulated time.
            now: Simulated time, ns, positions and velocities (n,).
            brake_rate: See `Brake`.
        """
        time_ns, q, v = now
        self._kernels, self._robot = kernels, kernels.robot
        self._brake = Brake(kernels, brake_rate)
        self._tolerances, self._start_ns = tolerances, start_ns
        weight = kernels.unchecked.inverse_dynamics(q, 0.0 * q, 0.0 * q)
        begun = 1e-9 * (time_ns - start_ns)
        self._follower = self._along(JointSplines(kernels.robot, waypoints, begun, q, v, weight))
        self._law: Callable[[int, Vector, Vector], Vector] = self._followed
        self.outcome: Outcome | None = None

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act for the next millisecond, N m or N."""
        return self._law(time_ns, q, v)

    def next_switch(self, time_ns: int) -> int:
        """Return when the efforts change next, a whole number of periods."""
        return (time_ns // PERIOD_NS + 1) * PERIOD_NS

    def go_on(self, time_ns: int, q: Vector, v: Vector) -> None:
        """Decide what is next; to be called every control period."""
        if self.outcome is None:
            self.outcome = self._follower.outcome(self._seconds(time_ns), q, v)
            if self.outcome is not None and self.outcome.code is Code.SUCCESSFUL:
                self._hold(self._follower.splines.goal)
            elif self.outcome is not None:
                self._law = self._brake.effort
        elif self._law == self._brake.effort and np.abs(v).max() <= SLOW:
            self._hold(q)

    def stop(self, outcome: Outcome) -> None:
        """Brake, then hold; `outcome` tells why."""
        if self.outcome is None:
            self.outcome, self._law = outcome, self._brake.effort

    def end(self, outcome: Outcome) -> None:
        """Note that something else drives the arm; `outcome` tells what."""
        if self.outcome is None:
            self.outcome = outcome

    def wanted(self, time_ns: int) -> tuple[float, Vector, Vector, Vector]:
        """Return the time since the start, s, and the motion wanted then, each (n,)."""
        t = self._seconds(time_ns)
        return t, *self._follower.splines.motion(t)

    def _seconds(self, time_ns: int) -> float:
        return 1e-9 * (time_ns - self._start_ns)

    def _along(self, splines: JointSplines) -> TrajectoryFollower:
        return TrajectoryFollower(self._robot, splines, self._tolerances, 1e-9 * PERIOD_NS)

    def _followed(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        return self._follower.effort(self._seconds(time_ns), q, v)

    def _hold(self, q: Vector) -> None:
        held = self._along(JointSplines.standing(self._robot, q))
        self._law = lambda _time_ns, q, v: held.effort(0.0, q, v)

"""Mechanical stops at the joint limits, and a simulation with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.linear_algebra import box_minimum
from manip_dyn.robot import Robot
from manip_dyn.simulation.function_law import Feedback
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.simulation import Simulation

GIVE = 0.02
"""How far a joint goes beyond its limit at most, rad or m."""
TOUCH = 1e-6
"""Distance from a limit at which a joint touches its stop, rad or m."""
RETURN_RATE = 10.0
"""How fast what a joint is beyond its limit decreases, 1/s."""


class JointStops:
    """Stiff, damped stops of an arm, which push and never pull.

    For a time h, a stop pushes with the constant effort that leaves its joint no speed outwards:
    a damper of the stiffness (reflected inertia) / h, taken implicitly, so that it is stable at
    any h. Joints that touch at the same time are solved together, f >= 0 with
    0 <= f orthogonal to (w_free - h A f) <= 0, where A is the part of M^-1 that belongs to them
    and w_free their speed outwards without stops (Moreau's inelastic impact, 1988, as an effort).
    """

    def __init__(self, kernels: Kernels):
        """Take the arm."""
        self._kernels = kernels
        self._low, self._high = kernels.robot.q_min, kernels.robot.q_max
        still = np.zeros(kernels.robot.n)
        kernels.unchecked.mass_matrix(still)  # compiles
        box_minimum(np.eye(1), np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1))

    def beyond(self, q: Vector) -> Vector:
        """Return how far the joints at q (n,) are beyond their limits, negative within, (n,)."""
        return np.maximum(self._low - q, q - self._high)

    def outwards(self, q: Vector, v: Vector) -> Vector:
        """Return the speeds (n,) towards the limit that is nearer at q, of velocities v (n,)."""
        return self._sides(q) * v

    def passed(self, q: Vector, v: Vector, new_q: Vector, new_v: Vector, h: float) -> NDArray[Any]:
        """Return which joints were beyond their limits at the end of h, s, or in between, (n,).

        In between means the vertex of the parabola through the speeds at both ends.
        """
        slowed = np.where(v * new_v < 0.0, np.abs(v), 0.0)
        change = np.where(slowed > 0.0, np.abs(v) + np.abs(new_v), 1.0)
        vertex = q + 0.5 * h * v * slowed / change
        return (self.beyond(new_q) > 0.0) | ((self.beyond(vertex) > 0.0) & (slowed > 0.0))

    def effort(self, joints: NDArray[Any], q: Vector, free: Vector, h: float) -> Vector:
        """Return the efforts (n,) of the stops for a time h, s.

        Args:
            joints: Which joints touch their stops (k,).
            q: Positions (n,).
            free: Velocities (n,) after h without these efforts.
            h: s.
        """
        sides = self._sides(q)[joints]
        mobility = np.linalg.inv(self._kernels.unchecked.mass_matrix(q))[np.ix_(joints, joints)]
        back = RETURN_RATE * np.maximum(self.beyond(q)[joints], 0.0)
        push = np.zeros(len(joints))
        box_minimum(
            h * mobility * np.outer(sides, sides),
            -(sides * free[joints] + back),
            np.zeros_like(push),
            np.full_like(push, np.inf),
            push,
        )
        efforts = np.zeros_like(q)
        efforts[joints] = -sides * push
        return efforts

    def _sides(self, q: Vector) -> Vector:
        return np.where(q - self._high >= self._low - q, 1.0, -1.0)


SHORT_NS, SHORTEST_NS = 1_000_000, 1_000
"""Longest and shortest time for which a stop pushes with a constant effort."""


class Passed(NamedTuple):
    """Which joints (n,) pass their limits until a time, and the state that they would be in."""

    stop_ns: int
    joints: NDArray[Any]
    q: Vector
    v: Vector


class SimulationWithStops(Simulation):
    """The state of one simulated arm, whose joint limits are stiff, damped stops.

    A joint is brought to rest within a millisecond, or as much less as keeps it within `GIVE` of
    its limit. The integrator sees constant efforts, so every method follows, Taylor series too.
    Where no joint leaves its limits the motion is that of `Simulation`, bit for bit: each piece is
    integrated without stops, and again with them if a joint passed its limit.

    Attributes:
        stop_effort: What the stops push with at present (n,), N m or N.
    """

    def __init__(
        self, robot: Robot, q0: ArrayLike, v0: ArrayLike, integrator: Integrator | None = None
    ):
        """Start at (q0, v0), each (n,); default: RK4 with 1 ms."""
        super().__init__(robot, q0, v0, integrator)
        self._stops = JointStops(self.kernels)

    def reset(self) -> None:
        """Go back to time zero and the initial state; the effort law stays."""
        super().reset()
        self.stop_effort = np.zeros(self.robot.n)

    def _run(self, stop_ns: int, beside: Vector | None = None) -> None:
        """Move on to `stop_ns`, in one piece as long as no joint is at a stop."""
        if isinstance(self.law, Feedback):
            raise ManipDynError(
                "joint stops act beside efforts that are held for a while; expected a law such as "
                "Schedule or Brake, or a simulation without stops"
            )
        self.stop_effort = np.zeros(self.robot.n)
        while self.time_ns < stop_ns:
            passed = self._attempt(stop_ns)
            if passed is not None:
                self._meet(passed)

    def _attempt(self, stop_ns: int) -> Passed | None:
        """Move on without stops; if joints pass their limits, undo it and return how."""
        begin_ns, y, q, v = self.time_ns, self._y.copy(), self.q, self.v
        super()._run(stop_ns)
        ahead = self.q, self.v
        joints = self._stops.passed(q, v, *ahead, 1e-9 * (stop_ns - begin_ns))
        if not joints.any():
            return None
        self.time_ns, self._y[:] = begin_ns, y
        return Passed(stop_ns, joints, *ahead)

    def _meet(self, passed: Passed) -> None:
        """Move on to the next contact, or a little while against the stops."""
        found = self._within(passed, self._soon())
        if found is None:
            return
        beyond, distance = self._stops.beyond(found.q), -self._stops.beyond(self.q)
        touches = distance <= TOUCH
        near = found.joints & ~touches & (beyond > 0.0)
        if near.any():  # until the first of them touches
            part = np.min(distance[near] / (distance[near] + beyond[near]))
            wait_ns = max(round(part * (found.stop_ns - self.time_ns)), SHORTEST_NS)
            found = self._within(found, self.time_ns + wait_ns)
            if found is None:
                return
        joints, h = np.flatnonzero(found.joints & touches), 1e-9 * (found.stop_ns - self.time_ns)
        self.stop_effort = self._stops.effort(joints, self.q, found.v, h)
        super()._run(found.stop_ns, self.stop_effort)

    def _within(self, passed: Passed, stop_ns: int) -> Passed | None:
        """Return what passes until `stop_ns`; move on if nothing does."""
        return passed if passed.stop_ns <= stop_ns else self._attempt(stop_ns)

    def _soon(self) -> int:
        """Return until when stops push with one effort: no joint comes beyond half its give."""
        touches = self._stops.beyond(self.q) >= -TOUCH
        speed = np.max(self._stops.outwards(self.q, self.v), where=touches, initial=0.0)
        longest = 0.5e9 * GIVE / speed if speed > 0.0 else SHORT_NS
        return self.time_ns + round(min(max(longest, SHORTEST_NS), SHORT_NS))

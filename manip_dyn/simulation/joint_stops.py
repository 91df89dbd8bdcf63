"""Mechanical stops at the joint limits, and a simulation that includes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.solvers import box_minimum
from manip_dyn.robot import Robot
from manip_dyn.simulation.function_law import Feedback
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.simulation import Simulation

GIVE = 0.02
"""Distance beyond its limit that a stop should prevent a joint from exceeding, rad or m."""
TOUCH = 1e-6
"""Distance from a limit at which a joint is in contact with its stop, rad or m."""
RETURN_RATE = 10.0
"""Rate at which the distance beyond a limit decreases, 1/s."""


class JointStops:
    """Stiff, damped stops of an arm, which push and never pull.

    During a time h, a stop pushes with the constant effort that removes the outward velocity of
    its joint. It acts as an implicit damper with the coefficient (reflected inertia) / h, and is
    therefore stable for any h. The efforts f of simultaneous contacts satisfy f >= 0 and
    w - h A f <= 0 with f orthogonal to w - h A f. A is the block of M^-1 of these joints, with
    outward axes. w is their outward velocity without stops plus `RETURN_RATE` times the distance
    beyond the limit. This is the inelastic impact of Moreau (1988), written as an effort.
    """

    def __init__(self, kernels: Kernels):
        """Set the kernels of the arm, and compile the functions that the stops call."""
        self._kernels = kernels
        self._low, self._high = kernels.robot.q_min, kernels.robot.q_max
        zeros = np.zeros(kernels.robot.n)
        kernels.unchecked.mass_matrix(zeros)  # compiles
        box_minimum(np.eye(1), np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1))

    def beyond(self, q: Vector) -> Vector:
        """Return the distances (n,) by which q (n,) exceeds the joint limits, negative inside."""
        return np.maximum(self._low - q, q - self._high)

    def outward_velocity(self, q: Vector, v: Vector) -> Vector:
        """Return the velocities (n,) towards the nearer limits in the state (q, v)."""
        return self._sides(q) * v

    def passed(self, q: Vector, v: Vector, new_q: Vector, new_v: Vector, h: float) -> NDArray[Any]:
        """Return flags (n,) of the joints that exceeded their limits within the time `h` (s).

        A parabola approximates the motion of a joint. Its vertex and its end are checked.
        """
        slowed = np.where(v * new_v < 0.0, np.abs(v), 0.0)
        change = np.where(slowed > 0.0, np.abs(v) + np.abs(new_v), 1.0)
        vertex = q + 0.5 * h * v * slowed / change
        return (self.beyond(new_q) > 0.0) | ((self.beyond(vertex) > 0.0) & (slowed > 0.0))

    def effort(self, joints: NDArray[Any], q: Vector, free: Vector, h: float) -> Vector:
        """Return the efforts (n,) of the stops for a time `h` (s).

        Args:
            joints: Indices of the joints in contact (k,).
            q: Positions (n,).
            free: Velocities (n,) after h without these efforts.
            h: Duration, s.
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


LONGEST_NS, SHORTEST_NS = 1_000_000, 1_000
"""Longest and shortest time for which a stop pushes with a constant effort, ns."""


class Passed(NamedTuple):
    """Flags (n,) of joints that exceeded their limits, and end time and state without stops."""

    stop_ns: int
    joints: NDArray[Any]
    q: Vector
    v: Vector


class SimulationWithStops(Simulation):
    """A simulation of one arm whose joint limits are stiff, damped stops.

    A stop brings its joint to rest within one millisecond, or in a shorter time if the joint is so
    fast that it would move far beyond its limit (see `GIVE`). The efforts of the stops are
    piecewise constant, so every method can be used, including Taylor series. Each interval is
    integrated without stops, and repeated with them if a joint exceeded its limit. While all
    joints are within their limits, the motion is identical to that of `Simulation`. Feedback laws
    raise `ManipDynError`.

    Attributes:
        stop_effort: Current efforts of the stops (n,), N m or N.
    """

    def __init__(
        self, robot: Robot, q0: ArrayLike, v0: ArrayLike, integrator: Integrator | None = None
    ):
        """Start in the state (q0, v0), each (n,). Default integrator: RK4 with a step of 1 ms."""
        super().__init__(robot, q0, v0, integrator)
        self._stops = JointStops(self.kernels)

    def reset(self) -> None:
        """Reset time and state to their initial values; the effort law is retained."""
        super().reset()
        self.stop_effort = np.zeros(self.robot.n)

    def _run(self, stop_ns: int, extra: Vector | None = None) -> None:
        """Advance to `stop_ns`, in one interval unless a joint is in contact."""
        if isinstance(self.law, Feedback):
            raise ManipDynError(
                "law must have piecewise constant efforts with joint stops, got a feedback law. "
                "Use a law such as Schedule or Brake, or a simulation without stops."
            )
        self.stop_effort = np.zeros(self.robot.n)
        while self.time_ns < stop_ns:
            passed = self._attempt(stop_ns)
            if passed is not None:
                self._push(passed)

    def _attempt(self, stop_ns: int) -> Passed | None:
        """Advance without stops; if joints exceed their limits, undo the step and report them."""
        begin_ns, y, q, v = self.time_ns, self._y.copy(), self.q, self.v
        super()._run(stop_ns)
        after = self.q, self.v
        joints = self._stops.passed(q, v, *after, 1e-9 * (stop_ns - begin_ns))
        if not joints.any():
            return None
        self.time_ns, self._y[:] = begin_ns, y
        return Passed(stop_ns, joints, *after)

    def _push(self, passed: Passed) -> None:
        """Advance to the next contact, or for a short time against the stops."""
        ahead = self._within(passed, self._end_of_push())
        if ahead is None:
            return
        beyond, distance = self._stops.beyond(ahead.q), -self._stops.beyond(self.q)
        contact = distance <= TOUCH
        near = ahead.joints & ~contact & (beyond > 0.0)
        if near.any():  # advance to the first contact
            fraction = np.min(distance[near] / (distance[near] + beyond[near]))
            wait_ns = max(round(fraction * (ahead.stop_ns - self.time_ns)), SHORTEST_NS)
            ahead = self._within(ahead, self.time_ns + wait_ns)
            if ahead is None:
                return
        joints, h = np.flatnonzero(ahead.joints & contact), 1e-9 * (ahead.stop_ns - self.time_ns)
        self.stop_effort = self._stops.effort(joints, self.q, ahead.v, h)
        super()._run(ahead.stop_ns, self.stop_effort)

    def _within(self, passed: Passed, stop_ns: int) -> Passed | None:
        """Return the joints that exceed their limits before `stop_ns`; advance if none does."""
        return passed if passed.stop_ns <= stop_ns else self._attempt(stop_ns)

    def _end_of_push(self) -> int:
        """Return the end time (ns) of a constant effort of the stops.

        A joint in contact would otherwise move by at most `GIVE` / 2, or for 1 us if it is faster.
        """
        contact = self._stops.beyond(self.q) >= -TOUCH
        speed = np.max(self._stops.outward_velocity(self.q, self.v), where=contact, initial=0.0)
        longest = 0.5e9 * GIVE / speed if speed > 0.0 else LONGEST_NS
        return self.time_ns + round(min(max(longest, SHORTEST_NS), LONGEST_NS))

"""Bang-bang motion of one joint, which is driven to its braking curve and then braked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.execution.braking_trace import BrakingTrace
from manip_dyn.planning.execution.joint_motion import JointMotion
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {
    "method": "DOP853",
    "rtol": 1e-13,
    "atol": 1e-14,
    "dense_output": True,
}


class Crossing(NamedTuple):
    """Time (s), position and velocity at which a driven joint meets its braking curve."""

    time: float
    position: float
    velocity: float


class BrakingCurve:
    """States (q, v) from which the effort -sign * limit stops the joint at `goal`.

    On the curve the remaining work of all efforts equals minus the kinetic energy. A switch on the
    curve makes the net work of the whole motion zero (Fan 2003, eqs. 4.45-4.48).
    """

    def __init__(self, motion: JointMotion, start: float, goal: float):
        """Integrate the curve backwards in time from rest at `goal` until it passes `start`.

        Raises:
            ManipDynError: If the effort limit is too low.
        """
        self.motion = motion
        self.goal = goal
        self.sign = 1.0 if goal > start else -1.0
        limit = float(motion.robot.tau_max[motion.joint])
        self.drive, self.brake = self.sign * limit, -self.sign * limit
        self._check_authority(start)
        solution = self._backwards(start)
        self._trace = BrakingTrace(solution.sol, self.sign)
        self._beginning = float(solution.y[0, -1])
        if self.sign * (self._beginning - start) > 1e-9:
            # A joint that starts before the beginning of the curve cannot be stopped at the goal.
            raise ManipDynError(
                f"{self._name()} cannot be stopped at {goal:.6g} from positions before "
                f"{self._beginning:.6g}: the effort limit {abs(self.drive):.6g} is below its "
                "load on the path."
            )

    def gap(self, q: float, v: float) -> float:
        """Return the speed towards the goal minus the speed of the curve at position `q`."""
        return self.sign * v - self.speed(q)

    def speed(self, q: float) -> float:
        """Return the speed of the curve at `q`: 0 beyond the goal, infinite before its start."""
        if self.sign * (self.goal - q) <= 0.0:
            return 0.0
        if self.sign * (q - self._beginning) < 0.0:
            return np.inf
        return self.sign * self._trace.velocity(self.time_to_rest(q))

    def state(self, time_to_rest: float) -> tuple[float, float]:
        """Return position and velocity on the curve `time_to_rest` s before rest."""
        return self._trace.position(time_to_rest), self._trace.velocity(time_to_rest)

    @property
    def duration(self) -> float:
        """Duration of braking along the whole curve, s."""
        return self._trace.duration

    def meet(self, q: float, v: float) -> tuple[Crossing, Callable[[float], Vector]]:
        """Drive the joint from (q, v) to the curve.

        Returns:
            The crossing, and the driven motion as a function of time.

        Raises:
            ManipDynError: If the joint does not reach the curve.
        """
        rhs = self.motion.derivative(self.drive)

        crossing = _event(lambda _t, y: max(self.gap(y[0], y[1]), -1e9), direction=1.0)
        stalled = _event(lambda t, y: self.sign * y[1] if t > 0.0 else 1.0, direction=-1.0)
        fastest = 10.0 * (self.duration + 1.0)
        while fastest < 1e6:
            trace = solve_ivp(
                rhs, (0.0, fastest), [q, v], events=[crossing, stalled], **TOLERANCES
            )
            if trace.t_events[0].size:
                time = float(trace.t_events[0][0])
                position, velocity = trace.sol(time)
                return Crossing(time, float(position), float(velocity)), trace.sol
            if trace.t_events[1].size:
                raise ManipDynError(
                    f"{self._name()} stalls at {trace.y[0, -1]:.6g} between {q:.6g} and "
                    f"{self.goal:.6g}: the effort limit {abs(self.drive):.6g} is below its "
                    "load there."
                )
            fastest *= 10.0
        raise ManipDynError(f"{self._name()} never reaches its braking curve from {q:.6g}.")

    def time_to_rest(self, q: float) -> float:
        """Return the duration of braking along the curve from position `q`, s."""
        return self._trace.time_at(q)

    def _backwards(self, start: float):
        rhs = self.motion.derivative(self.brake, direction=-1.0)

        passed_start = _event(lambda _t, y: self.sign * (y[0] - start))
        at_rest = _event(lambda t, y: self.sign * y[1] if t > 0.0 else 1.0, direction=-1.0)
        duration = 1.0
        while duration < 1e7:
            trace = solve_ivp(
                rhs,
                (0.0, duration),
                [self.goal, 0.0],
                events=[passed_start, at_rest],
                **TOLERANCES,
            )
            if trace.status == 1:
                return trace
            duration *= 10.0
        raise ManipDynError(f"{self._name()} cannot be stopped at {self.goal:.6g}.")

    def _check_authority(self, start: float) -> None:
        motion = self.motion
        if self.sign * motion.acceleration(start, 0.0, self.drive) <= 0.0:
            raise ManipDynError(
                f"{self._name()} cannot start from {start:.6g}: its load there is "
                f"{motion.load(start):.6g}, its effort limit {abs(self.drive):.6g}."
            )
        if self.sign * motion.acceleration(self.goal, 0.0, self.brake) >= 0.0:
            raise ManipDynError(
                f"{self._name()} cannot brake at its goal {self.goal:.6g}: its load there is "
                f"{motion.load(self.goal):.6g}, its effort limit {abs(self.drive):.6g}."
            )

    def _name(self) -> str:
        return f"joint '{self.motion.robot.joint_names[self.motion.joint]}'"


@dataclass(frozen=True, eq=False)
class Move:
    """Motion of a joint that is driven to its switch, then braked along the curve to rest.

    Attributes:
        curve: The braking curve to the goal.
        switch: The crossing of the driven motion with the curve.
        accelerated: Function of time (s) that returns position and velocity (2,) before the
            switch.
    """

    curve: BrakingCurve
    switch: Crossing
    accelerated: Callable[[float], Vector] = field(repr=False)

    @classmethod
    def of(cls, robot: Robot, joint: int, start: float, goal: Vector) -> Move:
        """Return the move of `joint` from `start` to its goal, with the other joints at rest.

        Args:
            robot: The arm.
            joint: Index of the joint.
            start: Start position of the joint, rad or m.
            goal: Goal positions of all joints (n,).
        """
        return _move(robot, joint, start, tuple(goal.tolist()))

    @property
    def joint(self) -> int:
        """Index of the joint."""
        return self.curve.motion.joint

    @cached_property
    def t_final(self) -> float:
        """Time of arrival at rest, s."""
        return self.switch.time + self.curve.time_to_rest(self.switch.position)


@lru_cache(maxsize=8)
def _move(robot: Robot, joint: int, start: float, goal: tuple[float, ...]) -> Move:
    """Return a cached move, because a plan may be executed many times."""
    motion = JointMotion(robot, joint, np.array(goal))
    curve = BrakingCurve(motion, start, goal[joint])
    return Move(curve, *curve.meet(start, 0.0))


def _event(function: Callable, direction: float = 0.0) -> Any:
    """Convert `function` to a terminal event of `solve_ivp`."""
    event: Any = function
    event.terminal, event.direction = True, direction
    return event

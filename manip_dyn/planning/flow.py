"""State and costate moved through arcs, with efforts at their limits or one of them singular."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.planning.equations import compiled_equations, compiled_singular
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

TOLERANCES: dict[str, Any] = {"rtol": 3e-13, "atol": 1e-13, "max_steps": 400}


class LimitFlow:
    """Moves (x, p), (4 n,), under constant efforts, with derivatives by the start."""

    share = legendre_clebsch = 0.0

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        room = (np.empty((3, n)), np.empty((3, n, n)), np.empty((3, n, 3, n)))
        self._scratch = (*np.empty((4, n)), *room)
        self._canonical = compiled_equations(robot).canonical
        engine = _compiled_variations(robot)
        self._run, self._space = engine.run, engine.space(**TOLERANCES)
        unit, zero = np.eye(2 * n).ravel(), np.zeros(4 * n * n)
        self._units = np.concatenate([unit, zero, unit])

    def choose(self, tau: Vector) -> None:
        """Set the efforts (n,)."""
        self._scratch[0][:] = tau

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        flown = self.moved_with_derivatives(y, duration)
        return None if flown is None else flown[0]

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return (x, p) after `duration` s and its derivatives (4 n, 4 n) by the start."""
        states = 2 * self.n
        long = np.concatenate([y, self._units])
        if duration != 0.0 and self._run(0.0, duration, self._scratch, long, self._space) != 0:
            return None
        xx, px, pp = long[2 * states :].reshape(3, states, states)
        by_start = np.zeros((2 * states, 2 * states))
        by_start[:states, :states], by_start[states:, :states] = xx, px
        by_start[states:, states:] = pp
        return long[: 2 * states], by_start

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        self._canonical(0.0, y, self._scratch[:5], out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._scratch[0].copy()


class SingularFlow:
    """Moves (x, p), (4 n,), while the effort of one joint keeps its switching function zero."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        inner = (*np.empty((4, n)), np.empty((3, n)))
        self._share = np.empty(2)
        self._joint = np.zeros(1, dtype=np.int64)
        self._scratch = (
            inner,
            self._joint,
            np.array(robot.tau_max),
            np.empty(4 * n),
            np.empty((n, 1 + 4 * n)),
            self._share,
        )
        self._rhs, engine = _compiled_singular(robot)
        self._run, self._space = engine.run, engine.space(**TOLERANCES)

    def choose(self, tau: Vector, joint: int) -> None:
        """Set the efforts (n,) of the others and the joint whose effort is singular."""
        self._scratch[0][0][:] = tau
        self._joint[0] = joint

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        y = y.copy()
        if duration != 0.0 and self._run(0.0, duration, self._scratch, y, self._space) != 0:
            return None
        return y

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return that and its derivatives (4 n, 4 n) by the start, by central differences."""
        end, by_start = self.moved(y, duration), np.empty((len(y), len(y)))
        for i, step in enumerate(1e-6 * (1e-2 + np.abs(y))):
            ends = [self.moved(y + sign * step * np.eye(len(y))[i], duration) for sign in (1, -1)]
            if ends[0] is None or ends[1] is None:
                return None
            by_start[:, i] = (ends[0] - ends[1]) / (2.0 * step)
        return None if end is None else (end, by_start)

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        self._rhs(0.0, y, self._scratch, out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._scratch[0][0].copy()

    @property
    def share(self) -> float:
        """The singular effort of the last rates over its limit."""
        return float(self._share[0])

    @property
    def legendre_clebsch(self) -> float:
        """By how much S'' falls with the full effort of the joint, at the last rates.

        Above 0 the arc can be optimal (Kelley, Kopp, Moyer 1967, Singular extremals).
        """
        return -float(self._share[1])


@lru_cache(maxsize=64)
def _compiled_variations(robot: Robot):
    options = Options(size=4 * robot.n + 12 * robot.n**2, adaptive=True)
    return compile_engine(compiled_equations(robot).variations, METHODS["rkdp87"], options)


@lru_cache(maxsize=64)
def _compiled_singular(robot: Robot):
    rhs = compiled_singular(robot).singular
    options = Options(size=4 * robot.n, adaptive=True)
    return rhs, compile_engine(rhs, METHODS["rkdp87"], options)


class Flow:
    """Chooses the flow of an arc by the signs of its efforts."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        self._robot = robot
        self._limit = LimitFlow(robot)

    @cached_property
    def _singular(self) -> SingularFlow:
        return SingularFlow(self._robot)

    def along(self, signs: Vector) -> LimitFlow | SingularFlow:
        """Return the flow for signs (n,), its efforts set; at most one of them may be 0."""
        tau, joints = signs * self._robot.tau_max, np.flatnonzero(signs == 0.0)
        if joints.size == 0:
            self._limit.choose(tau)
            return self._limit
        self._singular.choose(tau, int(joints[0]))
        return self._singular

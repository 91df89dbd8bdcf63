"""State and costate moved through arcs, with efforts at their limits or one of them singular."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.planning.equations import compiled_equations, compiled_singular
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

TOLERANCES = {"rtol": 1e-13, "atol": 1e-14, "max_steps": 400}


class CanonicalFlow:
    """Moves (x, p), (4 n,), under constant efforts."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        self.n = robot.n
        self._scratch = (*np.empty((4, robot.n)), np.empty((3, robot.n)))
        self._rhs, engine = _compiled_canonical(robot)
        self._run, self._space = engine.run, engine.space(**TOLERANCES)

    def choose(self, tau: Vector) -> None:
        """Set the efforts (n,)."""
        self._scratch[0][:] = tau

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        y = y.copy()
        if duration != 0.0 and self._run(0.0, duration, self._scratch, y, self._space) != 0:
            return None
        return y

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        self._rhs(0.0, y, self._scratch, out)
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
def _compiled_canonical(robot: Robot):
    rhs = compiled_equations(robot).canonical
    options = Options(size=4 * robot.n, adaptive=True)
    return rhs, compile_engine(rhs, METHODS["rkdp87"], options)


@lru_cache(maxsize=64)
def _compiled_singular(robot: Robot):
    rhs = compiled_singular(robot).singular
    options = Options(size=4 * robot.n, adaptive=True)
    return rhs, compile_engine(rhs, METHODS["rkdp87"], options)

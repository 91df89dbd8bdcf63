"""State and costate moved through arcs: efforts at limits, one singular, or joints at limits."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from manip_dyn.integrate import METHODS, Engine, Options, compile_engine
from manip_dyn.integrate.space import Space
from manip_dyn.planning.efforts import SINGULAR, kept_by
from manip_dyn.planning.equations import compiled_constrained, compiled_equations, kernels_of
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

TOLERANCES: dict[str, Any] = {"rtol": 3e-13, "atol": 1e-13, "max_steps": 400}


def _fails(engine: Engine, p: Any, y: Vector, duration: float, space: Space) -> bool:
    """Integrate `y` in place for `duration` s; return whether that failed."""
    engine.start(space, 0.0, np.array([[duration, -np.inf, np.inf, 0.0]]))
    return engine.advance(p, y, space) != 0


class LimitFlow:
    """Moves (x, p), (4 n,), under constant efforts, with derivatives by the start."""

    legendre_clebsch = 0.0

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        room = (np.empty((3, n)), np.empty((3, n, n)), np.empty((3, n, 3, n)))
        self._scratch = (kernels_of(robot), *np.empty((4, n)), *room)
        self.shares, self.forces = np.ones(n), np.zeros(n)
        self._canonical = compiled_equations().canonical
        engine = _compiled_variations(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)
        unit, zero = np.eye(2 * n).ravel(), np.zeros(4 * n * n)
        self._units = np.concatenate([unit, zero, unit])

    def choose(self, tau: Vector) -> None:
        """Set the efforts (n,)."""
        self._scratch[1][:] = tau

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        flown = self.moved_with_derivatives(y, duration)
        return None if flown is None else flown[0]

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return (x, p) after `duration` s and its derivatives (4 n, 4 n) by the start."""
        states = 2 * self.n
        long = np.concatenate([y, self._units])
        if duration != 0.0 and _fails(self._engine, self._scratch, long, duration, self._space):
            return None
        xx, px, pp = long[2 * states :].reshape(3, states, states)
        by_start = np.zeros((2 * states, 2 * states))
        by_start[:states, :states], by_start[states:, :states] = xx, px
        by_start[states:, states:] = pp
        return long[: 2 * states], by_start

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        self._canonical(0.0, y, self._scratch[:6], out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._scratch[1].copy()


class ConstrainedFlow:
    """Moves (x, p), (4 n,), while an effort is singular or joints are kept at limits.

    A singular effort keeps the switching function of its joint zero. A joint at a limit of
    position or speed has no acceleration, so an effort, its own or another one, lies between the
    limits and its switching function is zero too, by the force with which the limit acts on the
    costates.
    """

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        inner = (kernels_of(robot), *np.empty((4, n)), np.empty((3, n)))
        self._share, self._forces = np.empty(2), np.empty(n)
        self._joint, self._held = np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._limits = np.array(robot.tau_max)
        self._scratch = (
            inner,
            self._joint,
            self._limits,
            np.empty(4 * n),
            np.empty((n, 1 + 4 * n)),
            self._share,
            self._held,
            np.empty((3, n, n)),
            self._forces,
        )
        self._rhs, engine = _compiled_constrained(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)

    def choose(self, signs: Vector) -> None:
        """Set what the efforts (n,) do, as `Switching` says."""
        singular = np.flatnonzero(signs == SINGULAR)
        self._joint[0] = singular[0] if singular.size else -1
        for effort, value in enumerate(signs.tolist()):
            kept, _ = kept_by(effort, value) or (effort, 1.0)
            self._held[effort] = kept if abs(value) > 1.0 else -1
        self._scratch[0][1][:] = np.where(self._held < 0, signs, 0.0) * self._limits

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        y = y.copy()
        if duration != 0.0 and _fails(self._engine, self._scratch, y, duration, self._space):
            return None
        return y

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return that and its derivatives (4 n, 4 n) by the start, by differences."""
        end, by_start = self.moved(y, duration), np.empty((len(y), len(y)))
        for i, step in enumerate(1e-7 * (1e-1 + np.abs(y))):
            moved = self.moved(y + step * np.eye(len(y))[i], duration)
            if end is None or moved is None:
                return None
            by_start[:, i] = (moved - end) / step
        return None if end is None else (end, by_start)

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        self._rhs(0.0, y, self._scratch, out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._scratch[0][1].copy()

    @property
    def shares(self) -> Vector:
        """The efforts (n,) of the last rates over their limits."""
        return np.asarray(self.tau / self._limits, dtype=np.float64)

    @property
    def forces(self) -> Vector:
        """What limits added to -p_v' (n,) in the last rates."""
        return np.zeros(self.n) if self._joint[0] >= 0 else self._forces.copy()

    @property
    def legendre_clebsch(self) -> float:
        """By how much S'' falls with the full effort of the singular joint, at the last rates.

        Above 0 the arc can be optimal (Kelley, Kopp, Moyer 1967, Singular extremals).
        """
        return -float(self._share[1]) if self._joint[0] >= 0 else 0.0


@lru_cache(maxsize=64)
def _compiled_variations(n: int):
    options = Options(size=4 * n + 12 * n**2, adaptive=True)
    return compile_engine(compiled_equations().variations, METHODS["rkdp87"], options)


@lru_cache(maxsize=64)
def _compiled_constrained(n: int):
    rhs = compiled_constrained().constrained
    options = Options(size=4 * n, adaptive=True)
    return rhs, compile_engine(rhs, METHODS["rkdp87"], options)


class Flow:
    """Chooses the flow of an arc by the signs of its efforts."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        self._robot = robot
        self._limit = LimitFlow(robot)

    @cached_property
    def _constrained(self) -> ConstrainedFlow:
        return ConstrainedFlow(self._robot)

    def along(self, signs: Vector) -> LimitFlow | ConstrainedFlow | None:
        """Return the flow for what the efforts (n,) do, or None where there is none.

        One effort may be singular, or any joints at their limits.
        """
        singular, held = np.count_nonzero(signs == SINGULAR), np.any(np.abs(signs) > 1.0)
        if singular > 1 or (singular == 1 and held):
            return None
        if not singular and not held:
            self._limit.choose(signs * self._robot.tau_max)
            return self._limit
        self._constrained.choose(signs)
        return self._constrained

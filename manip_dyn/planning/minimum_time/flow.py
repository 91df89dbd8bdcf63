"""State and costate moved through arcs: efforts at limits, one singular, or boundary arcs."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.by_reference import by_reference
from manip_dyn.core.checks import Vector
from manip_dyn.core.rebuilt import Rebuilt
from manip_dyn.integrate import METHODS, Engine, Options, Space, compile_engine
from manip_dyn.planning.minimum_time.controls import Controls, directions
from manip_dyn.planning.minimum_time.equations import (
    arc_of,
    canonical,
    constrained,
    constrained_arc_of,
    variations,
)
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {"rtol": 3e-13, "atol": 1e-13, "max_steps": 400}


def _fails(engine: Engine, p: Any, y: Vector, duration: float, space: Space) -> bool:
    """Integrate `y` in place for `duration` s; return whether that failed."""
    return engine.run(0.0, duration, p, y, space) != 0


class LimitFlow:
    """Moves (x, p), (4 n,), under constant efforts, with derivatives by the start."""

    legendre_clebsch = 0.0

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        self._arc = by_reference(arc_of(robot))
        self.shares, self.forces = np.ones(n), np.zeros(n)
        engine = _compiled_variations(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)
        unit, zero = np.eye(2 * n).ravel(), np.zeros(4 * n * n)
        self._units = np.concatenate([unit, zero, unit])

    def choose(self, tau: Vector) -> None:
        """Set the efforts (n,)."""
        self._arc.tau[:] = tau

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        flown = self.moved_with_derivatives(y, duration)
        return None if flown is None else flown[0]

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return (x, p) after `duration` s and its derivatives (4 n, 4 n) by the start."""
        states = 2 * self.n
        long = np.concatenate([y, self._units])
        if duration != 0.0 and _fails(self._engine, self._arc, long, duration, self._space):
            return None
        xx, px, pp = long[2 * states :].reshape(3, states, states)
        by_start = np.zeros((2 * states, 2 * states))
        by_start[:states, :states], by_start[states:, :states] = xx, px
        by_start[states:, states:] = pp
        return long[: 2 * states], by_start

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        canonical(0.0, y, self._arc, out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._arc.tau.copy()


class ConstrainedFlow:
    """Moves (x, p), (4 n,), while an effort is singular or joints are kept at limits."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        n = self.n = robot.n
        self._arc = by_reference(constrained_arc_of(robot))
        engine = _compiled_constrained(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)

    def choose(self, controls: Controls) -> None:
        """Set what the efforts (n,) do."""
        arc, singular = self._arc, [k for k, each in enumerate(controls) if each.is_singular]
        arc.joint[0] = singular[0] if singular else -1
        arc.indirect[0] = max(
            (effort for effort, each in enumerate(controls) if each.is_indirect), default=-1
        )
        for effort, each in enumerate(controls):
            arc.kept[effort] = each.kept_or_own(effort) if each.is_at_limit else -1
        arc.arc.tau[:] = directions(controls) * arc.limits

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None where the numbers end."""
        y = y.copy()
        if duration != 0.0 and _fails(self._engine, self._arc, y, duration, self._space):
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
        constrained(0.0, y, self._arc, out)
        return out

    @property
    def tau(self) -> Vector:
        """The efforts (n,) of the last rates."""
        return self._arc.arc.tau.copy()

    @property
    def shares(self) -> Vector:
        """The efforts (n,) of the last rates over their limits."""
        return np.asarray(self.tau / self._arc.limits, dtype=np.float64)

    @property
    def forces(self) -> Vector:
        """What limits added to -p_v' (n,) in the last rates."""
        return np.zeros(self.n) if self._arc.joint[0] >= 0 else self._arc.forces.copy()

    @property
    def legendre_clebsch(self) -> float:
        """By how much S'' falls with the full effort of the singular joint, at the last rates.

        Above 0 the arc can be optimal (Kelley, Kopp, Moyer 1967, Singular extremals).
        """
        return -float(self._arc.share[1]) if self._arc.joint[0] >= 0 else 0.0


@lru_cache(maxsize=64)
def _compiled_variations(n: int) -> Engine:
    options = Options(size=4 * n + 12 * n**2, adaptive=True)
    return compile_engine(variations, METHODS["rkdp87"], options)


@lru_cache(maxsize=64)
def _compiled_constrained(n: int) -> Engine:
    return compile_engine(constrained, METHODS["rkdp87"], Options(size=4 * n, adaptive=True))


class Flow(Rebuilt):
    """Chooses the flow of an arc by what its efforts do."""

    def __init__(self, robot: Robot):
        """Take the robot."""
        self._robot = robot
        self._limit = LimitFlow(robot)

    @cached_property
    def _constrained(self) -> ConstrainedFlow:
        return ConstrainedFlow(self._robot)

    def along(self, controls: Controls) -> LimitFlow | ConstrainedFlow | None:
        """Return the flow for what the efforts (n,) do, or None where there is none.

        One effort may be singular, or any joints at their limits.
        """
        singular = sum(each.is_singular for each in controls)
        at_limit = any(each.is_at_limit for each in controls)
        if singular > 1 or (singular == 1 and at_limit):
            return None
        if not singular and not at_limit:
            self._limit.choose(directions(controls) * self._robot.tau_max)
            return self._limit
        self._constrained.choose(controls)
        return self._constrained

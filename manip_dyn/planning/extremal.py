"""Extremals: motions that meet all of Pontryagin's conditions, by Newton's method on times.

Unknown are the costates at the start (2 n), the times of the m switches and the final time. As
many equations: rest at the goal (2 n), a switching function that is zero at each of its switches
(m) and H = 0 at the end. Their derivatives come from the variational equations, so Newton's
method is exact; the costates enter linearly and need no guess. This is shooting over as many
arcs as there are (Kaya, Noakes 2003, Computational method for time-optimal switching control;
for the conditions Pontryagin et al. 1962, for robots Fan 2003, section 2.3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.planning.equations import compiled_equations
from manip_dyn.planning.switching import Switching
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

ITERATIONS = 25
CONVERGED = 1e-11
"""Scaled residual at which Newton's method has arrived."""


class Extremal(NamedTuple):
    """A motion and its costates.

    Attributes:
        switching: Signs, switches and final time.
        costate: Costates (2 n,) at the start, s per unit of the state.
        residual: Largest violation of the conditions, positions and speeds as they are.
        curvature: Least second derivative of the final time along changes of the switches that
            still arrive, s/s^2; inf where there are none. Below 0 it is no local minimum.
    """

    switching: Switching
    costate: Vector
    residual: float
    curvature: float


class Shot(NamedTuple):
    """What a structure with costates leads to.

    Attributes:
        residual: Final state minus goal (2 n,), switching functions at switches (m,), H (1,).
        jacobian: Its derivatives by costates, switches and final time.
        by_unknown: Derivatives of the final (x, p) by the unknowns (4 n, 2 n + m + 1).
    """

    residual: Vector
    jacobian: Vector
    by_unknown: Vector


class Shooter:
    """Shoots for one start and goal."""

    def __init__(self, robot: Robot, q0: Vector, qf: Vector):
        """From rest at `q0` (n,) to rest at `qf` (n,)."""
        n = self.n = robot.n
        self.limits = np.array(robot.tau_max)
        self.start = np.concatenate([q0, np.zeros(n)])
        self.goal = np.concatenate([qf, np.zeros(n)])
        self._equations: Any = compiled_equations(robot)
        engine = compiled_variations(robot)
        self._run = engine.run
        self._space = engine.space(rtol=1e-12, atol=1e-13, max_steps=2000)
        self._scratch = (
            np.empty(n),
            np.empty(n),
            np.empty(n),
            np.empty(n),
            np.empty((3, n)),
            np.empty((3, n, n)),
            np.empty((3, n, 3, n)),
        )
        self._rates = np.empty(4 * n + 12 * n * n)

    def solve(self, switching: Switching) -> Extremal | None:
        """Return the extremal that Newton's method finds from a structure, or None.

        The structure may come out with fewer switches: those that meet cancel.
        """
        for _ in range(4):
            found = self._newton(switching)
            if found is None:
                return None
            switching = found.switching
            rounding = 1e-9 * switching.t_final
            if np.all(np.diff([0.0, *switching.times, switching.t_final]) > -rounding):
                ordered = np.clip(np.maximum.accumulate(switching.times), 0.0, switching.t_final)
                return found._replace(switching=switching._replace(times=ordered))
            switching = switching.tidied()
        return None

    def _newton(self, switching: Switching) -> Extremal | None:
        n, m = self.n, len(switching.joints)
        unknown = np.concatenate([np.zeros(2 * n), switching.times, [switching.t_final]])
        shot = self.shoot(switching, unknown)
        if shot is None:
            return None
        # Zero costates: the switching functions and H are linear in them.
        rows = shot.jacobian[2 * n :, : 2 * n]
        unknown[: 2 * n] = np.linalg.lstsq(rows, -shot.residual[2 * n :], rcond=1e-12)[0]
        shot = self.shoot(switching, unknown)
        weights = self._weights(m, switching.t_final)
        for _ in range(ITERATIONS):
            if shot is None:
                return None
            size = np.abs(weights * shot.residual).max()
            if size < CONVERGED:
                break
            step = -_solved(weights[:, None] * shot.jacobian, weights * shot.residual)
            share = min(1.0, 0.5 * switching.t_final / max(np.abs(step[2 * n :]).max(), 1e-30))
            trial = None
            while share > 1e-3:
                trial = self.shoot(switching, unknown + share * step)
                if trial is not None and np.abs(weights * trial.residual).max() < size:
                    break
                share *= 0.5
            if share <= 1e-3 or trial is None:
                break
            unknown, shot = unknown + share * step, trial
        if shot is None or np.abs(weights * shot.residual).max() > 1e-8:
            return None
        found = switching._replace(times=unknown[2 * n : -1], t_final=float(unknown[-1]))
        residual = float(np.abs(shot.residual).max())
        return Extremal(found, unknown[: 2 * n], residual, self._curvature(found, shot))

    def _weights(self, m: int, t_final: float) -> Vector:
        """Return what makes the equations comparable: speeds times time, efforts at limits."""
        n = self.n
        return np.concatenate(
            [np.ones(n), np.full(n, t_final), np.full(m, self.limits.mean()), np.ones(1)]
        )

    def shoot(self, switching: Switching, unknown: Vector) -> Shot | None:
        """Return where the unknowns lead to, or None where the numbers end."""
        n = self.n
        states, switches = 2 * n, len(switching.joints)
        tau, *_, by, slopes, curves = self._scratch
        y, rates = np.empty(len(self._rates)), self._rates
        unit = np.eye(states)
        x_by, p_by = np.zeros((states, len(unknown))), np.zeros((states, len(unknown)))
        p_by[:, :states] = unit
        y[:states], y[states : 2 * states] = self.start, unknown[:states]
        residual = np.empty(states + switches + 1)
        jacobian = np.empty((len(residual), len(unknown)))
        moved = switching._replace(times=unknown[states:-1], t_final=unknown[-1])
        for place, (begin, end, signs) in enumerate(moved.arcs()):
            tau[:] = signs * self.limits
            blocks = y[2 * states :].reshape(3, states, states)
            blocks[0], blocks[1], blocks[2] = unit, 0.0, unit
            if place > 0:
                self._equations.variations(0.0, y, self._scratch, rates)
                x_by[:, states + place - 1] -= rates[:states]
                p_by[:, states + place - 1] -= rates[states : 2 * states]
            if begin != end and self._run(0.0, end - begin, self._scratch, y, self._space) != 0:
                return None
            p_by = blocks[1] @ x_by + blocks[2] @ p_by
            x_by = blocks[0] @ x_by
            self._equations.variations(0.0, y, self._scratch, rates)
            x_by[:, states + place] += rates[:states]
            p_by[:, states + place] += rates[states : 2 * states]
            if place < switches:
                joint = switching.joints[place]
                residual[states + place] = by[2, joint]
                jacobian[states + place] = (
                    curves[2, joint, 0] @ x_by[:n] + slopes[2, joint] @ p_by[n:]
                )
        residual[:states], jacobian[:states] = y[:states] - self.goal, x_by
        residual[-1] = 1.0 + y[states : 2 * states] @ rates[:states]
        jacobian[-1] = rates[:states] @ p_by - rates[states : 2 * states] @ x_by
        if not np.all(np.isfinite(jacobian)):
            return None
        return Shot(residual, jacobian, np.concatenate([x_by, p_by]))

    def _curvature(self, switching: Switching, shot: Shot) -> float:
        """Return the least eigenvalue of the Lagrangian's Hessian where the goal is kept.

        The derivative of the Lagrangian T + p(T) . (x(T) - goal) by a switch is the jump of H
        there, 2 s limit S with s the sign before it, and by T it is H.
        """
        n, m = self.n, len(switching.joints)
        ends = shot.by_unknown
        x_by_time, p_by_costate, p_by_time = (
            ends[: 2 * n, 2 * n :],
            ends[2 * n :, : 2 * n],
            ends[2 * n :, 2 * n :],
        )
        _, sizes, right = np.linalg.svd(x_by_time)
        free = right[int((sizes > 1e-9 * sizes[0]).sum()) :]
        if len(free) == 0:
            return np.inf
        jumps = np.ones(m + 1)
        for place, (_, _, signs) in enumerate(switching.arcs()[:-1]):
            joint = switching.joints[place]
            jumps[place] = 2.0 * signs[joint] * self.limits[joint]
        rows = shot.jacobian[2 * n :]
        kept = rows[:, 2 * n :] - rows[:, : 2 * n] @ np.linalg.solve(p_by_costate, p_by_time)
        hessian = jumps[:, None] * kept
        reduced = free @ (0.5 * (hessian + hessian.T)) @ free.T
        return float(np.linalg.eigvalsh(reduced)[0])


@lru_cache(maxsize=64)
def compiled_variations(robot: Robot):
    """Return the engine of the canonical equations with their variations."""
    options = Options(size=4 * robot.n + 12 * robot.n**2, adaptive=True)
    return compile_engine(compiled_equations(robot).variations, METHODS["rkdp87"], options)


def _solved(matrix: Vector, right: Vector) -> Vector:
    """Return the solution of least norm where there are several or none."""
    try:
        found = np.linalg.solve(matrix, right)
        if np.all(np.isfinite(found)) and np.abs(matrix @ found - right).max() < 1e-6:
            return found
    except np.linalg.LinAlgError:
        pass
    return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]

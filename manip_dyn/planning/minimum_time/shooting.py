"""Extremals: motions that satisfy all of Pontryagin's conditions, computed by Newton's method.

The unknowns are the initial costates (2 n), the times of the m switches and the final time. The
same number of equations determines them: rest at the goal (2 n), a zero switching function at each
switch (m), and H = 0 at the end. Derivatives come from the variational equations, so Newton's
method is exact. The arcs between switches are the shooting intervals (Kaya, Noakes 2003,
Computational method for time-optimal switching control; for the conditions Pontryagin et al. 1962,
for robots Fan 2003, section 2.3).

A joint that reaches a limit is on a boundary arc until its next switch, and its switching function
is zero on that arc. A speed limit adds the condition that the speed equals the limit. A position
limit adds the condition that the joint comes to rest at the limit, and a jump of the position's
costate as another unknown (Bryson, Ho 1975, Applied optimal control, sections 3.10 to 3.12; Hartl,
Sethi, Vickson 1995, SIAM Review 37, section 4, with direct adjoining).

The effort k of any joint can hold joint i at its speed limit: a_i = 0 determines the effort, S_k =
0 the multiplier. Since H is continuous, an effort can only jump where its S is zero, and only the
costate of v_i can jump, towards the inside. A handover to another effort l therefore occurs either
where S_l = 0, or where k has reached its limit. In the second case a_i = 0 holds with both efforts
at limits, S_l falls to zero with that costate, and S_k gets the sign that matches its limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.solvers import Damping, damped_newton
from manip_dyn.planning.minimum_time.budget import UNLIMITED, Budget
from manip_dyn.planning.minimum_time.flow import Flow
from manip_dyn.planning.minimum_time.structures import (
    Control,
    Controls,
    Extremal,
    Guess,
    Kind,
    Switching,
    full,
    held_throughout,
    is_smooth,
)
from manip_dyn.robot import Robot

Condition = tuple[float, float, Vector]
"""Weight and value of a condition, and its derivatives (4 n,) with respect to (x, p)."""


class SwitchConditions:
    """Conditions at the switches of motions from one start."""

    def __init__(
        self,
        robot: Robot,
        q0: Vector,
        acceleration: Callable[[Vector, int, Controls], tuple[float, Vector]],
    ):
        """Store the start (n,) and the function for joint accelerations and their derivatives."""
        n, limits = robot.n, np.array(robot.tau_max)
        self.n, self._robot, self._weight = n, robot, float(limits.mean())
        self._kernels, self._acceleration = customize(robot).unchecked, acceleration
        inverse = np.linalg.inv(self._kernels.mass_matrix(np.asarray(q0)))
        self._gains = np.diag(inverse) * limits

    def at(
        self, y: Vector, joint: int, previous: Controls, value: Control, after: Controls
    ) -> list[Condition]:
        """Return the conditions at a switch.

        The conditions are a zero switching function; a zero rate of it where a singular arc ends;
        a zero distance from the limit where a joint leaves it or has a contact point; and a zero
        acceleration where the joint enters or leaves smoothly. The switching functions of efforts
        that hold other joints remain zero.
        """
        n, before = self.n, previous[joint]
        q, v, p_q, p_v = y.reshape(4, n).copy()
        if before.is_full and value.is_full:
            return [self._switching_function(q, v, p_v, joint)]
        if before.is_singular:
            return [self._rate_of_switching_function(q, v, p_q, p_v, joint, after)]
        conditions: list[Condition] = []
        if value.kind == Kind.CONTACT_SPEED or is_smooth(before, value):
            holding = value if value.is_boundary_arc_of_speed else before
            held, free = holding.held_or_own(joint), list(after)
            free[joint] = before if before.is_full else after[joint]
            conditions.append((1.0 / self._gains[held], *self._acceleration(y, held, tuple(free))))
            conditions += [
                self._switching_function(q, v, p_v, effort)
                for effort, _ in held_throughout(previous, after, joint)
            ]
        limiting = value if value.is_contact else before
        if limiting.is_at_limit:
            held = limiting.held_or_own(joint)
            speed, position = limits_of(self._robot, joint, limiting)
            unit = np.eye(4 * n)
            conditions.append((1.0, float(v[held] - speed), unit[n + held]))
            if before.is_indirect:
                free = list(after)
                free[joint] = full(1.0)
                conditions.append(
                    (1.0 / self._gains[held], *self._acceleration(y, held, tuple(free)))
                )
            if position is not None:
                conditions.append((1.0, float(q[held] - position), unit[held]))
            return conditions
        return [*conditions, self._switching_function(q, v, p_v, joint)]

    def _rate_of_switching_function(
        self, q: Vector, v: Vector, p_q: Vector, p_v: Vector, joint: int, after: Controls
    ) -> Condition:
        """Return weight, rate and derivatives (4 n,), with the force of a limit, if there is one.

        See `equations.singular_at_limit`.
        """
        rows = self._kernels.switching_rates(q, v, p_q, p_v)
        row = rows[joint]
        holders = [k for k, c in enumerate(after) if k != joint and c.is_at_limit]
        if len(holders) == 1:
            (k,) = holders
            n, held = self.n, after[k].held_or_own(k)
            inverse = self._kernels.forward_dynamics_derivatives(q, v, v)[2]
            unit = np.eye(n)[held]
            curves = self._kernels.forward_dynamics_second_derivatives(q, v, v, unit)[2, :, 0]
            ratio = inverse[joint, held] / inverse[k, held]
            by_q = (curves[joint] - ratio * curves[k]) / inverse[k, held]
            row = row - ratio * rows[k]
            row[1 : 1 + n] -= rows[k, 0] * by_q
        return self._weight, float(row[0]), row[1:]

    def _switching_function(self, q: Vector, v: Vector, p_v: Vector, joint: int) -> Condition:
        """Return weight, value and derivatives (4 n,), which do not depend on the efforts."""
        n, slopes = self.n, np.zeros(4 * self.n)
        curves = self._kernels.forward_dynamics_second_derivatives(q, v, v, p_v)[2, joint, 0]
        inverse = self._kernels.forward_dynamics_derivatives(q, v, v)[2, joint]
        slopes[:n], slopes[3 * n :] = curves, inverse
        return self._weight, float(inverse @ p_v), slopes


def limits_of(robot: Robot, joint: int, control: Control) -> tuple[float, float | None]:
    """Return speed and position of a joint at a limit; the position is None for a speed limit.

    This is the limit at which the effort of `joint` holds its own or another joint.
    """
    held, side = control.held(joint) or (joint, control.direction)
    if control.is_about_speed:
        return float(side * robot.v_max[held]), None
    return 0.0, float((robot.q_max if side > 0.0 else robot.q_min)[held])


DAMPING = Damping(most=25, converged=1e-11, shrink=0.5, least=0.02)
CAUTIOUS = 4
"""Number of first steps in which an arc loses at most half of its length, for structures with
contact points."""
ARRIVED = 1e-8
"""Largest weighted residual of an extremal."""


class Shot(NamedTuple):
    """Result of a shot: residuals and derivatives for a structure and its unknowns.

    Attributes:
        residual: Final state minus goal (2 n,), conditions at the switches, H (1,).
        jacobian: Derivatives of the residual with respect to the unknowns: costates, switches,
            final time and jumps.
        by_unknown: Derivatives of the final (x, p) with respect to the unknowns (4 n, all).
        weights: Weights that make the equations comparable: distances, and speeds times duration,
            relative to the distance; normalized efforts at limits.
        offset: First-order effect on the residual of closing the gaps between arcs.
        gaps: Differences in (x, p) between the ends of arcs and the starts of the next arcs.
        nodes: (x, p) at the starts of the arcs (arcs, 4 n), for multiple shooting.
        follow: Derivatives of the nodes with respect to the unknowns, and the step that closes the
            gaps (arcs, 4 n, all + 1).
    """

    residual: Vector
    jacobian: Vector
    by_unknown: Matrix
    weights: Vector
    offset: Vector
    gaps: Vector
    nodes: Matrix
    follow: Tensor


class Shooter:
    """Shooting method for one start and goal.

    Attributes:
        shots: Number of remaining shots.
    """

    def __init__(self, robot: Robot, q0: Vector, qf: Vector, budget: Budget = UNLIMITED):
        """Prepare motions from rest at `q0` (n,) to rest at `qf` (n,)."""
        n, self._budget = robot.n, budget
        self.n, self.shots = n, inf
        self.limits = np.array(robot.tau_max)
        self.start = np.concatenate([q0, np.zeros(n)])
        self.goal = np.concatenate([qf, np.zeros(n)])
        self._distance = min(1.0, float(np.abs(self.goal - self.start).max()))
        self.flow = Flow(robot)
        self._conditions = SwitchConditions(robot, q0, self.flow.acceleration)

    def solve(self, switching: Switching, guess: Callable[[Switching], Guess]) -> Extremal | None:
        """Compute the extremal with a structure by Newton's method, or return None.

        The result may have fewer switches, because coinciding switches cancel. `guess` returns the
        guess for a structure.
        """
        for _ in range(4):
            with np.errstate(all="ignore"):  # non-finite values are rejected later
                extremal = self._newton(switching, guess(switching))
            if extremal is None:
                return None
            switching = extremal.switching
            rounding = 1e-9 * switching.t_final
            if np.all(np.diff([0.0, *switching.times, switching.t_final]) > -rounding):
                ordered = np.clip(np.maximum.accumulate(switching.times), 0.0, switching.t_final)
                return extremal._replace(switching=switching._replace(times=ordered))
            switching = switching.tidied()
        return None

    def _newton(self, switching: Switching, guess: Guess) -> Extremal | None:
        n, m = self.n, len(switching.joints)
        unknown = np.concatenate(
            [guess.costate, switching.times, [switching.t_final], guess.jumps]
        )
        shot = self.shoot(switching, unknown, guess.nodes)
        if shot is None:
            return None

        def step(x: Vector, here: Shot) -> tuple[Vector, float]:
            weights = here.weights
            right = weights * (here.residual + here.offset)
            step = -_solved(weights[:, None] * here.jacobian, right)
            moved = step[2 * n : 2 * n + m + 1]
            fraction = min(1.0, 0.5 * switching.t_final / max(np.abs(moved).max(), 1e-30))
            if is_cautious and next(steps) < CAUTIOUS:
                fraction = min(fraction, _step_fraction(x[2 * n : 2 * n + m + 1], moved))
            return np.append(step, here.follow @ np.append(step, 1.0)), fraction

        def evaluate(x: Vector) -> Shot | None:
            return self.shoot(switching, x[:count], x[count:].reshape(-1, 4 * n))

        is_cautious = switching.contacts > 0
        count = len(unknown)
        steps, unknown = itertools.count(), np.append(unknown, shot.nodes)
        unknown, end, _ = damped_newton(unknown, shot, evaluate, _size, step, DAMPING)
        unknown = unknown[:count]
        if not _size(end) <= ARRIVED:
            return None
        t_final = float(unknown[2 * n + m])
        solution = switching._replace(times=unknown[2 * n : 2 * n + m], t_final=t_final)
        residual = float(np.abs(end.residual).max())
        free = not (switching.has_singular or switching.has_limits)
        curvature = np.inf
        if free:
            curvature = curvature_of(self._jumps(solution), end.by_unknown, end.jacobian)
        return Extremal(solution, unknown[: 2 * n], unknown[2 * n + m + 1 :], residual, curvature)

    def _jumps(self, switching: Switching) -> Vector:
        """Return the jumps of H divided by S at switches of full efforts, and 1 for the end."""
        jumps = np.ones(len(switching.joints) + 1)
        for arc, (_, _, controls) in enumerate(switching.arcs()[:-1]):
            joint = switching.joints[arc]
            jumps[arc] = 2.0 * controls[joint].direction * self.limits[joint]
        return jumps

    def shoot(self, switching: Switching, unknown: Vector, nodes: Matrix) -> Shot | None:
        """Return the residuals for the unknowns, with arcs that start at `nodes` (arcs, 4 n).

        The result is None if the integration fails, or if no shots or no time are left.
        """
        if self.shots <= 0:
            return None
        self.shots -= 1
        n = self.n
        states, switches, jumping = 2 * n, len(switching.joints), switching.jumps()
        last = states + switches
        y = np.concatenate([self.start, unknown[:states]])
        by_unknown = np.zeros((2 * states, len(unknown)))
        by_unknown[states:, :states] = np.eye(states)
        gap_effect, offset = np.zeros(2 * states), [0.0] * states
        begins, follow, gaps = list[Vector](), list[Matrix](), [0.0]
        moved = switching._replace(times=unknown[states:last], t_final=float(unknown[last]))
        weights: list[float] = [1.0 / self._distance] * n + [
            switching.t_final / self._distance
        ] * n
        residual: list[float] = [0.0] * states
        jacobian: list[Vector] = [np.zeros(len(unknown))] * states
        rates = np.empty(2 * states)
        arcs = moved.arcs()
        for arc, (begin, end, controls) in enumerate(arcs):
            flow = self.flow.along(controls)
            if flow is None or self._budget.is_over:
                return None
            gap = y - nodes[arc] if arc > 0 else gap_effect
            gap_effect, y = gap_effect + gap, y - gap
            gaps.append(float(np.abs(gap).max()))
            begins.append(y)
            follow.append(np.column_stack([by_unknown, gap_effect]))
            if arc > 0:
                by_unknown[:, states + arc - 1] -= flow.rates(y)
            flown = flow.moved_with_derivatives(y, end - begin)
            if flown is None:
                return None
            y, by_start = flown
            rates = flow.rates(y)
            by_unknown = by_start @ by_unknown
            gap_effect = by_start @ gap_effect
            by_unknown[:, states + arc] += rates
            if arc < switches:
                joint, value = switching.joints[arc], switching.values[arc]
                for column, (switch, component) in enumerate(jumping, start=last + 1):
                    if switch == arc:
                        y[component] += unknown[column]
                        by_unknown[component, column] += 1.0
                if _has_zero_rate(arcs, arc, joint):
                    continue
                conditions = self._conditions.at(y, joint, controls, value, arcs[arc + 1][2])
                for weight, zero, slopes in conditions:
                    weights.append(weight)
                    residual.append(zero)
                    jacobian.append(slopes @ by_unknown)
                    offset.append(float(slopes @ gap_effect))
        jacobian[:states] = by_unknown[:states]
        residual[:states] = y[:states] - self.goal
        gradient = np.concatenate([-rates[states:], rates[:states]])
        residual.append(float(1.0 + y[states:] @ rates[:states]))
        jacobian.append(gradient @ by_unknown)
        offset[:states] = gap_effect[:states]
        offset.append(float(gradient @ gap_effect))
        weights.append(1.0)
        rows = np.array(jacobian)
        if not np.all(np.isfinite(rows)):
            return None
        return Shot(
            np.array(residual),
            rows,
            by_unknown,
            np.array(weights),
            np.array(offset),
            np.array(gaps),
            np.array(begins),
            np.array(follow),
        )


def _step_fraction(times: Vector, moved: Vector) -> float:
    """Return the fraction of a step that preserves at least half of each arc.

    If an arc vanished in a first, inaccurate step, Newton's method would often fail.
    """
    lengths, falls = np.diff(times, prepend=0.0), -np.diff(moved, prepend=0.0)
    return float(np.min(0.5 * lengths[falls > 0.0] / falls[falls > 0.0], initial=1.0))


def _size(shot: Shot) -> float:
    """Return the largest weighted residual or gap."""
    return max(float(np.abs(shot.weights * shot.residual).max()), float(shot.gaps.max()))


def _solved(matrix: Vector, right: Vector) -> Vector:
    """Solve a linear system; if it is singular, return the least-norm solution."""
    try:
        solution = np.linalg.solve(matrix, right)
        if np.all(np.isfinite(solution)) and np.abs(matrix @ solution - right).max() < 1e-6:
            return np.asarray(solution, dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0], dtype=np.float64)


def _has_zero_rate(arcs: list[tuple[float, float, Controls]], arc: int, joint: int) -> bool:
    """Return whether a switching function is known to have a zero rate after a singular arc.

    This is the case after an arc on which the effort holds another joint indirectly, because no
    jump of the costates changes the rate.
    """
    first = arc
    while first > 0 and arcs[first][2][joint].is_singular:
        first -= 1
    return arcs[arc][2][joint].is_singular and arcs[first][2][joint].is_indirect


def curvature_of(jumps: Vector, by_unknown: Matrix, jacobian: Matrix) -> float:
    """Return the smallest eigenvalue of the Lagrangian's Hessian under the goal constraint.

    The derivative of the Lagrangian T + p(T) . (x(T) - goal) with respect to a switch time is the
    jump of H, 2 s limit S with the sign s before the switch. That with respect to T is H.

    Args:
        jumps: Jumps of H divided by S at the switches of full efforts, and 1 for H (m + 1,).
        by_unknown: Derivatives of the final (x, p) with respect to the unknowns (4 n, all).
        jacobian: Derivatives of the conditions with respect to the unknowns.
    """
    n = len(by_unknown) // 4
    x_by_time, p_by_costate, p_by_time = (
        by_unknown[: 2 * n, 2 * n :],
        by_unknown[2 * n :, : 2 * n],
        by_unknown[2 * n :, 2 * n :],
    )
    _, sizes, right = np.linalg.svd(x_by_time)
    free = right[int((sizes > 1e-9 * sizes[0]).sum()) :]
    if len(free) == 0:
        return np.inf
    rows = jacobian[2 * n :]
    eliminated = rows[:, 2 * n :] - rows[:, : 2 * n] @ np.linalg.solve(p_by_costate, p_by_time)
    hessian = jumps[:, None] * eliminated
    reduced = free @ (0.5 * (hessian + hessian.T)) @ free.T
    return float(np.linalg.eigvalsh(reduced)[0])

"""Costates and certificates of motions on grids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.certificate import Convergence, GridSearchSummary
from manip_dyn.planning.minimum_time.nodes import derivatives_at, inverse_kernels_of
from manip_dyn.planning.minimum_time.splines import (
    FREE_EFFORT,
    NEAR_POSITION,
    NEAR_SPEED,
    GridSolution,
    RefinedSolution,
    efforts_of,
    exceeded_limit,
)
from manip_dyn.planning.minimum_time.structures import Guess, Switching
from manip_dyn.robot import Robot


class Costates(NamedTuple):
    """Costates, switching functions and Hamiltonians at nodes (k,).

    Attributes:
        times: Node times (k,), s.
        costates: Costates (k, 2 n), s per unit of the state.
        switching: Switching functions (k, n), s per unit of effort and second.
        hamiltonians: Hamiltonians H = 1 + p . dx/dt (k,) with the states x and the costates p.
    """

    times: Vector
    costates: Matrix
    switching: Matrix
    hamiltonians: Vector


def costates_of(robot: Robot, solved: GridSolution) -> Costates:
    """Return the costates at the nodes, without two nodes at each end.

    The multiplier of an effort limit at a node is the switching function S = M^-1 p_v times the
    cell duration: relaxing the limit for one cell shortens the motion by this amount. p_q follows
    from dp_v/dt = -p_q + D^T S - nu, where D contains the derivatives of the efforts with respect
    to the speeds, and nu the multipliers of the speed limits (Hartl, Sethi, Vickson 1995, eq.
    4.2). With differences and means in each cell, this is the condition for the control points of
    the spline, so jumps of p_v at speed limits do not affect p_q. At both ends a node represents
    only part of a cell.
    """
    spline = solved.spline
    times = np.linspace(0.0, spline.duration, spline.cells + 1)
    q, v, a = spline.joints(times)
    by = np.empty((len(q), 3, robot.n, robot.n))
    derivatives_at(inverse_kernels_of(robot), q, v, a, by)
    switching = -spline.cells * solved.effort / robot.tau_max
    force = spline.cells * solved.speed[:-1] / robot.v_max
    p_v = np.einsum("kij,kj->ki", by[:, 2], switching)
    drag = np.einsum("kji,kj->ki", by[:, 1], switching)
    p_q = 0.5 * (drag[1:] + drag[:-1]) - np.diff(p_v, axis=0) / times[1] - force  # in the cells
    p_q, p_v, v, a = 0.5 * (p_q[2:-1] + p_q[1:-2]), p_v[2:-2], v[2:-2], a[2:-2]
    hamiltonians = 1.0 + np.sum(p_q * v + p_v * a, axis=1)
    return Costates(times[2:-2], np.hstack([p_q, p_v]), switching[2:-2], hamiltonians)


REFINEMENT_RATIO = 3.0
"""Each grid has four times the cells of the previous one, so the remaining first-order error is
a third of the difference between both."""


def convergence(
    robot: Robot, solution: RefinedSolution, searched: GridSearchSummary
) -> Convergence:
    """Return the certificate of a refined motion."""
    uniform, solved = solution.uniform, solution.solved
    along = costates_of(robot, uniform._replace(effort=uniform.last_effort))
    t_final = solution.spline.duration
    on_grid = solution.durations[-1]
    barrier = on_grid * (solved.weight * solved.limits + abs(solved.promised))
    grid = max(solution.durations[-2] - on_grid, 0.0) / REFINEMENT_RATIO
    times = np.linspace(0.0, t_final, 4 * solution.spline.cells + 1)
    q, v, _ = solution.spline.joints(times)
    return Convergence(
        gap=t_final - on_grid + barrier + grid,
        t_final=t_final,
        kkt=abs(solved.promised),
        hamiltonian=float(np.sqrt(np.mean(along.hamiltonians**2))),
        load=solution.load,
        durations=tuple(solution.durations),
        cells=solved.spline.cells,
        times=along.times * (t_final / uniform.spline.duration),
        costates=along.costates,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
        passed=exceeded_limit(robot, times, q, v),
        searched=searched,
    )


FREE_FRACTION = 0.02
"""Fraction of the duration for which an effort must be undetermined."""


def undetermined_fraction(robot: Robot, solved: GridSolution) -> float:
    """Return the fraction of the duration for which the conditions do not determine all efforts.

    Each joint at a position or speed limit determines one effort between its limits. If at least
    two joints are not at a limit, their switching functions determine one singular effort.
    """
    loads = efforts_of(robot, solved.spline, solved.spline.cells) / robot.tau_max
    free = np.count_nonzero(np.abs(loads) < FREE_EFFORT, axis=1)
    at_limit = [
        np.abs(force) * near > solved.weight
        for force, near in ((solved.place, NEAR_POSITION), (solved.speed, NEAR_SPEED))
    ]
    active = np.count_nonzero(np.hstack(at_limit), axis=1)
    singular = active < max(robot.n - 1, 1)
    return float(np.mean(free > active + singular))


FIT, LATER = (4, 40), 4
"""Nodes from which the initial costates are extrapolated, and number of cells after the start of
an arc at which its costates are read because they jump at limits, on 2048 cells."""


class GuessedCostates:
    """Costates of one motion, and the forces of its position and speed limits.

    Attributes:
        push: Multipliers of the effort limits (nodes, n).
    """

    def __init__(self, robot: Robot, solved: GridSolution):
        """Compute the costates of a motion on a grid."""
        self.push = solved.effort
        self._robot, self._solved = robot, solved
        self._along = costates_of(robot, solved)
        ratio = solved.spline.cells / 2048
        begin = max(round(FIT[0] * ratio), 1)
        fit = slice(begin, max(round(FIT[1] * ratio), begin + 5))
        self._later = max(round(LATER * ratio), 1)
        line = np.polyfit(self._along.times[fit], self._along.costates[fit], 1)
        self._first = np.asarray(line[1], dtype=np.float64)

    def guess(self, switching: Switching) -> Guess:
        """Return the guess for an extremal with a structure detected in the motion."""
        return Guess(self._first, self._jumps(switching), self._nodes(switching))

    def _nodes(self, switching: Switching) -> Matrix:
        """Return state and costate (arcs, 4 n) at the starts of the arcs.

        On a boundary arc of position, the costate of the position has its value before the arc, as
        in `shooting`.
        """
        solved, arcs = self._solved, switching.arcs()
        wait = self._later * switching.t_final / solved.spline.cells
        later = [min(begin + wait, 0.5 * (begin + end)) for begin, end, _ in arcs]
        q, v, _ = solved.spline.joints(np.array([begin for begin, _, _ in arcs]))
        p = [np.interp(later, self._along.times, values) for values in self._along.costates.T]
        nodes = np.hstack([q, v, np.array(p).T])
        nodes[0, 2 * self._robot.n :] = self._first
        for arc in range(len(arcs)):
            for joint in range(self._robot.n):
                begin = _begin_at_position(switching, arc, joint)
                if begin is not None:
                    impulse = self._impulse(begin - wait, later[arc], joint, False)
                    nodes[arc, 2 * self._robot.n + joint] += impulse
        return nodes

    def _jumps(self, switching: Switching) -> Vector:
        """Return the costate jumps: impulses of the limits before the switches."""
        n, jumps = self._robot.n, []
        wait = self._later * switching.t_final / self._solved.spline.cells
        for switch, component in switching.jumps():
            joint, t, is_speed = component % n, float(switching.times[switch]), component >= 3 * n
            begin = None if is_speed else _begin_at_position(switching, switch, joint)
            first = (t if begin is None else begin) - wait
            jumps.append(-self._impulse(first, t + wait, joint, is_speed))
        return np.array(jumps)

    def _impulse(self, begin: float, end: float, joint: int, is_speed: bool) -> float:
        """Return the contribution of a joint's limit to a costate between two times, s."""
        solved, cells = self._solved, self._solved.spline.cells
        first, last = (int(t / solved.spline.duration * cells) for t in (max(begin, 0.0), end))
        force = (solved.speed if is_speed else solved.place)[first : last + 1, joint]
        scale = float(self._robot.v_max[joint]) if is_speed else solved.scale
        return solved.spline.duration / scale * float(force.sum())


def _begin_at_position(switching: Switching, arc: int, joint: int) -> float | None:
    """Return the time, s, since which a joint is held at a position limit, or None."""
    begin = None
    for start, _, controls in reversed(switching.arcs()[: arc + 1]):
        if not any(
            control.is_boundary_arc_of_position and control.held_or_own(effort) == joint
            for effort, control in enumerate(controls)
        ):
            break
        begin = start
    return begin

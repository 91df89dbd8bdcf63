"""Costates of motions refined on grids, as initial guesses for extremals."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.extremals.structure import Guess, Switching
from manip_dyn.planning.transcription.planner import costates_of
from manip_dyn.planning.transcription.spline import GridSolution
from manip_dyn.robot import Robot

FIT = slice(4, 40)
"""Number of nodes from which the initial costates are extrapolated."""
LATER = 4
"""Number of cells after the start of an arc at which its costates are read, because they jump
at limits."""


class RefinedCostates:
    """Costates of one motion, and the forces of its position and speed limits."""

    def __init__(self, robot: Robot, solved: GridSolution):
        """Compute the costates of a motion on its finest grid."""
        self._robot, self._solved = robot, solved
        self._along = costates_of(robot, solved)
        line = np.polyfit(self._along.times[FIT], self._along.costates[FIT], 1)
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
        h = switching.t_final / solved.spline.cells
        later = [min(begin + LATER * h, 0.5 * (begin + end)) for begin, end, _ in arcs]
        q, v, _ = solved.spline.joints(np.array([begin for begin, _, _ in arcs]))
        p = [np.interp(later, self._along.times, values) for values in self._along.costates.T]
        nodes = np.hstack([q, v, np.array(p).T])
        nodes[0, 2 * self._robot.n :] = self._first
        for arc in range(len(arcs)):
            for joint in range(self._robot.n):
                begin = _begin_at_position(switching, arc, joint)
                if begin is not None:
                    nodes[arc, 2 * self._robot.n + joint] += self._impulse(
                        begin - LATER * h, later[arc], joint, False
                    )
        return nodes

    def _jumps(self, switching: Switching) -> Vector:
        """Return the costate jumps: impulses of the limits before the switches."""
        n, jumps, h = self._robot.n, [], switching.t_final / self._solved.spline.cells
        for switch, component in switching.jumps():
            joint, t, is_speed = component % n, float(switching.times[switch]), component >= 3 * n
            begin = None if is_speed else _begin_at_position(switching, switch, joint)
            first = (t if begin is None else begin) - LATER * h
            jumps.append(-self._impulse(first, t + LATER * h, joint, is_speed))
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

"""Costates of motions that were refined on grids: a first guess for those of an extremal."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.extremals.structure import Guess, Switching
from manip_dyn.planning.transcription.planner import costates_of
from manip_dyn.planning.transcription.spline import GridSolution
from manip_dyn.robot import Robot

FIT = slice(4, 40)
"""Nodes from which the costates at the start are extrapolated."""
LATER = 4
"""Cells after the begin of an arc at which its costates are taken: at limits they jump."""


class RefinedCostates:
    """The costates of one motion, and the forces of its limits of position and speed."""

    def __init__(self, robot: Robot, solved: GridSolution):
        """Take the motion on its finest grid."""
        self._robot, self._solved = robot, solved
        self._along = costates_of(robot, solved)
        line = np.polyfit(self._along.times[FIT], self._along.costates[FIT], 1)
        self._first = np.asarray(line[1], dtype=np.float64)

    def guess(self, switching: Switching) -> Guess:
        """Return what is known of an extremal with a structure that was read off the motion."""
        return Guess(self._first, self._jumps(switching), self._nodes(switching))

    def _nodes(self, switching: Switching) -> Matrix:
        """Return state and costate (arcs, 4 n) at the begins of the arcs.

        On a boundary arc of position the costate of the joint's position is what it was before
        it, see `equations`.
        """
        solved, arcs = self._solved, switching.arcs()
        h = switching.t_final / solved.spline.cells
        later = [min(begin + LATER * h, 0.5 * (begin + end)) for begin, end, _ in arcs]
        q, v, _ = solved.spline.joints(np.array([begin for begin, _, _ in arcs]))
        p = [np.interp(later, self._along.times, each) for each in self._along.costates.T]
        nodes = np.hstack([q, v, np.array(p).T])
        nodes[0, 2 * self._robot.n :] = self._first
        for place in range(len(arcs)):
            for joint in range(self._robot.n):
                begin = _begin_at_position(switching, place, joint)
                if begin is not None:
                    nodes[place, 2 * self._robot.n + joint] += self._impulse(
                        begin - LATER * h, later[place], joint, False
                    )
        return nodes

    def _jumps(self, switching: Switching) -> Vector:
        """Return by how much costates jump: the impulses of the limits until then."""
        n, found, h = self._robot.n, [], switching.t_final / self._solved.spline.cells
        for place, component in switching.jumps():
            joint, t, is_speed = component % n, float(switching.times[place]), component >= 3 * n
            begin = None if is_speed else _begin_at_position(switching, place, joint)
            first = (t if begin is None else begin) - LATER * h
            found.append(-self._impulse(first, t + LATER * h, joint, is_speed))
        return np.array(found)

    def _impulse(self, begin: float, end: float, joint: int, is_speed: bool) -> float:
        """Return what a limit of a joint adds to a costate between two times, s."""
        solved, cells = self._solved, self._solved.spline.cells
        first, last = (int(t / solved.spline.duration * cells) for t in (max(begin, 0.0), end))
        force = (solved.speed if is_speed else solved.place)[first : last + 1, joint]
        scale = float(self._robot.v_max[joint]) if is_speed else solved.scale
        return solved.spline.duration / scale * float(force.sum())


def _begin_at_position(switching: Switching, place: int, joint: int) -> float | None:
    """Return since when a joint is kept at a limit of position in an arc, s; None if it is not."""
    begin = None
    for start, _, controls in reversed(switching.arcs()[: place + 1]):
        if not any(
            each.is_boundary_arc_of_position and each.kept_or_own(effort) == joint
            for effort, each in enumerate(controls)
        ):
            break
        begin = start
    return begin

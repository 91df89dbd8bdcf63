"""Costates and the Hamiltonian along a motion, from the multipliers of its limits at nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.interior_points.node_motion import derivatives_at, inverse_kernels_of
from manip_dyn.planning.transcription.solved import Solved
from manip_dyn.robot import Robot


class Costates(NamedTuple):
    """What Pontryagin's principle is about, at nodes (k,).

    Attributes:
        times: s.
        costates: (k, 2 n), s per unit of the state.
        switching: Switching functions (k, n), s per effort and second.
        hamiltonians: H = 1 + p . x' (k,).
    """

    times: Vector
    costates: Matrix
    switching: Matrix
    hamiltonians: Vector


def costates_of(robot: Robot, solved: Solved) -> Costates:
    """Return the costates at the nodes between start and goal.

    A limit of effort that gives way for one cell shortens the motion by the switching function
    S = M^-1 p_v times the cell: that is its multiplier. p_q follows from
    p_v' = -p_q + D' S - nu, with D the derivative of the efforts by the speeds and nu the
    multipliers of the limits of speed (Hartl, Sethi, Vickson 1995, eq. 4.2).
    """
    spline = solved.spline
    times = np.linspace(0.0, spline.duration, spline.cells + 1)
    q, v, a = spline.joints(times)
    by = np.empty((len(q), 3, robot.n, robot.n))
    derivatives_at(inverse_kernels_of(robot), q, v, a, by)
    switching = -spline.cells * solved.effort / robot.tau_max
    force = spline.cells * solved.speed / robot.v_max
    force[1:] = 0.5 * (force[1:] + force[:-1])
    p_v = np.einsum("kij,kj->ki", by[:, 2], switching)
    slope = np.gradient(p_v, times, axis=0)
    p_q = np.einsum("kji,kj->ki", by[:, 1], switching) - slope - force
    hamiltonians = 1.0 + np.sum(p_q * v + p_v * a, axis=1)
    inner = slice(2, -2)  # at both ends a node stands for part of a cell
    return Costates(
        times[inner], np.hstack([p_q, p_v])[inner], switching[inner], hamiltonians[inner]
    )

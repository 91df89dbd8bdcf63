"""Peak work on each link, with the load and, as appendix A.7 computes it, without.

A.7 takes the kinetic energy of a link for the work on it, and leaves out the load M that its
equations of motion have::

    work_1 = (I1 + m1 lc1^2) v1^2 / 2
    work_2 = (I2 + m2 lc2^2) (v1 + v2)^2 / 2 + m2 l1^2 v1^2 / 2 + m2 l1 lc2 cos(q2) v1 (v1 + v2)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.robot import Robot


class PeakRow(NamedTuple):
    """The largest work on a link of a zero-net-work motion.

    Attributes:
        case: Table.
        link: 1 or 2.
        axis: Where the axis of the thesis's figure ends, J; None where it is not readable.
        peak: Computed, J.
        unloaded: By A.7's formula, without the load, J; None for arms without one.
        status: Which of the two fits the figure's axis.
    """

    case: str
    link: int
    axis: float | None
    peak: float
    unloaded: float | None
    status: str


def link_energies(robot: Robot, q: Matrix, v: Matrix) -> Matrix:
    """Return the kinetic energies (k, 2) of the links of a planar arm of two revolute joints, J.

    Args:
        robot: The arm, axes parallel to z.
        q: Positions (k, 2), rad.
        v: Velocities (k, 2), rad/s.
    """
    first, second = robot.bodies
    l1, turn = second.translation[0], v[:, 0] + v[:, 1]
    lc1, lc2 = first.com[0], second.com[0]
    about_1 = first.inertia[2, 2] + first.mass * lc1**2
    about_2 = second.inertia[2, 2] + second.mass * lc2**2
    coupled = second.mass * l1 * lc2 * np.cos(q[:, 1]) * v[:, 0] * turn
    carried = 0.5 * second.mass * (l1 * v[:, 0]) ** 2
    return np.column_stack(
        [0.5 * about_1 * v[:, 0] ** 2, 0.5 * about_2 * turn**2 + carried + coupled]
    )


def peak_row(
    case: str, link: int, axis: float | None, peak: float, unloaded: float | None
) -> PeakRow:
    """Return a row with its status."""
    return PeakRow(case, link, axis, peak, unloaded, _fits(axis, peak, unloaded))


def _fits(axis: float | None, peak: float, unloaded: float | None) -> str:
    if axis is None:
        return "no number to compare"
    if peak <= axis:
        return "fits the figure"
    if unloaded is not None and unloaded <= axis:
        return "fits the figure without the load only"
    return "beyond the figure"

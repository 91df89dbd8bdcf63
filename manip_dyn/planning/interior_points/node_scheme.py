"""How positions, speeds and accelerations at nodes follow from what is unknown there.

Each is a sum of three: the unknowns before, at and after the node. Unknown are the positions
themselves, with central differences, or the control points of a cubic spline, whose positions,
speeds and accelerations are exact (de Boor 1978, A practical guide to splines, chapter IX).
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.interior_points.node_motion import NodeScheme


def central_differences(n: int, nodes: int) -> NodeScheme:
    """Return the scheme of positions at nodes; beyond both ends the motion is mirrored."""
    cells = nodes - 1
    place, speed, bend = _inner(nodes, (0.0, 1.0, 0.0))
    speed[[0, -1]] = 0.0
    bend[0], bend[-1] = (
        (0.0, -2.0 * cells**2, 2.0 * cells**2),
        (2.0 * cells**2, -2.0 * cells**2, 0),
    )
    stretch = np.full(nodes, float(cells))
    return NodeScheme(
        place,
        speed,
        bend,
        stretch,
        np.zeros((nodes, 3, n)),
        np.zeros((nodes, n)),
        np.zeros((nodes, n)),
        np.zeros(n),
    )


def cubic_spline(v0: Vector, vf: Vector, nodes: int, origin: Vector) -> NodeScheme:
    """Return the scheme of the control points of a cubic spline with equal cells.

    Args:
        v0: Speeds at the start (n,), rad/s or m/s.
        vf: Speeds at the goal (n,).
        nodes: How many, at least 5.
        origin: Positions (n,) from which control points are counted.

    Unknown is what the control points have beyond that and `drift`.
    """
    n, cells, h = len(v0), nodes - 1, 1.0 / (nodes - 1)
    place, speed, bend = _inner(nodes, (1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0))
    lead, pull = np.zeros((nodes, 3, n)), np.zeros((nodes, n))
    stretch = np.full(nodes, float(cells))
    stretch[[0, -2]] *= 1.5
    for end, near, side, v in ((0, 1, 1.0, v0), (-1, -2, -1.0, vf)):
        outwards = slice(None, None, int(side))
        place[end], speed[end], bend[end] = (0.0, 1.0, 0.0), 0.0, 0.0
        bend[end, outwards] = -0.0, -3.0 * cells**2, 3.0 * cells**2
        place[near, outwards] = 1.5 / 6.0, 3.5 / 6.0, 1.0 / 6.0
        speed[near, outwards] = -0.75 * side * cells, 0.25 * side * cells, 0.5 * side * cells
        bend[near, outwards] = 1.5 * cells**2, -2.5 * cells**2, cells**2
        lead[end, 1], lead[end, 2] = v, -3.0 * side * cells * v
        lead[near] = side * h / 12.0 * v, -0.25 * v, 0.5 * side * cells * v
    pull[0], pull[-2] = -0.5 * v0, -0.5 * vf
    shift = drift(np.linspace(0.0, 1.0, nodes), v0, vf)
    beside = np.stack([shift[np.r_[0, :cells]], shift, shift[np.r_[1:nodes, cells]]], axis=1)
    for order, shares in enumerate((place, speed, bend)):
        lead[:, order] += np.einsum("kc,kci->ki", shares, beside)
    pull[:-1] += stretch[:-1, None] * np.diff(shift, axis=0)
    return NodeScheme(place, speed, bend, stretch, lead, pull, shift, origin)


def drift(z: Vector, v0: Vector, vf: Vector) -> Matrix:
    """Return smooth displacements (k, n) at shares `z` (k,) of 1 s that have the speeds alone.

    A longer motion drifts farther. Unknown is what control points have beyond it, so that a
    change of the duration leaves the accelerations near the ends nearly as they are.
    """
    leave = z - z**3 * (6.0 - 8.0 * z + 3.0 * z * z)
    arrive = -(z**3) * (4.0 - 7.0 * z + 3.0 * z * z)
    return np.outer(leave, v0) + np.outer(arrive, vf)


def _inner(nodes: int, place: tuple[float, float, float]) -> tuple[Matrix, Matrix, Matrix]:
    """Return shares in position, speed and acceleration (nodes, 3) far from the ends."""
    cells = float(nodes - 1)
    speed = -0.5 * cells, 0.0, 0.5 * cells
    bend = cells**2, -2.0 * cells**2, cells**2
    position, rate, curve = (np.tile(each, (nodes, 1)) for each in (place, speed, bend))
    return position, rate, curve

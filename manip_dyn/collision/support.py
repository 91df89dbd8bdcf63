"""Tables of extreme points: which points of a convex piece can be extreme in which directions.

Directions are divided into the cells of a cube map. The table lists for each cell the points that
may be extreme in one of its directions, so that a support function compares few points. Let c be
the centre of a cell, whose directions n satisfy |n - c| <= s, and let u be the extreme point in
direction c. A point v can be extreme for such an n only if c.(u - v) <= s |u - v|, because
n.(u - v) <= 0 and (c - n).(u - v) <= s |u - v|.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.core.compiled import inlined

SIDE = 8
"""Number of cells along each side of the faces of the cube."""
FEWEST = 17
"""Smallest number of points of a piece with a table."""


@inlined
def cell_of(x, y, z):
    """Return the cell of a direction that is not 0."""
    a, b, c = abs(x), abs(y), abs(z)
    if a >= b and a >= c:
        face, length, u, v = 0 if x > 0.0 else 1, a, y, z
    elif b >= c:
        face, length, u, v = 2 if y > 0.0 else 3, b, z, x
    else:
        face, length, u, v = 4 if z > 0.0 else 5, c, x, y
    scale = 0.5 * SIDE / length
    i = min(int(scale * (u + length)), SIDE - 1)
    j = min(int(scale * (v + length)), SIDE - 1)
    return (face * SIDE + i) * SIDE + j


def extreme_points(points: Matrix) -> list[np.ndarray]:
    """Return the indices of the points (m, 3) that may be extreme, for each of the 6 SIDE^2 cells.

    The directions of a cell form a spherical quadrilateral. The corner farthest from its centre
    bounds s.
    """
    edges = np.linspace(-1.0, 1.0, SIDE + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    result = []
    for face in range(6):
        sign, axis = 1.0 - 2.0 * (face % 2), face // 2
        for i in range(SIDE):
            for j in range(SIDE):
                rows = np.empty((5, 3))
                rows[:, axis] = sign
                rows[:, (axis + 1) % 3] = [middles[i], *np.repeat(edges[i : i + 2], 2)]
                rows[:, (axis + 2) % 3] = [middles[j], *np.tile(edges[j : j + 2], 2)]
                rows /= np.linalg.norm(rows, axis=1)[:, None]
                centre = rows[0]
                width = np.linalg.norm(rows[1:] - centre, axis=1).max()
                extents = points @ centre
                top = extents.argmax()
                away = np.linalg.norm(points - points[top], axis=1)
                slack = (1.0 + 1e-9) * width * away + 1e-12
                result.append(np.flatnonzero(extents[top] - extents <= slack))
    return result

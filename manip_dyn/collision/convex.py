"""Convex pieces in compiled code: support functions, and directions that separate two pieces.

The closest points of two cores are found with the algorithm of Gilbert, Johnson and Keerthi (1988,
A fast procedure for computing the distance between complex objects in three-dimensional space).
They define a direction n. The gap in this direction follows from the support functions of both
pieces. It is a lower bound of the distance for any n, so that proofs depend only on the gap.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from manip_dyn.collision.shapes import CYLINDER, HALF_SPACE
from manip_dyn.collision.support import cell_of
from manip_dyn.core import arrays
from manip_dyn.core.compiled import compiled, inlined

ITERATIONS = 64
"""Largest number of iterations of the search for the closest points."""
CONVERGED = 1e-11
"""Relative gap between the squared distance and its lower bound at which the search ends."""
CONTACT = 1e-24
"""Squared distance, m^2, below which cores are in contact."""


class Bodies(NamedTuple):
    """Bodies of a robot for forward kinematics; see `manip_dyn.robot.Body`."""

    parent: arrays.Index
    prismatic: arrays.Flags
    rotation: arrays.Tensor
    translation: arrays.Matrix


class Pieces(NamedTuple):
    """Convex pieces (k,) in body frames; see `manip_dyn.collision.shapes.Piece`.

    Attributes:
        kind: Kinds (k,) of the cores.
        body: Bodies (k,); the number of bodies for the base.
        begin: Index (k + 1,) of the first point of each core.
        points: Points of the cores (m, 3), m.
        axis: Axes (k, 3) of cylinders and normals of half-spaces.
        disc: Radii (k,) of the bases of cylinders, m.
        radius: Distances (k,) by which the cores are enlarged, m.
        centre: Centres (k, 3) of balls that contain the pieces, m.
        ball: Radii (k,) of these balls, m; inf for half-spaces.
        table: Index (k,) of the first cell of each piece in `cell`; -1 without a table of extreme
            points, see `manip_dyn.collision.support`.
        cell: Index (c + 1,) of the first point of each cell in `extreme`.
        extreme: Indices of the points that may be extreme in the directions of each cell.
    """

    kind: arrays.Index
    body: arrays.Index
    begin: arrays.Index
    points: arrays.Matrix
    axis: arrays.Matrix
    disc: arrays.Vector
    radius: arrays.Vector
    centre: arrays.Matrix
    ball: arrays.Vector
    table: arrays.Index
    cell: arrays.Index
    extreme: arrays.Index


class PiecePairs(NamedTuple):
    """Pairs (p,) of pieces, and the joints that move the second relative to the first.

    Attributes:
        first: Indices (p,) of the first pieces, which may be half-spaces.
        second: Indices (p,) of the second pieces.
        chain: Index (p,) of the chain of joints between both.
        begin: Index (c + 1,) of the first joint of each chain in `joints`.
        joints: Joints of all chains, from the first to the second body.
    """

    first: arrays.Index
    second: arrays.Index
    chain: arrays.Index
    begin: arrays.Index
    joints: arrays.Index


@compiled
def place_bodies(bodies, q, poses):
    """Write the poses (n + 1, 12) of the bodies at q (n,): origin, then rotation by rows.

    The last row is the base.
    """
    n = q.size
    for k in range(12):
        poses[n, k] = 0.0
    poses[n, 3] = poses[n, 7] = poses[n, 11] = 1.0
    for i in range(n):
        above = bodies.parent[i]
        if above < 0:
            above = n
        if bodies.prismatic[i]:
            c, s, z = 1.0, 0.0, q[i]
        else:
            c, s, z = np.cos(q[i]), np.sin(q[i]), 0.0
        for r in range(3):
            a, b, d = poses[above, 3 + 3 * r], poses[above, 4 + 3 * r], poses[above, 5 + 3 * r]
            x = a * bodies.rotation[i, 0, 0] + b * bodies.rotation[i, 1, 0]
            x += d * bodies.rotation[i, 2, 0]
            y = a * bodies.rotation[i, 0, 1] + b * bodies.rotation[i, 1, 1]
            y += d * bodies.rotation[i, 2, 1]
            w = a * bodies.rotation[i, 0, 2] + b * bodies.rotation[i, 1, 2]
            w += d * bodies.rotation[i, 2, 2]
            t = bodies.translation[i]
            poses[i, r] = poses[above, r] + a * t[0] + b * t[1] + d * t[2] + w * z
            poses[i, 3 + 3 * r] = c * x + s * y
            poses[i, 4 + 3 * r] = c * y - s * x
            poses[i, 5 + 3 * r] = w


@inlined
def to_body(poses, body, x, y, z):
    """Return the components of a direction in the frame of a body."""
    return (
        poses[body, 3] * x + poses[body, 6] * y + poses[body, 9] * z,
        poses[body, 4] * x + poses[body, 7] * y + poses[body, 10] * z,
        poses[body, 5] * x + poses[body, 8] * y + poses[body, 11] * z,
    )


@inlined
def from_body(poses, body, x, y, z):
    """Return the components in the base frame of a direction in the frame of a body."""
    return (
        poses[body, 3] * x + poses[body, 4] * y + poses[body, 5] * z,
        poses[body, 6] * x + poses[body, 7] * y + poses[body, 8] * z,
        poses[body, 9] * x + poses[body, 10] * y + poses[body, 11] * z,
    )


@inlined
def point_in_base(poses, body, x, y, z):
    """Return the components in the base frame of a point in the frame of a body."""
    u, v, w = from_body(poses, body, x, y, z)
    return poses[body, 0] + u, poses[body, 1] + v, poses[body, 2] + w


@compiled(python=False, counted=False)
def extreme_point(pieces, piece, x, y, z):
    """Return the extent of a core in a direction (body frame), and a point that attains it."""
    first, end = pieces.begin[piece], pieces.begin[piece + 1]
    tabled = pieces.table[piece] >= 0 and x * x + y * y + z * z > 0.0
    best, index = -np.inf, first
    if tabled:
        cell = pieces.table[piece] + cell_of(x, y, z)
        first, end = pieces.cell[cell], pieces.cell[cell + 1]
    for c in range(first, end):
        k = pieces.extreme[c] if tabled else c
        extent = x * pieces.points[k, 0] + y * pieces.points[k, 1] + z * pieces.points[k, 2]
        if extent > best:
            best, index = extent, k
    px, py, pz = pieces.points[index, 0], pieces.points[index, 1], pieces.points[index, 2]
    if pieces.kind[piece] == CYLINDER:
        ax, ay, az = pieces.axis[piece, 0], pieces.axis[piece, 1], pieces.axis[piece, 2]
        along = x * ax + y * ay + z * az
        sx, sy, sz = x - along * ax, y - along * ay, z - along * az
        along = sx * ax + sy * ay + sz * az  # rounding, if the direction is nearly axial
        sx, sy, sz = sx - along * ax, sy - along * ay, sz - along * az
        length = sqrt(sx * sx + sy * sy + sz * sz)
        best += pieces.disc[piece] * length
        if length > 0.0:
            scale = pieces.disc[piece] / length
            px, py, pz = px + scale * sx, py + scale * sy, pz + scale * sz
    return best, px, py, pz


@compiled(python=False, counted=False)
def gap(pieces, first, second, poses, x, y, z):
    """Return the gap between two pieces in a direction, m.

    It is the smallest value of n.b - n.a over the points a of the first and b of the second piece,
    a lower bound of their distance.

    Args:
        pieces: All pieces.
        first: Index of the first piece. If it is a half-space, n must be its normal.
        second: Index of the second piece, which is not a half-space.
        poses: Poses of the bodies (n + 1, 12).
        x: Component of the unit vector n in the frame of the first piece's body.
        y: Second component.
        z: Third component.
    """
    a, b = pieces.body[first], pieces.body[second]
    if pieces.kind[first] == HALF_SPACE:
        k = pieces.begin[first]
        extent = x * pieces.points[k, 0] + y * pieces.points[k, 1] + z * pieces.points[k, 2]
    else:
        extent = extreme_point(pieces, first, x, y, z)[0]
    u, v, w = from_body(poses, a, x, y, z)
    offset = u * (poses[b, 0] - poses[a, 0]) + v * (poses[b, 1] - poses[a, 1])
    offset += w * (poses[b, 2] - poses[a, 2])
    p, q, r = to_body(poses, b, -u, -v, -w)
    offset -= extreme_point(pieces, second, p, q, r)[0] + extent
    return offset - pieces.radius[first] - pieces.radius[second]


@compiled(python=False, counted=False)
def difference_point(pieces, first, second, poses, x, y, z):
    """Return the point b - a with the smallest component along a direction, and b, base frame."""
    a, b = pieces.body[first], pieces.body[second]
    u, v, w = to_body(poses, a, x, y, z)
    _, px, py, pz = extreme_point(pieces, first, u, v, w)
    ax, ay, az = point_in_base(poses, a, px, py, pz)
    u, v, w = to_body(poses, b, -x, -y, -z)
    _, px, py, pz = extreme_point(pieces, second, u, v, w)
    bx, by, bz = point_in_base(poses, b, px, py, pz)
    return bx - ax, by - ay, bz - az, bx, by, bz


@compiled(python=False, counted=False)
def closest_of_simplex(corners, count, kept):
    """Find the point of a simplex that is closest to the origin.

    All faces with the last corner are tried. The corners (4, 6) of the best face are moved to the
    front. Their last three components are the points of the second piece. The closest point is a
    convex combination of the corners even if a face is degenerate, so that its distance from the
    origin is an upper bound.

    Returns:
        The number of corners of the face and its closest point. The number is 5 if the origin is
        in the tetrahedron.
    """
    last = count - 1
    best, size = np.inf, 0
    bx, by, bz = 0.0, 0.0, 0.0
    mask_best = 0
    for mask in range(1 << last):
        # corners of the face: the last corner, and those in the mask
        members = 0
        for k in range(last):
            if mask >> k & 1:
                kept[members] = k
                members += 1
        ox, oy, oz = corners[last, 0], corners[last, 1], corners[last, 2]
        x, y, z, valid = ox, oy, oz, True
        if members == 1:
            i = kept[0]
            ex, ey, ez = corners[i, 0] - ox, corners[i, 1] - oy, corners[i, 2] - oz
            square = ex * ex + ey * ey + ez * ez
            t = -(ex * ox + ey * oy + ez * oz) / square
            valid = square > 0.0 and 0.0 <= t <= 1.0
            x, y, z = ox + t * ex, oy + t * ey, oz + t * ez
        elif members == 2:
            i, j = kept[0], kept[1]
            ex, ey, ez = corners[i, 0] - ox, corners[i, 1] - oy, corners[i, 2] - oz
            fx, fy, fz = corners[j, 0] - ox, corners[j, 1] - oy, corners[j, 2] - oz
            nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
            square = nx * nx + ny * ny + nz * nz
            # barycentric coordinates of the projection of the origin
            cx, cy, cz = oy * fz - oz * fy, oz * fx - ox * fz, ox * fy - oy * fx
            s = -(cx * nx + cy * ny + cz * nz) / square
            cx, cy, cz = ey * oz - ez * oy, ez * ox - ex * oz, ex * oy - ey * ox
            t = -(cx * nx + cy * ny + cz * nz) / square
            valid = square > 0.0 and s >= 0.0 and t >= 0.0 and s + t <= 1.0
            x, y, z = ox + s * ex + t * fx, oy + s * ey + t * fy, oz + s * ez + t * fz
        elif members == 3:
            ex, ey, ez = corners[0, 0] - ox, corners[0, 1] - oy, corners[0, 2] - oz
            fx, fy, fz = corners[1, 0] - ox, corners[1, 1] - oy, corners[1, 2] - oz
            gx, gy, gz = corners[2, 0] - ox, corners[2, 1] - oy, corners[2, 2] - oz
            nx, ny, nz = fy * gz - fz * gy, fz * gx - fx * gz, fx * gy - fy * gx
            volume = ex * nx + ey * ny + ez * nz
            r = -(ox * nx + oy * ny + oz * nz) / volume
            nx, ny, nz = gy * ez - gz * ey, gz * ex - gx * ez, gx * ey - gy * ex
            s = -(ox * nx + oy * ny + oz * nz) / volume
            nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
            t = -(ox * nx + oy * ny + oz * nz) / volume
            valid = volume != 0.0 and r >= 0.0 and s >= 0.0 and t >= 0.0 and r + s + t <= 1.0
            x = ox + r * ex + s * fx + t * gx
            y = oy + r * ey + s * fy + t * gy
            z = oz + r * ez + s * fz + t * gz
            if valid and x * x + y * y + z * z < CONTACT:
                return 5, 0.0, 0.0, 0.0
            valid = False
        square = x * x + y * y + z * z
        if valid and square < best:
            best, mask_best, size = square, mask, members + 1
            bx, by, bz = x, y, z
    write = 0
    for k in range(last):
        if mask_best >> k & 1:
            for c in range(6):
                corners[write, c] = corners[k, c]
            write += 1
    for c in range(6):
        corners[write, c] = corners[last, c]
    return size, bx, by, bz


@compiled(python=False, counted=False)
def separation(pieces, first, second, poses, normal, corners, kept, limit):
    """Return an upper bound of the distance of two pieces, m, and write a direction of separation.

    The direction `normal` (3,), a unit vector in the frame of the first piece's body, is the
    initial guess. It is not changed if the cores overlap. `nearest_point` requires the last
    simplex, which is written to `corners` (5, 6), with the number of its corners in `kept[3]`.

    Returns:
        The distance of two points of the pieces, or minus the sum of their radii if the cores
        overlap. If the distance exceeds `limit`, m, a lower bound of it that exceeds `limit`.
    """
    radii = pieces.radius[first] + pieces.radius[second]
    a = pieces.body[first]
    if pieces.kind[first] == HALF_SPACE:
        for k in range(3):
            normal[k] = pieces.axis[first, k]
        return gap(pieces, first, second, poses, normal[0], normal[1], normal[2])
    dx, dy, dz = from_body(poses, a, normal[0], normal[1], normal[2])
    x, y, z, px, py, pz = difference_point(pieces, first, second, poses, dx, dy, dz)
    lower = dx * x + dy * y + dz * z - radii
    if lower > limit:
        return lower
    corners[0, 0], corners[0, 1], corners[0, 2] = x, y, z
    corners[0, 3], corners[0, 4], corners[0, 5] = px, py, pz
    count, square = 1, x * x + y * y + z * z
    for _ in range(ITERATIONS):
        if square < CONTACT:
            return -radii
        u, v, w, px, py, pz = difference_point(pieces, first, second, poses, x, y, z)
        along = x * u + y * v + z * w
        if along > 0.0 and along > (limit + radii) * sqrt(square):
            length = sqrt(square)
            normal[0], normal[1], normal[2] = to_body(poses, a, x / length, y / length, z / length)
            return along / length - radii
        if square - along <= CONVERGED * square:
            break
        corners[count, 0], corners[count, 1], corners[count, 2] = u, v, w
        corners[count, 3], corners[count, 4], corners[count, 5] = px, py, pz
        count, px, py, pz = closest_of_simplex(corners, count + 1, kept)
        if count == 5:
            return -radii
        smaller = px * px + py * py + pz * pz
        if count == 0 or smaller >= square:
            break  # no progress because of rounding
        x, y, z, square = px, py, pz, smaller
    length = sqrt(square)
    kept[3] = count
    normal[0], normal[1], normal[2] = to_body(poses, a, x / length, y / length, z / length)
    return length - radii


@compiled(python=False, counted=False)
def nearest_point(corners, count):
    """Return the point of the second core that is nearest to the first, base frame, m.

    Args:
        corners: Last simplex of `separation` (5, 6).
        count: Number of its corners, at most 3.
    """
    s, t, last = 0.0, 0.0, max(count - 1, 0)
    if count > 1:
        ox, oy, oz = corners[0, 0], corners[0, 1], corners[0, 2]
        ex, ey, ez = corners[1, 0] - ox, corners[1, 1] - oy, corners[1, 2] - oz
        fx, fy, fz = corners[last, 0] - ox, corners[last, 1] - oy, corners[last, 2] - oz
        ee, ef = _dot(ex, ey, ez, ex, ey, ez), _dot(ex, ey, ez, fx, fy, fz)
        ff, eo = _dot(fx, fy, fz, fx, fy, fz), _dot(ex, ey, ez, ox, oy, oz)
        fo = _dot(fx, fy, fz, ox, oy, oz)
        square = ee * ff - ef * ef
        if count == 3 and square > 0.0:
            s, t = (ef * fo - ff * eo) / square, (ef * eo - ee * fo) / square
        elif ee > 0.0:
            s = -eo / ee
    return (
        corners[0, 3]
        + s * (corners[1, 3] - corners[0, 3])
        + t * (corners[last, 3] - corners[0, 3]),
        corners[0, 4]
        + s * (corners[1, 4] - corners[0, 4])
        + t * (corners[last, 4] - corners[0, 4]),
        corners[0, 5]
        + s * (corners[1, 5] - corners[0, 5])
        + t * (corners[last, 5] - corners[0, 5]),
    )


@inlined
def _dot(ax, ay, az, bx, by, bz):
    return ax * bx + ay * by + az * bz


@compiled(python=False, counted=False)
def ball_distance(pieces, a, b, poses, direction):
    """Return the distance of the balls of two pieces, m, and write the direction between them.

    The direction (3,) is in the frame of the first piece's body. For a half-space it is the
    normal.
    """
    x, y, z = point_in_base(
        poses, pieces.body[b], pieces.centre[b, 0], pieces.centre[b, 1], pieces.centre[b, 2]
    )
    u, v, w = point_in_base(
        poses, pieces.body[a], pieces.centre[a, 0], pieces.centre[a, 1], pieces.centre[a, 2]
    )
    x, y, z = to_body(poses, pieces.body[a], x - u, y - v, z - w)
    if pieces.kind[a] == HALF_SPACE:
        u, v, w = pieces.axis[a, 0], pieces.axis[a, 1], pieces.axis[a, 2]
        direction[0], direction[1], direction[2] = u, v, w
        return x * u + y * v + z * w - pieces.ball[b] - pieces.radius[a]
    length = sqrt(x * x + y * y + z * z)
    direction[0], direction[1], direction[2] = 1.0, 0.0, 0.0
    if length > 0.0:
        direction[0], direction[1], direction[2] = x / length, y / length, z / length
    return length - pieces.ball[a] - pieces.ball[b]


@compiled(python=False, counted=False)
def place_centres(pieces, poses, centres):
    """Write the centres (k, 3) of the balls around all moving pieces in the base frame, m."""
    c, base = pieces.centre, poses.shape[0] - 1
    for k in range(pieces.kind.size):
        if pieces.body[k] == base:
            continue
        x, y, z = point_in_base(poses, pieces.body[k], c[k, 0], c[k, 1], c[k, 2])
        centres[k, 0], centres[k, 1], centres[k, 2] = x, y, z


@inlined
def centre_distance(pieces, a, b, centres):
    """Return the distance of the balls of two pieces, m; minus infinity for half-spaces."""
    x, y = centres[b, 0] - centres[a, 0], centres[b, 1] - centres[a, 1]
    z = centres[b, 2] - centres[a, 2]
    return sqrt(x * x + y * y + z * z) - pieces.ball[a] - pieces.ball[b]


@inlined
def are_farther_apart(pieces, a, b, centres, distance):
    """Return whether the balls of two pieces are farther apart than a distance, m.

    It is False for half-spaces.
    """
    x, y = centres[b, 0] - centres[a, 0], centres[b, 1] - centres[a, 1]
    z = centres[b, 2] - centres[a, 2]
    within = distance + pieces.ball[a] + pieces.ball[b]  # inf for half-spaces
    return within <= 0.0 or x * x + y * y + z * z >= within * within

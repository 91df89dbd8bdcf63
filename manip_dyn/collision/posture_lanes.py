"""Postures in SIMD lanes: poses of the bodies, centres of balls, and pairs of near pieces.

Arrays have an additional last axis with a column per posture. Poses and centres are computed by
straight-line programs in SIMD lanes. The loop over the postures of a pair is vectorized by LLVM,
because its arrays are rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Graph, Program, cosine, many_states, sine, traced_program
from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.collision.convex import Bodies, Pieces
from manip_dyn.core.arrays import Index, by_reference, part, row
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined

POSTURES = 64
"""Number of postures in a block. With 16, a check takes 1.2 times as long."""


class PostureBlock(NamedTuple):
    """Memory for a block of m postures of n bodies with k pieces.

    Attributes:
        poses: Poses of the bodies and the base (12 (n + 1), m); see `place_bodies`.
        fixed: Rotations by rows and translations (12 n, m) of the bodies in their parent frames.
        joint: Angle and displacement (2 n, m) of each joint, rad and m; one of them is 0.
        local: Centres (3 k, m) of the balls around the pieces, body frames, m.
        centre: The same centres in the base frame, m.
        least: Least distances (m,) found so far, m; minus infinity ends the search.
        closest: Index (m,) of the closest pair, or -1.
        near: Whether a pair is near (m,), 0 or 1.
    """

    poses: Matrix
    fixed: Matrix
    joint: Matrix
    local: Matrix
    centre: Matrix
    least: Vector
    closest: Index
    near: Index


def posture_block(bodies: Bodies, pieces: Pieces) -> PostureBlock:
    """Return the memory for a block of postures."""
    n = len(bodies.parent)
    fixed = np.concatenate([bodies.rotation.reshape(n, 9), bodies.translation], axis=1)
    base = [*np.zeros(3), *np.eye(3).ravel()]
    centre = pieces.centre
    return by_reference(
        PostureBlock(
            _in_lanes([*np.zeros(12 * n), *base]),
            _in_lanes(fixed),
            np.zeros((2 * n, POSTURES)),
            _in_lanes(centre),
            _in_lanes(centre),
            np.zeros(POSTURES),
            np.zeros(POSTURES, dtype=np.int64),
            np.zeros(POSTURES, dtype=np.int64),
        )
    )


def _in_lanes(numbers: ArrayLike) -> Matrix:
    """Return an array with a row for each number."""
    return np.repeat(np.ravel(numbers)[:, None], POSTURES, axis=1)


def _body_program() -> Program:
    """Return the program of a body's pose from that of its parent."""
    inputs, graph = ("above", "fixed", "joint"), Graph()
    above, fixed = ([graph.input(f"{name}[{i}]") for i in range(12)] for name in inputs[:2])
    angle, displacement = graph.input("joint[0]"), graph.input("joint[1]")
    c, s, parent = cosine(angle), sine(angle), [above[3:6], above[6:9], above[9:]]
    turned = vec.product(parent, [fixed[:3], fixed[3:6], fixed[6:9]])
    origin = vec.add(above[:3], vec.times(parent, fixed[9:]))
    origin = vec.add(origin, [displacement * z for _, _, z in turned])
    rows = [[c * x + s * y, c * y - s * x, z] for x, y, z in turned]
    return traced_program("body_pose", inputs, graph, [*origin, *rows[0], *rows[1], *rows[2]])


def _centre_program() -> Program:
    """Return the program of a point in the base frame from its body's pose."""
    inputs, graph = ("pose", "point"), Graph()
    pose, point = [graph.input(f"pose[{i}]") for i in range(12)], graph.input
    moved = vec.times([pose[3:6], pose[6:9], pose[9:]], [point(f"point[{i}]") for i in range(3)])
    return traced_program("centre", inputs, graph, vec.add(pose[:3], moved))


_place_body = many_states(_body_program(), (12, 12, 2), (12,))
_place_centre = many_states(_centre_program(), (12, 3), (3,))


@compiled
def place_postures(bodies, pieces, q, first, block):
    """Write poses and centres at the postures q (k, n) from index `first` on.

    Columns behind the last posture repeat it.
    """
    n, lanes, poses = bodies.parent.size, block.least.size, block.poses
    for i in range(n):
        above = bodies.parent[i] if bodies.parent[i] >= 0 else n
        coordinate = 2 * i + (1 if bodies.prismatic[i] else 0)
        for lane in range(lanes):
            block.joint[coordinate, lane] = q[min(first + lane, q.shape[0] - 1), i]
        parent, fixed = part(poses, 12 * above, 12), part(block.fixed, 12 * i, 12)
        _place_body(
            (parent, fixed, part(block.joint, 2 * i, 2)), part(poses, 12 * i, 12), 0, lanes
        )
    for k in range(pieces.kind.size):
        if pieces.body[k] != n:
            pose, local = part(poses, 12 * pieces.body[k], 12), part(block.local, 3 * k, 3)
            _place_centre((pose, local), part(block.centre, 3 * k, 3), 0, lanes)


@inlined
def count_near(pieces, a, b, block):
    """Write which postures have balls of two pieces closer than the least distance; count them."""
    c, least, near = block.centre, block.least, block.near
    ax, ay, az = row(c, 3 * a), row(c, 3 * a + 1), row(c, 3 * a + 2)
    bx, by, bz = row(c, 3 * b), row(c, 3 * b + 1), row(c, 3 * b + 2)
    radii, count = pieces.ball[a] + pieces.ball[b], 0
    for lane in range(least.size):
        x, y, z = ax[lane] - bx[lane], ay[lane] - by[lane], az[lane] - bz[lane]
        within = least[lane] + radii  # inf for half-spaces
        near[lane] = 1 if (within > 0.0) & (x * x + y * y + z * z < within * within) else 0
        count += near[lane]
    return count


@inlined
def copy_pose(block, body, lane, poses):
    """Write the pose of a body at the posture in a lane into its row of poses (n + 1, 12)."""
    for k in range(12):
        poses[body, k] = block.poses[12 * body + k, lane]

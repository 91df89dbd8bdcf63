"""Distances of many postures in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.collision.convex import (
    Bodies,
    PiecePairs,
    Pieces,
    are_farther_apart,
    ball_distance,
    gap,
    place_bodies,
    place_centres,
    separation,
)
from manip_dyn.collision.model import checked_model
from manip_dyn.collision.pairs import pair_arrays
from manip_dyn.collision.posture_lanes import (
    copy_pose,
    count_near,
    place_postures,
    posture_block,
)
from manip_dyn.collision.scene import Scene
from manip_dyn.core.arrays import Index, by_reference, row
from manip_dyn.core.checks import Matrix, Vector, finite_array, finite_vector, not_negative
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


class PostureMemory(NamedTuple):
    """Memory for a posture of n bodies.

    Attributes:
        poses: Poses of the bodies (n + 1, 12).
        normal: Last direction of separation (p, 3) of each pair; 0 if there is none yet.
        centre: Centres of the balls around all pieces (k, 3), base frame, m.
        corners: Corners of a simplex (5, 6), see `separation`.
        kept: Indices of corners (3,) and the number of corners.
        closest: Index (1,) of the closest pair.
    """

    poses: Matrix
    normal: Matrix
    centre: Matrix
    corners: Matrix
    kept: Index
    closest: Index


def posture_memory(bodies: Bodies, pieces: Pieces, pairs: PiecePairs) -> PostureMemory:
    """Return the memory for one posture."""
    return by_reference(
        PostureMemory(
            np.zeros((len(bodies.parent) + 1, 12)),
            np.zeros((len(pairs.first), 3)),
            pieces.centre.copy(),
            np.zeros((5, 6)),
            np.zeros(4, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
    )


@compiled
def least_distance(bodies, pieces, pairs, q, limit, enough, memory):
    """Return the least distance of all pairs at q (n,), m, or `limit` if none is closer.

    If cores of pieces overlap, it is minus the sum of their radii. The pair is written to
    `memory.closest`, or -1. The search ends at the first distance of at most `enough`, m.
    """
    place_bodies(bodies, q, memory.poses)
    place_centres(pieces, memory.poses, memory.centre)
    best, memory.closest[0] = limit, -1
    for pair in range(pairs.first.size):
        a, b = pairs.first[pair], pairs.second[pair]
        if are_farther_apart(pieces, a, b, memory.centre, best):
            continue
        distance = _distance(pieces, pairs, pair, best, memory)
        if distance < best:
            best, memory.closest[0] = distance, pair
            if best <= enough:
                break
    return best


@inlined
def _distance(pieces, pairs, pair, limit, memory):
    """Return `separation` of a pair, or a gap in its last direction of separation above `limit`.

    Links close to each other are usually separated by the same direction in many postures.
    """
    a, b, normal = pairs.first[pair], pairs.second[pair], row(memory.normal, pair)
    x, y, z = normal[0], normal[1], normal[2]
    if abs(x) + abs(y) + abs(z) > 0.0:
        distance = gap(pieces, a, b, memory.poses, x, y, z)
        if distance > limit:
            return distance
    ball_distance(pieces, a, b, memory.poses, normal)
    return separation(pieces, a, b, memory.poses, normal, memory.corners, memory.kept, limit)


@compiled
def least_distances(bodies, pieces, pairs, q, limit, enough, block, memory, out):
    """Write the least distances (k,), m, at the postures q (k, n); see `least_distance`."""
    count, lanes = q.shape[0], block.least.size
    memory.closest[0] = -1
    for first in range(0, count, lanes):
        place_postures(bodies, pieces, q, first, block)
        used = min(lanes, count - first)
        for lane in range(used):
            out[first + lane] = block.least[lane] = limit
            block.closest[lane] = -1
        for pair in range(pairs.first.size):
            a, b = pairs.first[pair], pairs.second[pair]
            if count_near(pieces, a, b, block) == 0:
                continue
            for lane in range(used):
                if block.near[lane] == 0:
                    continue
                copy_pose(block, pieces.body[a], lane, memory.poses)
                copy_pose(block, pieces.body[b], lane, memory.poses)
                distance = _distance(pieces, pairs, pair, block.least[lane], memory)
                if distance < block.least[lane]:
                    out[first + lane] = distance
                    block.least[lane] = distance if distance > enough else -np.inf
                    block.closest[lane] = pair
        memory.closest[0] = block.closest[used - 1]


class PostureCheck:
    """Least distances of an arm from itself and a scene at many postures.

    The shapes are those of `md.clearance`, and the distances agree with it to 1e-6 m. Overlapping
    shapes have a distance of 0 or less that is not their depth. An object must not be used by
    several threads at the same time.
    """

    def __init__(self, robot: Robot, scene: Scene | None = None):
        """Collect the shapes of the robot and of the scene.

        Raises:
            ManipDynError: If an argument is invalid, a mesh is missing, or the moving links have
                no collision shapes.
        """
        self._arrays = pair_arrays(checked_model(robot, scene))
        self._robot = robot
        self._memory = posture_memory(self._arrays.bodies, self._arrays.pieces, self._arrays.pairs)
        self._block = posture_block(self._arrays.bodies, self._arrays.pieces)

    @property
    def closest(self) -> tuple[str, str]:
        """Names of the closest pair at the last posture; ("", "") if none was within the limit."""
        pair = int(self._memory.closest[0])
        return self._arrays.names[pair] if pair >= 0 else ("", "")

    def distance(self, q: ArrayLike, limit: float = np.inf) -> float:
        """Return the least distance at q (n,), m, or `limit` if no pair is closer.

        The computation is faster with a small limit.
        """
        arrays = self._arrays
        posture = arrays.body_positions(finite_vector("q", q, self._robot.n))
        return float(
            least_distance(
                arrays.bodies,
                arrays.pieces,
                arrays.pairs,
                posture,
                float(limit),
                -np.inf,
                self._memory,
            )
        )

    def distances(self, q: ArrayLike, limit: float = np.inf) -> Vector:
        """Return the least distances (k,) at the postures q (k, n), each at most `limit`, m."""
        return self._distances(q, float(limit), -np.inf)

    def are_clear(self, q: ArrayLike, margin: float = 0.0) -> NDArray[np.bool_]:
        """Return whether all pairs are farther apart than `margin`, m.

        The result (k,) has an entry for each of the postures q (k, n). The margin must be 0 or
        more.
        """
        margin = not_negative("margin", margin, "m")
        return self._distances(q, margin + 1e-12, margin) > margin

    def _distances(self, q: ArrayLike, limit: float, enough: float) -> Vector:
        if np.ndim(q) != 2:
            raise ManipDynError(f"q must have shape (k, {self._robot.n}), got {np.shape(q)}.")
        arrays, count = self._arrays, len(np.asarray(q))
        postures = arrays.body_positions(finite_array("q", q, (count, self._robot.n)))
        out = np.empty(count)
        bodies, pieces, pairs = arrays.bodies, arrays.pieces, arrays.pairs
        block, memory = self._block, self._memory
        least_distances(bodies, pieces, pairs, postures, limit, enough, block, memory, out)
        return out

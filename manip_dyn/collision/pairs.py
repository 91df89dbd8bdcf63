"""Arrays of convex pieces and their pairs for compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from manip_dyn.collision.convex import Bodies, PiecePairs, Pieces
from manip_dyn.collision.scene import FARTHEST
from manip_dyn.collision.shapes import CYLINDER, HALF_SPACE, Piece
from manip_dyn.collision.support import FEWEST, extreme_points
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError

if TYPE_CHECKING:
    from manip_dyn.collision.model import CollisionModel, Geometry


class PairArrays:
    """Arrays of the pairs of pieces of a collision model for compiled code.

    Attributes:
        names: Names of the owners of each pair of pieces.
        bodies: Bodies of the robot.
        pieces: Convex pieces of all shapes.
        pairs: Pairs of pieces with the joints between them.
    """

    def __init__(self, model: CollisionModel):
        """Collect the arrays."""
        self._robot = model.robot
        robot = model.robot
        self.bodies = by_reference(
            Bodies(
                np.array([body.parent for body in robot.bodies], np.int64),
                np.array([body.prismatic for body in robot.bodies], np.bool_),
                np.array([body.rotation for body in robot.bodies]).reshape(-1, 3, 3),
                np.array([body.translation for body in robot.bodies]).reshape(-1, 3),
            )
        )
        entries = [(g, piece) for g in model.geometries for piece in g.shape.pieces()]
        self.pieces = by_reference(_pieces(entries, len(robot.bodies)))
        self.names = list[tuple[str, str]]()
        index = dict[str, list[int]]()
        for k, (geometry, _) in enumerate(entries):
            index.setdefault(geometry.owner, []).append(k)
        chains = dict[tuple[int, int], int]()
        joints, rows = list[list[int]](), list[tuple[int, int, int]]()
        for first, second in model.pairs:
            ordered = _ordered(model, first, second)
            bodies = (model.of(ordered[0])[0].body, model.of(ordered[1])[0].body)
            if bodies not in chains:
                chains[bodies] = len(joints)
                joints.append(model.joints_between(*bodies))
            added = [(i, j, chains[bodies]) for i in index[ordered[0]] for j in index[ordered[1]]]
            rows += added
            self.names += [(first, second)] * len(added)
        first_piece, second_piece, chain = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
        begin = np.cumsum([0, *map(len, joints)])
        flat = np.array([joint for row in joints for joint in row], dtype=np.int64)
        self.pairs = by_reference(PiecePairs(first_piece, second_piece, chain, begin, flat))

    def body_positions(self, q: Vector) -> Vector:
        """Return the joint positions (..., b) of all bodies for joint positions q (..., n)."""
        robot = self._robot
        if not robot.has_mimic_joints:
            return q
        offsets = np.array([coupling.offset for coupling in robot.couplings])
        return q @ robot.ratios.T + offsets


@lru_cache(maxsize=32)
def pair_arrays(model: CollisionModel) -> PairArrays:
    """Return the arrays of a collision model."""
    return PairArrays(model)


def _ordered(model: CollisionModel, first: str, second: str) -> tuple[str, str]:
    """Return a pair so that the second moves, is no half-space, and is behind the first."""
    a, b = model.of(first)[0], model.of(second)[0]
    return (second, first) if b.body < a.body or b.body < 0 else (first, second)


def _pieces(entries: list[tuple[Geometry, Piece]], base: int) -> Pieces:
    points, axes, centres, balls = list[Matrix](), [], [], []
    for geometry, piece in entries:
        core = piece.points @ geometry.rotation.T + geometry.translation
        centre = 0.5 * (core.min(axis=0) + core.max(axis=0))
        ball = float(np.linalg.norm(core - centre, axis=1).max()) + piece.disc
        points.append(core)
        axes.append(geometry.rotation[:, 2])
        centres.append(centre)
        balls.append(np.inf if piece.kind == HALF_SPACE else ball)
        if np.abs(core).max() > FARTHEST:
            raise ManipDynError(
                f"collision shape of '{geometry.owner}' must be within {FARTHEST:g} m of its "
                f"frame, got {np.abs(core).max():g} m."
            )
    radius = np.array([piece.radius + geometry.padding for geometry, piece in entries], float)
    begin = np.cumsum([0, *map(len, points)])
    table, cells = np.full(len(points), -1), list[np.ndarray]()
    for k, core in enumerate(points):
        if len(core) >= FEWEST:
            table[k] = len(cells)
            cells += [begin[k] + indices for indices in _extreme_points(core.tobytes())]
    return Pieces(
        np.array([piece.kind for _, piece in entries], dtype=np.int64),
        np.array([base if g.body < 0 else g.body for g, _ in entries], dtype=np.int64),
        begin,
        np.concatenate([np.zeros((0, 3)), *points]),
        np.array(axes).reshape(-1, 3),
        np.array([piece.disc if piece.kind == CYLINDER else 0.0 for _, piece in entries]),
        radius,
        np.array(centres).reshape(-1, 3),
        np.array(balls) + radius,
        table,
        np.cumsum([0, *map(len, cells)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *cells]),
    )


@lru_cache(maxsize=256)
def _extreme_points(points: bytes) -> list[np.ndarray]:
    """Return `extreme_points` of a piece from the bytes of its points, because scenes change."""
    return extreme_points(np.frombuffer(points).reshape(-1, 3))

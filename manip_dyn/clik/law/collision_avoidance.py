"""Collision avoidance of the CLIK law: lower bounds of the rates of change of small distances.

Velocity dampers (Faverjon, Tournassoud 1987) limit how fast a pair of convex pieces approaches:

    g . v >= -gain (d - margin),    g = grad d,

with the distance d of the pair. Pairs that are closer than the margin separate. The gradient
follows from the direction n between the nearest points and from the nearest point b of the second
piece: moving joint j moves b by z_j x (b - o_j), or z_j if it is prismatic, along n.

The velocities v of the law change by z = N G^T x with x >= 0 such that all rows hold. N = I - J^T
(J J^T + mu^2 I)^-1 J projects onto motions that change the twist of the tool least. So a redundant
arm avoids obstacles in its null space, and other arms leave the path as little as possible.

A pair that starts closer than the margin must not come closer until it has separated.

Distances are computed only when necessary. Two pieces move relative to each other by at most the
sum of reach_j |dq_j| over the joints between them, the *odometer* of their chain of joints. A pair
that is not near is next examined when its odometer has advanced by its distance minus `NEAR`, or
earlier, together with other pairs. Near pairs are linearized until their odometer has advanced by
`LINEAR` of the distance.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.clik.law.inverses import factorize, substitute, write_gram_matrix
from manip_dyn.clik.law.settings import (
    COLLISION_GAIN,
    COLLISION_MARGIN,
    COLLISION_SCALE,
    task_of,
)
from manip_dyn.collision import Scene
from manip_dyn.collision.convex import (
    Bodies,
    PiecePairs,
    Pieces,
    ball_distance,
    centre_distance,
    difference_point,
    from_body,
    nearest_point,
    place_bodies,
    place_centres,
    separation,
)
from manip_dyn.collision.model import checked_model, collision_model
from manip_dyn.collision.pairs import PairArrays, pair_arrays
from manip_dyn.collision.scene import FARTHEST
from manip_dyn.collision.shapes import HALF_SPACE
from manip_dyn.core import arrays
from manip_dyn.core.arrays import by_reference, part, row, unpacking
from manip_dyn.core.checks import Matrix
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.solvers import box_minimum
from manip_dyn.robot import Robot

NEAR = 0.1
"""Distance in addition to the margin below which a pair limits velocities, m."""
LINEAR = 0.25
"""Displacement, as a fraction of the distance, within which the linearized distance is used."""
LEAST_LINEAR = 1e-4
"""Displacement within which distances are always linearized, m."""
ROWS = 16
"""Largest number of rows that are satisfied at the same time; see `avoid_collisions`."""
PROJECTION = 3e-2
"""Damping mu of the projection onto the null space."""
SATISFIED = 1e-5
"""Violation of a row that is tolerated, m/s."""
DEPENDENT = 1e-9
"""Smallest squared component of a row that other rows do not determine, relative to its square."""
NO_MOTION = 1e-14
"""Smallest g^T N g of a row that the joints can satisfy."""
ODOMETER, DUE, NEAR_DUE, LEAST = range(4)
"""Indices of `Neighbourhood.numbers`: upper bound of all odometers, its values at which pairs are
examined and near pairs are linearized again, and least distance of the pairs whose rows changed
velocities so far, m."""
COUNT, CLOSEST = range(2)
"""Indices of `Neighbourhood.counts`: number of near pairs, and pair of ``LEAST``."""


class Neighbourhood(NamedTuple):
    """Pairs of pieces for n joints, b bodies, k pieces, c chains and p pairs, with memory.

    Attributes:
        bodies: Bodies of the robot.
        pieces: Convex pieces of the robot and the scene.
        pairs: Pairs of pieces.
        ratios: Velocities of the bodies' joints per unit velocity of each joint (b, n).
        offsets: Positions of the bodies' joints at q = 0 (b,), rad or m.
        reach: Largest relative displacement of the pieces of each chain, per unit displacement of
            each joint (c, n).
        largest: Largest entries (n,) of `reach`.
        numbers: Numbers (4,) in the order of the module's indices.
        counts: Counts (2,) in the order of the module's indices.
        last: Last posture (n,).
        travelled: Distances (n,) that the joints have travelled, rad or m.
        odometer: Odometers (c,) of the chains, m.
        body_q: Positions of the bodies' joints (b,).
        poses: Poses of the bodies (b + 1, 12).
        centre: Centres of the balls around all pieces (k, 3), base frame, m.
        normal: Last direction of separation of each pair (p, 3); 0 if there is none yet.
        corners: Corners of a simplex (5, 6).
        kept: Indices of corners (4,).
        due: Values of the odometers (p,) at which the pairs are examined.
        margin: Margins (p,), m.
        near: Indices (p,) of near pairs.
        distance: Distances (p,) of near pairs, m, when they were last examined.
        gradient: Their gradients (p, n).
        origin: Their postures (p, n) when they were last examined.
        harmless: Norms (p,) of joint velocities up to which their rows hold, times 1 / gain.
        base: Velocities (n,) of the law without rows.
        rows: Pairs (ROWS,) whose rows are satisfied.
        projected: N g of these rows (ROWS, n).
        hessian: G N G^T (ROWS, ROWS).
        slope: Values of the rows (ROWS,) at the given velocities, m/s.
        factor: Cholesky factor of `hessian` (ROWS, ROWS).
        bounds: Lower and upper bounds of the multipliers, multipliers, and the solution of the
            factor for minus `slope` (4, ROWS).
    """

    bodies: Bodies
    pieces: Pieces
    pairs: PiecePairs
    ratios: arrays.Matrix
    offsets: arrays.Vector
    reach: arrays.Matrix
    largest: arrays.Vector
    numbers: arrays.Vector
    counts: arrays.Index
    last: arrays.Vector
    travelled: arrays.Vector
    odometer: arrays.Vector
    body_q: arrays.Vector
    poses: arrays.Matrix
    centre: arrays.Matrix
    normal: arrays.Matrix
    corners: arrays.Matrix
    kept: arrays.Index
    due: arrays.Vector
    margin: arrays.Vector
    near: arrays.Index
    distance: arrays.Vector
    gradient: arrays.Matrix
    origin: arrays.Matrix
    harmless: arrays.Vector
    base: arrays.Vector
    rows: arrays.Index
    projected: arrays.Matrix
    hessian: arrays.Matrix
    slope: arrays.Vector
    factor: arrays.Matrix
    bounds: arrays.Matrix


def neighbourhood(robot: Robot, scene: Scene) -> Neighbourhood:
    """Return a reference to the pairs of a robot and a scene, for compiled code.

    Raises:
        ManipDynError: If a mesh is missing, if the scene names an unknown link, or if the moving
            links have no collision shapes.
    """
    pairs = pair_arrays(checked_model(robot, scene))
    n, b, p = robot.n, len(robot.bodies), len(pairs.names)
    reach = _reach(robot, pairs)
    zeros = np.zeros
    reference: Neighbourhood = by_reference(
        Neighbourhood(
            bodies=_fields(pairs.bodies),
            pieces=_fields(pairs.pieces),
            pairs=_fields(pairs.pairs),
            ratios=robot.ratios,
            offsets=robot.body_positions(zeros(n)) + zeros(b),
            reach=reach,
            largest=reach.max(axis=0, initial=0.0),
            numbers=np.array([0.0, -np.inf, -np.inf, np.inf]),
            counts=np.array([0, -1]),
            last=zeros(n),
            travelled=zeros(n),
            odometer=zeros(len(reach)),
            body_q=zeros(b),
            poses=zeros((b + 1, 12)),
            centre=pairs.pieces.centre.copy(),
            normal=zeros((p, 3)),
            corners=zeros((5, 6)),
            kept=np.zeros(4, dtype=np.int64),
            due=np.full(p, -np.inf),
            margin=np.full(p, -np.inf),
            near=np.zeros(p, dtype=np.int64),
            distance=np.full(p, np.inf),
            gradient=zeros((p, n)),
            origin=zeros((p, n)),
            harmless=zeros(p),
            base=zeros(n),
            rows=np.zeros(ROWS, dtype=np.int64),
            projected=zeros((ROWS, n)),
            hessian=zeros((ROWS, ROWS)),
            slope=zeros(ROWS),
            factor=zeros((ROWS, ROWS)),
            bounds=np.array([[0.0], [np.inf], [0.0], [0.0]]) * np.ones(ROWS),
        )
    )
    return reference


def _fields(reference: Any) -> Any:
    """Return the named tuple of a reference."""
    return getattr(reference, "fields", reference)


def _reach(robot: Robot, numbered: PairArrays) -> Matrix:
    """Return the largest relative displacements per unit displacement of each joint, (c, n).

    A revolute joint moves a point by at most its distance from the origin of the joint's body, and
    a prismatic joint moves all points by 1.
    """
    pieces, pairs, count = numbered.pieces, numbered.pairs, len(robot.bodies)
    extent = np.zeros(count + 1)
    for body, centre, ball in zip(pieces.body, pieces.centre, pieces.ball, strict=True):
        extent[body] = max(extent[body], float(np.linalg.norm(centre)) + ball)
    reach = np.zeros((len(pairs.begin) - 1, count))
    for first, second, chain in zip(pairs.first, pairs.second, pairs.chain, strict=True):
        moved = pairs.joints[pairs.begin[chain] : pairs.begin[chain + 1]]
        for end in (pieces.body[first], pieces.body[second]):
            body, beyond = (int(end) if end < count else -1), float(extent[end])
            while body in moved:
                reach[chain, body] = 1.0 if robot.bodies[body].prismatic else beyond
                beyond += float(np.linalg.norm(robot.bodies[body].translation))
                beyond += _stroke(robot, body)
                body = robot.bodies[body].parent
    return reach @ np.abs(robot.ratios)


def _stroke(robot: Robot, body: int) -> float:
    """Return the largest distance, m, by which a prismatic joint moves a body from its origin."""
    if not robot.bodies[body].prismatic:
        return 0.0
    coupling = robot.couplings[body]
    limits = np.array([robot.q_min[coupling.joint], robot.q_max[coupling.joint]])
    return min(float(np.abs(coupling.ratio * limits + coupling.offset).max()), FARTHEST)


def examine_all(hood: Neighbourhood) -> None:
    """Let the next call examine all pairs, after a change of the posture or the settings."""
    hood.numbers[ODOMETER], hood.numbers[LEAST] = np.nan, np.inf


def avoided(
    hood: Neighbourhood, robot: Robot, scene: Scene | None
) -> tuple[float, tuple[str, str]] | None:
    """Return the pair with the least distance, m, of those that changed velocities, or None.

    Velocities since the last `examine_all` are considered.
    """
    if not hood.numbers[LEAST] < np.inf:
        return None
    names = pair_arrays(collision_model(robot, scene)).names
    return float(hood.numbers[LEAST]), names[int(hood.counts[CLOSEST])]


neighbourhood_of = unpacking(Neighbourhood)
"""``neighbourhood_of(words)`` returns the reference from its words, in compiled code."""


@compiled(short=True)
def avoid_collisions(memory, v):
    """Change velocities (n,) so that all near pairs satisfy their rows.

    At most `ROWS` rows are added one by one, beginning with the one that is violated most. If
    rows remain violated, the velocities are multiplied by the largest factor with which no pair
    approaches faster than its row allows. It is written to ``task.report``.

    Args:
        memory: See `joint_velocity.law_memory`; ``task.q`` contains the posture.
        v: Velocities (n,) of the law; additional entries are ignored.
    """
    task = task_of(memory)
    hood = neighbourhood_of(task.neighbourhood)
    gain, margin = task.numbers[COLLISION_GAIN], task.numbers[COLLISION_MARGIN]
    task.report[COLLISION_SCALE] = 1.0
    _advance_odometer(hood, task.q, margin)
    worst, _ = _worst_row(hood, task.q, v, gain)
    if worst < 0:
        return
    if hood.distance[worst] < hood.numbers[LEAST]:
        hood.numbers[LEAST], hood.counts[CLOSEST] = hood.distance[worst], worst
    _satisfy_rows(task, hood, v, worst)
    scale = 1.0
    for k in range(hood.counts[COUNT]):
        pair, rate = hood.near[k], 0.0
        for i in range(task.q.size):
            rate -= hood.gradient[pair, i] * v[i]
        approach = max(_allowed_speed(hood, task.q, pair, gain), 0.0) + SATISFIED
        if rate * scale > approach:
            scale = approach / rate
    if scale < 1.0:
        task.report[COLLISION_SCALE] = scale
        for i in range(task.q.size):
            v[i] *= scale


@inlined
def _advance_odometer(hood, q, margin):
    """Advance the odometer to q (n,), and examine pairs if necessary."""
    moved = 0.0
    for i in range(q.size):
        distance = abs(q[i] - hood.last[i])
        hood.travelled[i] += distance
        moved += hood.largest[i] * distance
        hood.last[i] = q[i]
    hood.numbers[ODOMETER] += moved
    if not hood.numbers[ODOMETER] < hood.numbers[DUE]:
        examine_pairs(hood, q, margin)
    elif hood.numbers[ODOMETER] >= hood.numbers[NEAR_DUE]:
        linearize_pairs(hood, q, margin)


@compiled(short=True, python=False)
def examine_pairs(hood, q, margin):
    """Find the near pairs at q (n,): compute the distances of all pairs that are due.

    Pairs that are not near are examined early, so that the poses are needed less often.
    All pairs are due after positions that were not finite.
    """
    numbers = hood.numbers
    if not numbers[ODOMETER] < np.inf:
        numbers[ODOMETER] = 0.0
        for i in range(q.size):
            hood.travelled[i] = 0.0
        for pair in range(hood.due.size):
            hood.due[pair] = hood.margin[pair] = -np.inf
    _place(hood, q)
    place_centres(hood.pieces, hood.poses, hood.centre)
    slack, near_slack, count = np.inf, np.inf, 0
    early = 0.5 * LINEAR * (margin + NEAR)
    for pair in range(hood.due.size):
        odometer = hood.odometer[hood.pairs.chain[pair]]
        is_far = hood.distance[pair] > margin + NEAR
        if not odometer + (early if is_far else 0.0) < hood.due[pair]:
            a, b = hood.pairs.first[pair], hood.pairs.second[pair]
            distance = centre_distance(hood.pieces, a, b, hood.centre)
            if distance > margin + NEAR:
                hood.distance[pair] = distance
                hood.due[pair] = odometer + max(distance - margin - NEAR, LINEAR * distance)
            else:
                _linearize(hood, pair, q, margin)
        left = hood.due[pair] - odometer
        if hood.distance[pair] < margin + NEAR:
            hood.near[count] = pair
            count += 1
            near_slack = min(near_slack, left)
        else:
            slack = min(slack, left)
    numbers[DUE], numbers[NEAR_DUE] = numbers[ODOMETER] + slack, numbers[ODOMETER] + near_slack
    hood.counts[COUNT] = count


@compiled(short=True, python=False)
def linearize_pairs(hood, q, margin):
    """Linearize the distances of the near pairs that are due at q (n,)."""
    _place(hood, q)
    slack = np.inf
    for k in range(hood.counts[COUNT]):
        pair = hood.near[k]
        odometer = hood.odometer[hood.pairs.chain[pair]]
        if not odometer < hood.due[pair]:
            _linearize(hood, pair, q, margin)
        slack = min(slack, hood.due[pair] - odometer)
    hood.numbers[NEAR_DUE] = hood.numbers[ODOMETER] + slack


@inlined
def _place(hood, q):
    """Compute the odometers and the poses of all bodies at q (n,)."""
    for chain in range(hood.odometer.size):
        hood.odometer[chain] = 0.0
        for i in range(q.size):
            hood.odometer[chain] += hood.reach[chain, i] * hood.travelled[i]
    for j in range(hood.body_q.size):
        hood.body_q[j] = hood.offsets[j]
        for i in range(q.size):
            hood.body_q[j] += hood.ratios[j, i] * q[i]
    place_bodies(hood.bodies, hood.body_q, hood.poses)


@compiled(short=True, python=False)
def _linearize(hood, pair, q, margin):
    """Write the distance of a pair with its gradient at q (n,), and when it is due again."""
    pieces, poses = hood.pieces, hood.poses
    a, b = hood.pairs.first[pair], hood.pairs.second[pair]
    normal = row(hood.normal, pair)
    if pieces.kind[a] == HALF_SPACE or not abs(normal[0]) + abs(normal[1]) + abs(normal[2]) > 0.0:
        ball_distance(pieces, a, b, poses, normal)
    hood.kept[3] = 0
    within = margin + NEAR
    distance = separation(pieces, a, b, poses, normal, hood.corners, hood.kept, within)
    linear = max(LINEAR * distance, LEAST_LINEAR)
    hood.distance[pair] = distance
    hood.margin[pair] = min(margin, max(hood.margin[pair], distance))
    hood.due[pair] = hood.odometer[hood.pairs.chain[pair]]
    hood.due[pair] += max(distance - within, linear)
    if distance >= within:
        hood.harmless[pair] = np.inf
        return
    x, y, z = from_body(poses, pieces.body[a], normal[0], normal[1], normal[2])
    if hood.kept[3] > 0:
        px, py, pz = nearest_point(hood.corners, hood.kept[3])
    else:  # a half-space, or overlapping cores
        _, _, _, px, py, pz = difference_point(pieces, a, b, poses, x, y, z)
    for i in range(q.size):
        hood.gradient[pair, i] = 0.0
        hood.origin[pair, i] = q[i]
    for body, sign in ((pieces.body[b], 1.0), (pieces.body[a], -1.0)):
        joint = body if body < hood.body_q.size else -1
        while joint >= 0:
            zx, zy, zz = poses[joint, 5], poses[joint, 8], poses[joint, 11]
            if hood.bodies.prismatic[joint]:
                rate = x * zx + y * zy + z * zz
            else:
                dx, dy, dz = px - poses[joint, 0], py - poses[joint, 1], pz - poses[joint, 2]
                rate = x * (zy * dz - zz * dy) + y * (zz * dx - zx * dz)
                rate += z * (zx * dy - zy * dx)
            for i in range(q.size):
                hood.gradient[pair, i] += sign * rate * hood.ratios[joint, i]
            joint = hood.bodies.parent[joint]
    square = 0.0
    for i in range(q.size):
        square += hood.gradient[pair, i] * hood.gradient[pair, i]
    excess = distance - linear - hood.margin[pair]
    hood.harmless[pair] = excess / sqrt(square + NO_MOTION)


@inlined
def _allowed_speed(hood, q, pair, gain):
    """Return the largest speed of approach of a near pair, m/s; negative below the margin."""
    distance = hood.distance[pair]
    for i in range(q.size):
        distance += hood.gradient[pair, i] * (q[i] - hood.origin[pair, i])
    return gain * (distance - hood.margin[pair])


@inlined
def _worst_row(hood, q, v, gain):
    """Return the pair whose row is violated most, or -1, and the value of its row."""
    worst, least = -1, -SATISFIED
    square = 0.0
    for i in range(q.size):
        square += v[i] * v[i]
    speed = sqrt(square) / gain
    for k in range(hood.counts[COUNT]):
        pair = hood.near[k]
        if hood.harmless[pair] >= speed:
            continue
        value = _allowed_speed(hood, q, pair, gain)
        for i in range(q.size):
            value += hood.gradient[pair, i] * v[i]
        if value < least:
            worst, least = pair, value
    return worst, least


@compiled(short=True, python=False)
def _satisfy_rows(task, hood, v, worst):
    """Change velocities so that they satisfy the row of the pair `worst`, then other rows."""
    gain = task.numbers[COLLISION_GAIN]
    n, multipliers = task.q.size, row(hood.bounds, 2)
    for i in range(n):
        hood.base[i] = v[i]
    write_gram_matrix(task.jacobian, task.numbers, task.square)
    factorize(task.square, PROJECTION, task.factor)
    for count in range(ROWS):
        for k in range(count):
            if hood.rows[k] == worst:
                return  # the rows contradict each other
        hood.rows[count] = worst
        multipliers[count] = 0.0
        _project(task, hood, worst, row(hood.projected, count))
        for k in range(count + 1):
            product = 0.0
            for i in range(n):
                product += hood.gradient[hood.rows[k], i] * hood.projected[count, i]
            hood.hessian[k, count] = hood.hessian[count, k] = product
        if not hood.hessian[count, count] > NO_MOTION:
            return
        value = _allowed_speed(hood, task.q, worst, gain)
        for i in range(n):
            value += hood.gradient[worst, i] * hood.base[i]
        hood.slope[count] = value
        if not _solve_all_rows(hood, count, multipliers):
            active = part(multipliers, 0, count + 1)
            for k in range(count + 1):
                active[k] = max(active[k], 0.0)
            box_minimum(hood.hessian, hood.slope, row(hood.bounds, 0), row(hood.bounds, 1), active)
        for i in range(n):
            v[i] = hood.base[i]
            for k in range(count + 1):
                v[i] += multipliers[k] * hood.projected[k, i]
        worst, _ = _worst_row(hood, task.q, v, gain)
        if worst < 0:
            return


@inlined
def _solve_all_rows(hood, last, multipliers):
    """Write the multipliers with which rows 0 to `last` are equations, and return their validity.

    They are valid if all are 0 or more. The Cholesky factor of the previous rows is extended.
    """
    factor, half = hood.factor, row(hood.bounds, 3)
    square, rest = hood.hessian[last, last], -hood.slope[last]
    for k in range(last):
        entry = hood.hessian[last, k]
        for j in range(k):
            entry -= factor[last, j] * factor[k, j]
        entry /= factor[k, k]
        factor[last, k] = entry
        square -= entry * entry
        rest -= entry * half[k]
    independent = square > DEPENDENT * hood.hessian[last, last]
    factor[last, last] = sqrt(square) if independent else np.inf  # multiplier 0
    half[last] = rest / factor[last, last]
    valid = True
    for k in range(last, -1, -1):
        value = half[k]
        for j in range(k + 1, last + 1):
            value -= factor[j, k] * multipliers[j]
        multipliers[k] = value / factor[k, k]
        valid &= multipliers[k] >= 0.0 and factor[k, k] < np.inf
    return valid


@inlined
def _project(task, hood, pair, out):
    """Write F N F g (n,) for the gradient g of a pair and F = diag(task.freedom)."""
    n = task.q.size
    for r in range(6):
        task.rest[r] = 0.0
        for i in range(n):
            task.rest[r] += task.jacobian[r, i] * task.freedom[i] * hood.gradient[pair, i]
    substitute(task.factor, task.rest)
    for i in range(n):
        out[i] = task.freedom[i] * hood.gradient[pair, i]
        for r in range(6):
            out[i] -= task.jacobian[r, i] * task.rest[r]
        out[i] *= task.freedom[i]

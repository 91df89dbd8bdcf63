"""`manip_dyn bench collisions`: collision checks of a PA-10 among obstacles, compared with coal.

There are 20 obstacles. The first two tables show whether a posture is free of collisions, for
random postures and for postures along straight motions. The candidates are blocks of postures,
single postures from compiled code, and pinocchio's loops over the same shapes and pairs in coal,
which end at the first contact: over all pairs, and with a tree of bounding boxes. The third table
shows whether straight motions are free of collisions: the proof of `md.check_motion`, and samples
0.01 rad apart, which prove nothing. A row contains the time of one candidate. Takes about 20 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pinocchio

import manip_dyn as md
from manip_dyn.bench.timing import Candidate, Timing, compare, documented, headline, timing_lines
from manip_dyn.collision import (
    Box,
    Capsule,
    Cylinder,
    PostureCheck,
    Scene,
    Sphere,
    check_motion,
    collision_model,
)
from manip_dyn.collision.model import body_poses, random_postures
from manip_dyn.collision.pairs import pair_arrays
from manip_dyn.collision.posture_check import least_distance, posture_memory
from manip_dyn.core.arrays import row
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.robot import Robot, load_robot

PACKAGES = ("manip_dyn", "numba", "pin", "coal")
OBSTACLES, POSTURES, MOTIONS = 20, 200, 20
SPACING = 0.01
"""Largest change of a joint between samples of a motion, rad."""
POSTURES_CALL = "check.are_clear(q)"
MOTIONS_CALL = "[md.check_motion(robot, motion, scene) for motion in motions]"
Checks = Callable[[Matrix], Sequence[bool]]
"""Function that returns whether postures (m, n) are free of collisions."""


class Row(NamedTuple):
    """Timings of all candidates for one task.

    `call` is the documented call of the first candidate.
    """

    task: str
    timings: list[Timing]
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return one table per task."""
    lines = [
        "CPU times of calls. Medians over interleaved rounds: of the times, and of the "
        "ratios to the first row in the same round.",
    ]
    for task, timings, call in rows:
        lines += [headline(f"\n{task}", call), *timing_lines(timings)]
    return "\n".join(lines)


def measure() -> list[Row]:
    """Time checks of postures and of motions."""
    robot, scene = load_robot("pa10"), obstacles()
    postures, motions = random_postures(robot, POSTURES), straight_motions(robot, scene)
    along = np.concatenate([samples(motion) for motion in motions])[:POSTURES]
    candidates = posture_checks(robot, scene)
    names = {"md": md, "check": PostureCheck(robot, scene), "robot": robot, "scene": scene}
    pairs = len(pair_arrays(collision_model(robot, scene)).names)
    rows = [
        Row(
            f"{task}, {pairs} pairs of shapes; per posture",
            _compare(
                [Candidate("manip_dyn", documented(POSTURES_CALL, names | {"q": q}), len(q))]
                + [Candidate(name, partial(f, q), len(q)) for name, f in candidates.items()]
            ),
            POSTURES_CALL,
        )
        for task, q in (("random postures", postures), ("postures along motions", along))
    ]
    sampled = list(candidates.values())[-1]
    proofs = [
        Candidate(
            "manip_dyn, proof", documented(MOTIONS_CALL, names | {"motions": motions}), MOTIONS
        ),
        Candidate(
            "pinocchio, bounding boxes, samples",
            lambda: [sampled(samples(m)) for m in motions],
            MOTIONS,
        ),
    ]
    task = "straight motions without collisions; per motion"
    return [*rows, Row(task, _compare(proofs), MOTIONS_CALL)]


_compare = partial(compare, clock=time.process_time)


def obstacles() -> Scene:
    """Return a scene of random obstacles around the arm."""
    rng, scene = np.random.default_rng(5), Scene()
    shapes = (Box([0.2, 0.1, 0.1]), Sphere(0.07), Cylinder(0.05, 0.2), Capsule(0.05, 0.1))
    for k in range(OBSTACLES):
        position = rng.uniform([-1.0, -1.0, 0.0], [1.0, 1.0, 1.2])
        position[:2] += 0.25 * np.sign(position[:2])
        scene = scene.add(f"obstacle_{k}", shapes[k % 4], position, rng.uniform(-1.0, 1.0, 3))
    return scene


def straight_motions(robot: Robot, scene: Scene) -> list[Matrix]:
    """Return the start and the end (2, n) of random straight motions without collisions."""
    ends = random_postures(robot, 10 * MOTIONS, seed=1).reshape(-1, 2, robot.n)
    ends[:, 1] = ends[:, 0] + 0.3 * (ends[:, 1] - ends[:, 0])
    return [motion for motion in ends if check_motion(robot, motion, scene).clear][:MOTIONS]


def samples(motion: Matrix) -> Matrix:
    """Return postures (m, n) along a straight motion (2, n)."""
    count = int(np.ceil(np.abs(motion[1] - motion[0]).max() / SPACING)) + 1
    return np.linspace(motion[0], motion[1], count)


def posture_checks(robot: Robot, scene: Scene) -> dict[str, Checks]:
    """Return checks of postures by name, in addition to `PostureCheck.are_clear`."""
    arrays = pair_arrays(collision_model(robot, scene))
    bodies, pieces, pairs = arrays.bodies, arrays.pieces, arrays.pairs
    memory = posture_memory(bodies, pieces, pairs)

    def one_at_a_time(q: Matrix) -> Any:
        result = np.empty(len(q))
        _one_at_a_time(bodies, pieces, pairs, q, memory, result)
        return result > 0.0

    return {
        "manip_dyn, one posture at a time": one_at_a_time,
        **coal_checks(robot, scene),
    }


@compiled
def _one_at_a_time(bodies, pieces, pairs, q, memory, out):
    for k in range(q.shape[0]):
        out[k] = least_distance(bodies, pieces, pairs, row(q, k), 1e-12, 0.0, memory)


def coal_checks(robot: Robot, scene: Scene) -> dict[str, Checks]:
    """Return pinocchio's checks of the same shapes and pairs by coal, without padding."""
    model, collisions = robot.model, collision_model(robot, scene)
    data, shapes = model.createData(), pinocchio.GeometryModel()
    zero = np.zeros(robot.n)
    pinocchio.forwardKinematics(model, data, pinocchio.neutral(model))
    rotations, origins = body_poses(robot, zero)
    indices = dict[str, list[int]]()
    for geometry in collisions.geometries:
        rotation = rotations[geometry.body]
        place = pinocchio.SE3(
            rotation @ geometry.rotation,
            origins[geometry.body] + rotation @ geometry.translation,
        )
        joint = geometry.body + 1
        for shape in geometry.shape.coal_shapes():
            name = f"{geometry.owner}_{shapes.ngeoms}"
            entry = pinocchio.GeometryObject(name, joint, data.oMi[joint].actInv(place), shape)
            indices.setdefault(geometry.owner, []).append(shapes.addGeometryObject(entry))
    for first, second in collisions.pairs:
        for i in indices[first]:
            for j in indices[second]:
                shapes.addCollisionPair(pinocchio.CollisionPair(i, j))
    placed = pinocchio.GeometryData(shapes)
    tree = pinocchio.BroadPhaseManager_DynamicAABBTreeCollisionManager(model, shapes, placed)

    def is_clear(q: Vector) -> bool:
        return not pinocchio.computeCollisions(model, data, shapes, placed, q, True)

    def is_clear_by_tree(q: Vector) -> bool:
        return not pinocchio.computeCollisions(model, data, tree, q, True)

    return {
        "pinocchio, all pairs": lambda q: list(map(is_clear, q)),
        "pinocchio, bounding boxes": lambda q: list(map(is_clear_by_tree, q)),
    }

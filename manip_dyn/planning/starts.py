"""Where the search for minimum time starts: short motions that grow, and smooth detours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.planning.sequential import COARSE, FINE, Sequence, Sketch
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

ARRIVED = 1e-4
"""Scaled distance from the goal below which a sketch arrives."""
FIRST_WAY, GROWTH, LEAST_GROWTH, STAGES = 0.4, 1.5, 1.02, 40
"""The first short way (rad or m), its growth per stage and when to give up."""
AGREE = 1.0005
"""Durations with a smaller ratio are the same."""
PATIENT, ROUNDS, GAIN = 3, 10, 1e-4
"""How many sketches get more rounds, how many, and the gain that is worth another."""
DETOUR, OTHER_DETOURS = 1.5, (0.5, 1.0, 2.5)
"""How far a joint swings out on a detour, rad."""


def sketches(robot: Robot, start: Vector, goal: Vector) -> Iterator[list[Sketch]]:
    """Yield nearly optimal motions from `start` (n,) to `goal` (n,), lot by lot.

    First what grows from short motions, and the straight way; then detours; for who still has
    nothing, other detours and at last the fastest of all these with more patience.
    """
    way = goal - start
    parts = list(_parts(way))
    grown = [_grown(robot, start, way - part, part) for part in parts]
    sequence = Sequence(robot, start, goal)
    straight = sequence.improved(*sequence.along(0.0 * way))
    first = [sketch for sketch in (*grown, straight) if sketch.miss < ARRIVED]
    yield first
    arrived = first.copy()
    for length in (DETOUR, *OTHER_DETOURS):
        swings = _swings(robot, start, goal, length)
        detours = [sequence.improved(*sequence.along(swing)) for swing in swings]
        lot = [sketch for sketch in detours if sketch.miss < ARRIVED]
        arrived += lot
        yield lot
    fastest = sorted(arrived, key=lambda each: each.duration)[:PATIENT]
    patient = [_insisted(sequence, sketch) for sketch in fastest]
    yield [sketch for sketch in patient if sketch.miss < ARRIVED]


def _insisted(sequence: Sequence, sketch: Sketch) -> Sketch:
    """Return the sketch improved again and again, as long as it gets faster."""
    for _ in range(ROUNDS):
        better = sequence.improved(sketch.controls, sketch.duration)
        if better.miss < ARRIVED and better.duration > (1.0 - GAIN) * sketch.duration:
            return better
        sketch = better
    return sketch


def _parts(way: Vector) -> Iterator[Vector]:
    """Yield the parts of the way that grow: all of it, then each joint's own."""
    yield way
    if len(way) > 1:
        for joint in np.flatnonzero(np.abs(way) > FIRST_WAY):
            yield np.where(np.arange(len(way)) == joint, way, 0.0)


def _grown(robot: Robot, start: Vector, fixed: Vector, way: Vector) -> Sketch:
    """Return the motion by `fixed` + `way` to which one by `fixed` and little of `way` grows.

    A short motion is nearly linear, so there is one optimum; each longer one starts from the
    efforts of the last, in a time that grows with the root of the way.
    """
    share = min(1.0, FIRST_WAY / np.abs(way).max())
    sequence = Sequence(robot, start, start + fixed + share * way)
    sketch = sequence.improved(*sequence.along(np.zeros(robot.n)), _care(share))
    growth = GROWTH
    for _ in range(STAGES):
        if share == 1.0 or sketch.miss > ARRIVED or growth < LEAST_GROWTH:
            break
        longer = min(1.0, share * growth)
        near, far = (np.abs(fixed + each * way).max() for each in (share, longer))
        sequence = Sequence(robot, start, start + fixed + longer * way)
        next_sketch = sequence.improved(
            sketch.controls, sketch.duration * float(np.sqrt(far / near)), _care(longer)
        )
        if next_sketch.miss > ARRIVED:
            growth = 1.0 + 0.4 * (growth - 1.0)
            continue
        sketch, share, growth = next_sketch, longer, min(1.0 + 1.3 * (growth - 1.0), GROWTH)
    return sketch if share == 1.0 else sketch._replace(miss=np.inf)


def _care(share: float) -> float:
    """Return how well a motion has to be improved: the last one most."""
    return FINE if share == 1.0 else COARSE


def _swings(robot: Robot, start: Vector, goal: Vector, most: float) -> Iterator[Vector]:
    """Yield, joint by joint, detours to both sides within the limits.

    The first joint's position changes nothing but the weight, so it takes no detour.
    """
    for joint in range(1, robot.n):
        middle = 0.5 * (start[joint] + goal[joint])
        for side, limit in ((1.0, robot.q_max[joint]), (-1.0, robot.q_min[joint])):
            room = side * (limit - middle)
            if robot.joint_types[joint] == "prismatic":
                length = min(room, most, abs(goal[joint] - start[joint]) + 0.1)
            else:
                length = min(room, most)
            if length > 1e-3:
                swing = np.zeros(robot.n)
                swing[joint] = side * 0.9 * length
                yield swing

"""Initial guesses for the linear programs: smooth motions, straight or with a detour."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.minimum_time.extremals.canonical import kernels_of
from manip_dyn.robot import Robot

CELLS = 32
"""Number of cells of constant efforts in a motion."""


class Smooth(NamedTuple):
    """A smooth motion from rest to rest.

    Attributes:
        start: Positions (n,).
        displacement: Displacement from start to goal (n,).
        swing: Additional midway displacement (n,).
        limits: Limits of the efforts (n,).
        q: Positions (n,), a work array like the following ones.
        v: Velocities (n,).
        a: Accelerations (n,).
        tau: Efforts (n,).
        u: Normalized efforts at the midpoints of cells (cells, n).
    """

    start: Vector
    displacement: Vector
    swing: Vector
    limits: Vector
    q: Vector
    v: Vector
    a: Vector
    tau: Vector
    u: Vector


@compiled(short=True, counted=False)
def efforts_along(kernels, motion, duration):
    """Write the normalized efforts, clipped to 1, of q = start + displacement s + swing b.

    At the midpoints of the cells s = z - sin(2 pi z) / (2 pi) and b = sin^2(pi z) with z = t /
    duration. Return the largest normalized effort before clipping.
    """
    start, displacement = motion.start, motion.displacement
    swing, limits = motion.swing, motion.limits
    q, v, a, tau, u = motion.q, motion.v, motion.a, motion.tau, motion.u
    n, cells, most, turn = limits.shape[0], u.shape[0], 0.0, 2.0 * pi
    for k in range(cells):
        z = (k + 0.5) / cells
        s, c = sin(turn * z), cos(turn * z)
        for i in range(n):
            q[i] = start[i] + displacement[i] * (z - s / turn) + swing[i] * 0.5 * (1.0 - c)
            v[i] = (displacement[i] * (1.0 - c) + swing[i] * pi * s) / duration
            a[i] = turn * (displacement[i] * s + swing[i] * pi * c) / (duration * duration)
        call_kernel(kernels.inverse_dynamics, (q, v, a, tau))
        for i in range(n):
            load = tau[i] / limits[i]
            most = max(most, abs(load))
            u[k, i] = min(max(load, -1.0), 1.0)
    return most


def smooth_motion(
    robot: Robot, start: Vector, goal: Vector, swing: Vector
) -> tuple[Vector, float]:
    """Return normalized efforts (cells, n) and duration, s, of a smooth motion with a detour.

    The duration is close to the shortest one for which the efforts are within their limits.

    Args:
        robot: The arm.
        start: Positions (n,), at rest.
        goal: Positions (n,), at rest.
        swing: Additional midway displacement of the joints (n,).
    """
    u, (q, v, a, tau) = np.empty((CELLS, robot.n)), np.empty((4, robot.n))
    limits, kernels = np.array(robot.tau_max), kernels_of(robot)
    smooth = by_reference(Smooth(start, goal - start, swing, limits, q, v, a, tau, u))
    short, long = 0.0, 1.0

    def most(duration: float) -> float:
        return efforts_along(kernels, smooth, duration)

    while most(long) > 1.0 and long < 1e3:
        short, long = long, 2.0 * long
    while short == 0.0 and most(0.5 * long) <= 1.0 and long > 1e-6:
        long *= 0.5
    short = 0.5 * long
    for _ in range(4):
        middle = 0.5 * (short + long)
        short, long = (short, middle) if most(middle) <= 1.0 else (middle, long)
    most(long)
    return u, long


def detours(robot: Robot, start: Vector, goal: Vector, most: float) -> Iterator[Vector]:
    """Yield displacements (n,) at mid-motion: one joint at a time, in both directions.

    The first joint has no detour, because its position changes only the direction of gravity.
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

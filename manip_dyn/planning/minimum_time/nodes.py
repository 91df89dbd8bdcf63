"""Motions on a grid of nodes: efforts, distances from all limits, and derivatives.

The unknowns are the control points of a cubic spline. Positions, speeds and accelerations at a
node are linear in the control points at this node and its neighbours (`NodeScheme`; de Boor 1978,
A practical guide to splines, chapter IX). Efforts are computed by inverse dynamics.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, log
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.robot import Robot

SHORTEST, LONGEST = 1e-4, 1e2
"""Durations of initial guesses, s."""
HALVINGS = 3


class InverseKernels(NamedTuple):
    """Addresses of the kernels of one robot."""

    inverse_dynamics: int
    inverse_dynamics_derivatives: int


class NodeMotion(NamedTuple):
    """Motion on a grid of nodes, and its distances from the limits.

    Attributes:
        q: Unknowns at the nodes (nodes, n): positions or control points.
        tau: Efforts at the nodes (nodes, n).
        log_duration: Natural logarithm of the duration in s (1,).
        slack: Scaled distances from the limits (nodes, 6 n): of efforts from below and above, of
            positions, and of speeds up to the next node; inf without a limit.
    """

    q: Matrix
    tau: Matrix
    log_duration: Vector
    slack: Matrix


class NodeScheme(NamedTuple):
    """Coefficients of the unknowns at each node and its neighbours, for a duration of 1 s.

    The unknowns at both ends are the start and goal positions.

    Attributes:
        place: Coefficients of the position (nodes, 3).
        speed: Coefficients of the speed (nodes, 3), 1/s.
        bend: Coefficients of the acceleration (nodes, 3), 1/s^2.
        stretch: Coefficient of the difference to the next unknown in the speed between both
            (nodes,).
        lead: Contributions of the end speeds to position, speed and acceleration (nodes, 3, n).
            The first is proportional to the duration, the last inversely proportional.
        pull: Contribution of the end speeds to the speed up to the next node (nodes, n).
        shift: Difference between positions or control points and unknowns (nodes, n) for a
            duration of 1 s; proportional to the duration.
        origin: Constant offset of the unknowns (n,). Numbers near zero have more accurate
            differences.
    """

    place: Matrix
    speed: Matrix
    bend: Matrix
    stretch: Vector
    lead: Tensor
    pull: Matrix
    shift: Matrix
    origin: Vector


class NodeLimits(NamedTuple):
    """Limits of a motion on a grid.

    Attributes:
        tau: Effort limits (n,).
        low: Lower position limits (n,).
        high: Upper position limits (n,).
        v: Speed limits (n,).
        scale: Scale of distances from position limits (n,).
        room: Relative margins from the effort limits (nodes, 2 n), below and above.
        scheme: Coefficients of the unknowns.
    """

    tau: Vector
    low: Vector
    high: Vector
    v: Vector
    scale: Vector
    room: Matrix
    scheme: NodeScheme


class NodeWork(NamedTuple):
    """Work arrays.

    Attributes:
        q: Positions at a node (n,).
        v: Speeds at a node (n,).
        a: Accelerations at a node (n,).
        by: Derivatives of the efforts with respect to q, v and a (3, n, n).
        force: Multipliers of the limits (nodes, 6 n).
        change: Changes of the multipliers in a step (nodes, 6 n).
        slope: Derivatives of the distances along a step (nodes, 6 n).
        lever: Derivatives of the efforts at a node with respect to the positions before, at and
            after the node, and to the logarithm of the duration (nodes, n, 3 n + 1).
        band: Lower band of the matrix by rows (k, 3 n).
        border: Last column of the matrix (k,).
        right: Right-hand side (k,).
        step: The step (k,).
        curved: Contribution of the curvature of the limits to the band (k, 3 n).
        curved_border: Contribution of the curvature to the last column (k,).
        push: Multipliers of the efforts at a node (n,).
        gradient: Derivatives of the efforts weighted by `push` with respect to q, v and a (3, n).
        second: Second derivatives of the weighted efforts (3 n, 3 n).
        by_time: Derivatives of q, v and a with respect to the logarithm of the duration (3 n,).
        share: Derivatives of q, v and a with respect to the positions before, at and after the
            node (3, 3).
        bent: Derivatives of `gradient` with respect to the position before, at or after the node
            (3 n,).
        resume: Damping and number of failed steps, to resume an interior-point method (2,).
    """

    q: Vector
    v: Vector
    a: Vector
    by: Vector
    force: Matrix
    change: Matrix
    slope: Matrix
    lever: Vector
    band: Matrix
    border: Vector
    right: Vector
    step: Vector
    curved: Matrix
    curved_border: Vector
    push: Vector
    gradient: Matrix
    second: Matrix
    by_time: Vector
    share: Matrix
    bent: Vector
    resume: Vector


@lru_cache(maxsize=64)
def inverse_kernels_of(robot: Robot) -> InverseKernels:
    """Return the kernel addresses of a robot for this module."""
    return InverseKernels(*addresses(robot, *InverseKernels._fields))


def empty_node_motion(n: int, nodes: int) -> NodeMotion:
    """Allocate the arrays of a motion."""
    return NodeMotion(
        np.zeros((nodes, n)), np.zeros((nodes, n)), np.zeros(1), np.empty((nodes, 6 * n))
    )


def empty_node_work(n: int, nodes: int) -> NodeWork:
    """Allocate the work arrays."""
    k, wide = (nodes - 2) * n, (nodes, 6 * n)
    return NodeWork(
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty((3, n, n)),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty((nodes, n, 3 * n + 1)),
        np.empty((k, 3 * n)),
        np.empty(k),
        np.empty(k),
        np.empty(k),
        np.empty((k, 3 * n)),
        np.empty(k),
        np.empty(n),
        np.empty((3, n)),
        np.empty((3 * n, 3 * n)),
        np.empty(3 * n),
        np.empty((3, 3)),
        np.empty(3 * n),
        np.zeros(2),
    )


@compiled(short=True, python=False, counted=False)
def differences(scheme, motion, k, duration, work):
    """Write position, speed and acceleration at a node."""
    unknown, place, speed, bend = motion.q, scheme.place, scheme.speed, scheme.bend
    lead, q, v, a = scheme.lead, work.q, work.v, work.a
    before, after = max(k - 1, 0), min(k + 1, unknown.shape[0] - 1)
    by_speed, by_bend = 1.0 / duration, 1.0 / (duration * duration)
    for i in range(unknown.shape[1]):
        x, y, z = unknown[before, i], unknown[k, i], unknown[after, i]
        q[i] = place[k, 0] * x + place[k, 1] * y + place[k, 2] * z + lead[k, 0, i] * duration
        q[i] += scheme.origin[i]
        v[i] = (speed[k, 0] * x + speed[k, 1] * y + speed[k, 2] * z) * by_speed + lead[k, 1, i]
        a[i] = (bend[k, 0] * x + bend[k, 1] * y + bend[k, 2] * z) * by_bend
        a[i] += lead[k, 2, i] * by_speed


@inlined(counted=False)
def _measured(kernels, limits, motion, k, duration, work):
    """Write the efforts at a node and its distances from all limits."""
    q, tau, slack, room, scheme = motion.q, motion.tau, motion.slack, limits.room, limits.scheme
    nodes, n = q.shape
    differences(scheme, motion, k, duration, work)
    call_kernel(kernels.inverse_dynamics, (work.q, work.v, work.a, tau[k]))
    for i in range(n):
        share = tau[k, i] / limits.tau[i]
        slack[k, i] = 1.0 - room[k, i] + share
        slack[k, n + i] = 1.0 - room[k, n + i] - share
        inner = 0 < k < nodes - 1
        at = q[k, i] + duration * scheme.shift[k, i] + scheme.origin[i]
        slack[k, 2 * n + i] = (at - limits.low[i]) / limits.scale[i] if inner else np.inf
        slack[k, 3 * n + i] = (limits.high[i] - at) / limits.scale[i] if inner else np.inf
        slack[k, 4 * n + i] = slack[k, 5 * n + i] = np.inf
        if k < nodes - 1:
            speed = (q[k + 1, i] - q[k, i]) * scheme.stretch[k] / duration + scheme.pull[k, i]
            slack[k, 4 * n + i] = 1.0 + speed / limits.v[i]
            slack[k, 5 * n + i] = 1.0 - speed / limits.v[i]


@compiled(short=True, counted=False)
def measure_slacks(kernels, limits, motion, work):
    """Write efforts and distances from all limits; return the smallest distance."""
    slack, duration, least = motion.slack, exp(motion.log_duration[0]), np.inf
    for k in range(slack.shape[0]):
        _measured(kernels, limits, motion, k, duration, work)
        for i in range(slack.shape[1]):
            if not slack[k, i] >= least:
                least = slack[k, i]
    return least


@compiled(short=True, counted=False)
def effort_jacobians(kernels, limits, motion, work):
    """Write the derivatives of the efforts at all nodes."""
    scheme, lever, by = limits.scheme, work.lever, work.by
    place, speed, bend, lead = scheme.place, scheme.speed, scheme.bend, scheme.lead
    nodes, n = motion.q.shape
    duration = exp(motion.log_duration[0])
    by_speed, by_bend = 1.0 / duration, 1.0 / (duration * duration)
    for k in range(nodes):
        differences(scheme, motion, k, duration, work)
        call_kernel(kernels.inverse_dynamics_derivatives, (work.q, work.v, work.a, by))
        for i in range(n):
            by_time = 0.0
            for j in range(n):
                push, drag, pull = by[0, i, j], by[1, i, j] * by_speed, by[2, i, j] * by_bend
                for c in range(3):
                    lever[k, i, c * n + j] = (
                        push * place[k, c] + drag * speed[k, c] + pull * bend[k, c]
                    )
                by_time += by[0, i, j] * lead[k, 0, j] * duration
                by_time -= by[1, i, j] * (work.v[j] - lead[k, 1, j])
                by_time -= by[2, i, j] * (2.0 * work.a[j] - lead[k, 2, j] * by_speed)
            lever[k, i, 3 * n] = by_time


@compiled(short=True, counted=False)
def slow_enough(kernels, limits, motion, work, room):
    """Slow down a motion until it satisfies the effort and speed limits.

    Return whether it is within all limits, with the relative margin `room` if possible.
    """
    short, long = 0.0, SHORTEST
    while long < LONGEST and not _clears_limits(kernels, limits, motion, work, long, room):
        short, long = long, 2.0 * long
    for _ in range(HALVINGS):
        middle = 0.5 * (short + long)
        if _clears_limits(kernels, limits, motion, work, middle, room):
            long = middle
        else:
            short = middle
    motion.log_duration[0] = log(long)
    return measure_slacks(kernels, limits, motion, work) > 0.0


@compiled(short=True, python=False, counted=False)
def _clears_limits(kernels, limits, motion, work, duration, room):
    """Return whether a motion with a duration, s, satisfies the effort and speed limits.

    Nothing is written beyond the first node that violates a limit.
    """
    slack, n = motion.slack, motion.q.shape[1]
    for k in range(slack.shape[0]):
        _measured(kernels, limits, motion, k, exp(log(duration)), work)
        for i in range(2 * n):
            if not (slack[k, i] > room and slack[k, 4 * n + i] > room):
                return False
    return True


@compiled(short=True, counted=False)
def efforts_at(kernels, q, v, a, tau):
    """Write the efforts (k, n) for positions, velocities and accelerations (k, n)."""
    for k in range(q.shape[0]):
        call_kernel(kernels.inverse_dynamics, (q[k], v[k], a[k], tau[k]))


@compiled(short=True, counted=False)
def derivatives_at(kernels, q, v, a, by):
    """Write the derivatives (k, 3, n, n) of the efforts with respect to q, v and a (k, n)."""
    for k in range(q.shape[0]):
        call_kernel(kernels.inverse_dynamics_derivatives, (q[k], v[k], a[k], by[k]))


def cubic_spline(v0: Vector, vf: Vector, nodes: int, origin: Vector) -> NodeScheme:
    """Return the scheme for control points of a cubic spline with equal cells.

    Args:
        v0: Start velocities (n,), rad/s or m/s.
        vf: Goal velocities (n,), rad/s or m/s.
        nodes: Number of nodes, at least 5.
        origin: Positions (n,) that are subtracted from the control points.

    The unknowns are the control points minus `origin` and `drift`.
    """
    n, cells, h = len(v0), nodes - 1, 1.0 / (nodes - 1)
    place = np.tile((1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0), (nodes, 1))
    speed = np.tile((-0.5 * cells, 0.0, 0.5 * cells), (nodes, 1))
    bend = np.tile((1.0 * cells**2, -2.0 * cells**2, 1.0 * cells**2), (nodes, 1))
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
    """Return smooth displacements (k, n) at times `z` (k,), for 1 s and only these end speeds.

    Displacements of a longer motion are larger. They are subtracted from the control points, so
    that a change of the duration hardly affects the accelerations near the ends.
    """
    leave = z - z**3 * (6.0 - 8.0 * z + 3.0 * z * z)
    arrive = -(z**3) * (4.0 - 7.0 * z + 3.0 * z * z)
    return np.outer(leave, v0) + np.outer(arrive, vf)

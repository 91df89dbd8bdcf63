"""Motions by their positions at nodes: efforts, distances from all limits, derivatives.

Speeds and accelerations are central differences, so the efforts at the nodes come from inverse
dynamics.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.by_address import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled

SHORTEST, LONGEST = 1e-4, 1e2
"""Durations of initial guesses, s."""
HALVINGS = 3


class InverseKernels(NamedTuple):
    """Addresses of the kernels of one robot."""

    inverse_dynamics: int
    inverse_dynamics_derivatives: int


class NodeMotion(NamedTuple):
    """A motion by its positions at nodes, and its distances from the limits.

    Attributes:
        q: Positions (nodes, n).
        tau: Efforts at the nodes (nodes, n).
        log_duration: Logarithm of the duration in s (1,).
        slack: Scaled distances from the limits (nodes, 6 n): of the efforts from below and above,
            the positions and the speeds up to the next node; inf where there is none.
    """

    q: Matrix
    tau: Matrix
    log_duration: Vector
    slack: Matrix


class NodeLimits(NamedTuple):
    """The limits of a motion.

    Attributes:
        tau: Of the efforts (n,).
        low: Lower ones of the positions (n,).
        high: Upper ones (n,).
        v: Of the speeds (n,).
        scale: What distances from limits of position count by (n,).
    """

    tau: Vector
    low: Vector
    high: Vector
    v: Vector
    scale: Vector


class NodeWork(NamedTuple):
    """Work space.

    Attributes:
        v: Speeds (n,).
        a: Accelerations (n,).
        by: Derivatives of the efforts by q, v and a (3, n, n).
        force: Multipliers (nodes, 6 n) of the limits.
        change: Their changes by a step (nodes, 6 n).
        slope: Derivatives of distances by a step (nodes, 6 n).
        lever: Derivatives of the efforts at a node by the positions before, there and after, and
            by the logarithm of the duration (nodes, n, 3 n + 1).
        band: Lower band of the matrix, row by row (k, 3 n).
        border: Its last column (k,).
        right: Right-hand side (k,).
        step: The step (k,).
    """

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


def node_motion_of(n: int, nodes: int) -> NodeMotion:
    """Return the arrays of a motion."""
    return NodeMotion(
        np.zeros((nodes, n)), np.zeros((nodes, n)), np.zeros(1), np.empty((nodes, 6 * n))
    )


def node_work_of(n: int, nodes: int) -> NodeWork:
    """Return the arrays to work with."""
    k, wide = (nodes - 2) * n, (nodes, 6 * n)
    return NodeWork(
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
    )


@compiled(short=True, python=False)
def differences(motion, k, h, work):
    """Write speeds and accelerations at a node; beyond both ends the motion is mirrored."""
    q, v, a = motion.q, work.v, work.a
    last = q.shape[0] - 1
    before, after = (1 if k == 0 else k - 1), (last - 1 if k == last else k + 1)
    for i in range(q.shape[1]):
        v[i] = (q[after, i] - q[before, i]) / (2.0 * h)
        a[i] = (q[after, i] - 2.0 * q[k, i] + q[before, i]) / (h * h)


@compiled(short=True)
def measure(kernels, limits, motion, work):
    """Write the efforts and the distances from all limits; return the least distance."""
    q, tau, slack = motion.q, motion.tau, motion.slack
    nodes, n = q.shape
    h = exp(motion.log_duration[0]) / (nodes - 1)
    least = np.inf
    for k in range(nodes):
        differences(motion, k, h, work)
        call_kernel(kernels.inverse_dynamics, (q[k], work.v, work.a, tau[k]))
        for i in range(n):
            share = tau[k, i] / limits.tau[i]
            slack[k, i] = 1.0 + share
            slack[k, n + i] = 1.0 - share
            inner = 0 < k < nodes - 1
            slack[k, 2 * n + i] = (q[k, i] - limits.low[i]) / limits.scale[i] if inner else np.inf
            slack[k, 3 * n + i] = (limits.high[i] - q[k, i]) / limits.scale[i] if inner else np.inf
            slack[k, 4 * n + i] = slack[k, 5 * n + i] = np.inf
            if k < nodes - 1:
                speed = (q[k + 1, i] - q[k, i]) / (h * limits.v[i])
                slack[k, 4 * n + i] = 1.0 + speed
                slack[k, 5 * n + i] = 1.0 - speed
        for i in range(6 * n):
            if not slack[k, i] >= least:
                least = slack[k, i]
    return least


@compiled(short=True)
def levers(kernels, motion, work):
    """Write the derivatives of the efforts at all nodes."""
    q, lever, by = motion.q, work.lever, work.by
    nodes, n = q.shape
    h = exp(motion.log_duration[0]) / (nodes - 1)
    for k in range(nodes):
        differences(motion, k, h, work)
        call_kernel(kernels.inverse_dynamics_derivatives, (q[k], work.v, work.a, by))
        for i in range(n):
            by_time = 0.0
            for j in range(n):
                speed, pull = by[1, i, j] / (2.0 * h), by[2, i, j] / (h * h)
                lever[k, i, j] = pull - speed
                lever[k, i, n + j] = by[0, i, j] - 2.0 * pull
                lever[k, i, 2 * n + j] = pull + speed
                if k == 0:
                    lever[k, i, 2 * n + j] = 2.0 * pull
                if k == nodes - 1:
                    lever[k, i, j] = 2.0 * pull
                by_time -= by[1, i, j] * work.v[j] + 2.0 * by[2, i, j] * work.a[j]
            lever[k, i, 3 * n] = by_time


@compiled(short=True)
def slow_enough(kernels, limits, motion, work, room):
    """Make a motion as slow as it has to be to keep off the limits of effort and speed.

    Returns whether it is within all limits, by `room` over the limit if that is possible.
    """
    short, long = 0.0, SHORTEST
    while long < LONGEST and not _keeps_off(kernels, limits, motion, work, long, room):
        short, long = long, 2.0 * long
    for _ in range(HALVINGS):
        middle = 0.5 * (short + long)
        if _keeps_off(kernels, limits, motion, work, middle, room):
            long = middle
        else:
            short = middle
    _keeps_off(kernels, limits, motion, work, long, room)
    return measure(kernels, limits, motion, work) > 0.0


@compiled(short=True, python=False)
def _keeps_off(kernels, limits, motion, work, duration, room):
    """Return whether a motion keeps off the limits of effort and speed in so many s."""
    slack, n = motion.slack, motion.q.shape[1]
    motion.log_duration[0] = log(duration)
    measure(kernels, limits, motion, work)
    for k in range(slack.shape[0]):
        for i in range(2 * n):
            if not (slack[k, i] > room and slack[k, 4 * n + i] > room):
                return False
    return True

"""The grid search of Fan (2003) for zero-net-work motions, compiled, for comparison.

The search follows Fan (2003), figure 6.4 and appendices A.4 and A.7, for an arm with two joints
and any goal. The switching positions are varied from the goal to the start. That of the first
joint varies fastest. At the end of the grid, the step is halved and the search restarts.

Each trial is integrated in steps of 1e-4 s, the largest step in the programs of the thesis. The
efforts are updated at every step. A joint is driven until its switching position and then braked.
It is locked at the first step within `near` of its goal, or beyond it: its acceleration is then
zero, and it drifts with its remaining speed. A trial ends when both joints are locked. It is the
solution if the work on the links, which equals the remaining kinetic energy, is small enough.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.zero_net_work.shooting import locked_joint_kernels
from manip_dyn.robot import Robot

TIME_STEP = 1e-4
"""Largest step in the programs of the thesis (RWORK(2)), s."""


class Grid(NamedTuple):
    """Parameters of the grid search for two joints.

    Attributes:
        start: Start positions (2,), rad or m.
        goal: Goal positions (2,), rad or m.
        limit: Effort limits (2,).
        least: Smallest distances of the switching positions from the goal (2,).
        length: Largest distances of the switching positions from the goal (2,).
        near: Distance from the goal below which a joint has arrived, rad or m.
        enough: Work on the links below which a trial succeeds, J.
        dt: Integration step, s.
        longest: Maximum duration of a trial, s.
        most: Maximum number of trials.
    """

    start: Vector
    goal: Vector
    limit: Vector
    least: Vector
    length: Vector
    near: float
    enough: float
    dt: float
    longest: float
    most: int


class GridWork(NamedTuple):
    """Work arrays of a trial.

    Attributes:
        y: State (4,).
        z: Intermediate state (4,).
        k1, k2, k3, k4: Rates (4,).
        q: Positions (2,).
        v: Velocities (2,).
        modes: Efforts (2,), then 1 for each driven joint and 0 for each locked joint (2,).
        energies: Kinetic and potential energy (2,).
        switch: Switching positions (2,).
        times: Switch times (2,), then arrival times (2,), s.
    """

    y: Vector
    z: Vector
    k1: Vector
    k2: Vector
    k3: Vector
    k4: Vector
    q: Vector
    v: Vector
    modes: Vector
    energies: Vector
    switch: Vector
    times: Vector


@compiled(short=True, python=False)
def trial(kernels, grid, work):
    """Integrate a trial until both joints are locked.

    Returns:
        The remaining kinetic energy, J, or inf after `grid.longest`.
    """
    y, k1, k2, k3, k4, z = work.y, work.k1, work.k2, work.k3, work.k4, work.z
    p, times, dt = work.modes, work.times, grid.dt
    for i in range(2):
        y[i] = grid.start[i]
        y[2 + i] = times[i] = times[2 + i] = 0.0
        p[2 + i] = 1.0
    t = 0.0
    while True:
        left = 0
        for i in range(2):
            toward = 1.0 if grid.start[i] < grid.goal[i] else -1.0
            if p[2 + i] != 0.0 and toward * (grid.goal[i] - y[i]) < grid.near:
                p[2 + i] = 0.0
                times[2 + i] = t
            if p[2 + i] != 0.0:
                left += 1
                braking = toward * (y[i] - work.switch[i]) > 0.0
                p[i] = -toward * grid.limit[i] if braking else toward * grid.limit[i]
                if not braking:
                    times[i] = t
        if left == 0:
            for i in range(2):
                work.q[i] = y[i]
                work.v[i] = y[2 + i]
            call_kernel(kernels.energy, (work.q, work.v, work.energies))
            return work.energies[0]
        if t > grid.longest:
            return inf
        call_kernel(kernels.locked_joint_motion, (y, p, k1))
        for i in range(4):
            z[i] = y[i] + 0.5 * dt * k1[i]
        call_kernel(kernels.locked_joint_motion, (z, p, k2))
        for i in range(4):
            z[i] = y[i] + 0.5 * dt * k2[i]
        call_kernel(kernels.locked_joint_motion, (z, p, k3))
        for i in range(4):
            z[i] = y[i] + dt * k3[i]
        call_kernel(kernels.locked_joint_motion, (z, p, k4))
        for i in range(4):
            y[i] += dt / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
        t += dt


@compiled(short=True)
def try_grids(kernels, grid, work, step):
    """Try all switching positions on grids of decreasing step until a trial succeeds.

    Returns:
        The number of trials, which is negative if no trial succeeds, and the last step.
    """
    trials = 0
    while True:
        second = grid.least[1]
        while True:
            first = grid.least[0]
            while True:
                for i in range(2):
                    toward = 1.0 if grid.start[i] < grid.goal[i] else -1.0
                    work.switch[i] = grid.goal[i] - toward * (first if i == 0 else second)
                trials += 1
                left = trial(kernels, grid, work)
                if left < grid.enough:
                    return trials, step
                if trials >= grid.most:
                    return -trials, step
                if first >= grid.length[0]:
                    break
                first += step
            if second >= grid.length[1]:
                break
            second += step
        step *= 0.5


class GridSearch(NamedTuple):
    """Result of the grid search.

    Attributes:
        success: Whether a motion was found within the allowed trials.
        q_switch: Switching positions (2,), rad or m.
        t_switch: Times (2,) of the last step before the switch, s; 0 for a joint that is locked
            from the start.
        t_arrival: Times at which the joints are locked (2,), s.
        step: Last step of the grid, rad or m.
        trials: Number of trials.
    """

    success: bool
    q_switch: Vector
    t_switch: Vector
    t_arrival: Vector
    step: float
    trials: int


def grid_search(
    robot: Robot,
    q0: ArrayLike,
    qf: ArrayLike,
    step: float = 0.01,
    near: float = 1e-4,
    enough: float = 1e-4,
    longest: float = 2.0,
    most: int = 1_000_000,
    window: tuple[ArrayLike, ArrayLike] | None = None,
) -> GridSearch:
    """Search the switching positions of a zero-net-work motion as in the thesis.

    Args:
        robot: An arm with two joints.
        q0: Start positions (2,) at rest, rad or m.
        qf: Goal positions (2,), rad or m.
        step: Initial step of the grid, rad or m: 0.01 in A.7, 0.001 in A.4.
        near: `Xerror`: distance from the goal below which a joint has arrived, rad or m.
        enough: `Werror`: work on both links below which a trial succeeds, J: 1e-4 in A.7, 3e-4 in
            A.4.
        longest: `Tstop`: maximum duration of a trial, s.
        most: Maximum number of trials.
        window: Smallest and largest distances (2,) of the switching positions from the goal, rad
            or m. Default: the whole distance, as in the thesis.

    Raises:
        ManipDynError: If the robot does not have two joints, or an argument is invalid.
    """
    if robot.n != 2:
        raise ManipDynError(
            f"robot must have 2 joints for the grid search, got {robot.n} of '{robot.name}'."
        )
    start, goal = finite_vector("start", q0, 2), finite_vector("goal", qf, 2)
    least, length = np.zeros(2), np.abs(goal - start)
    if window is not None:
        least = np.clip(finite_vector("window", window[0], 2), 0.0, length)
        length = np.clip(finite_vector("window", window[1], 2), least, length)
    grid = Grid(
        start,
        goal,
        robot.tau_max,
        least,
        length,
        positive("near", near),
        positive("enough", enough),
        TIME_STEP,
        positive("longest", longest, "s"),
        most,
    )
    q, v, energies, switch = np.zeros((4, 2))
    y, z, k1, k2, k3, k4, modes, times = np.zeros((8, 4))
    work = GridWork(y, z, k1, k2, k3, k4, q, v, modes, energies, switch, times)
    trials, last = try_grids(
        locked_joint_kernels(robot), by_reference(grid), by_reference(work), positive("step", step)
    )
    return GridSearch(trials > 0, work.switch, work.times[:2], work.times[2:], last, abs(trials))

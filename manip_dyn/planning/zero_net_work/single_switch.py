"""Search for motions with full efforts and one switch per joint.

Newton's method of `shooting` starts from initial guesses of the switch and arrival times. Each
solution is replayed. It is rejected if it does not end at rest at the goal, if the efforts that
lock joints do not reproduce the motion, or if efforts, speeds or positions exceed their limits.
"""

from __future__ import annotations

import itertools
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.compiled import compiled
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import Space
from manip_dyn.planning.plan import Samples, held_samples
from manip_dyn.planning.zero_net_work.shooting import (
    EFFORT,
    NO_SOLUTION,
    NOT_REPRODUCED,
    POSITION,
    PROVED,
    SPEED,
    TOLERANCES,
    Bounds,
    Nodes,
    Problem,
    Work,
    locked_joint_engine,
    locked_joint_kernels,
    newton,
    nodes_of,
    replay,
    work_of,
)
from manip_dyn.robot import Robot

JointIndices = NDArray[np.int64]
"""Indices of joints (m,)."""
MOST_SIGNED_JOINTS = 3
"""Maximum number of moving joints for which all signs of the efforts are tried."""

HIGH = 0.8
"""Fraction of a limit at a node above which the motion is checked between its nodes."""
SAMPLES = 17
"""Number of samples from one node to the next in this check."""
ROUNDING = 1e-9
"""Tolerance of limits for rounding errors, relative to the limit."""
TINY = 1e-300


def natural_signs(start: Vector, goal: Vector) -> Vector:
    """Return the signs (n,) of the efforts that push every joint towards its goal."""
    return np.sign(goal - start)


def other_signs(natural: Vector, moving: JointIndices) -> Matrix:
    """Return all other combinations (l, n) of the signs of the moving joints' efforts."""
    rows = []
    for flips in itertools.product((1.0, -1.0), repeat=len(moving)):
        row = natural.copy()
        row[moving] *= flips
        rows.append(row)
    return np.array(rows[1:])


def initial_times(robot: Robot, start: Vector, goal: Vector, moving: JointIndices) -> Matrix:
    """Return initial switch and arrival times (k, 2 m), s, of the m moving joints.

    Columns alternate: switch and arrival of the first joint, then of the second, and so on.
    Each joint is modelled as a double integrator with the inertia and load at the middle posture.
    The first row assumes that the slowest joint moves with all others locked, and every other
    joint with all others at their effort limits. The second row assumes that the other joints
    are locked, the third that they are free. The remaining rows scale these times.
    """
    kernels, zero = customize(robot).unchecked, np.zeros(robot.n)
    middle, sign = 0.5 * (start + goal), np.sign(goal - start)
    mass, load = kernels.mass_matrix(middle), kernels.inverse_dynamics(middle, zero, zero)
    inverse = np.linalg.inv(mass[moving[:, None], moving])
    distance, sign, load = np.abs(goal - start)[moving], sign[moving], load[moving]
    limit = robot.tau_max[moving]
    least, own = 0.05 * limit, 1.0 / inverse.diagonal()
    # rows: mixed, other joints locked, other joints free
    inertia, coupled = np.array([own, mass.diagonal()[moving], own]), np.zeros((3, len(moving)))
    coupled[0] = own * (inverse @ (sign * limit)) - sign * limit
    pull = sign * (load - coupled)
    up, down = np.maximum(limit - pull, least), np.maximum(limit + pull, least)
    rows = np.empty((3, len(moving), 2))
    switch = rows[:, :, 0] = np.sqrt(2.0 * distance * inertia * down / (up * (up + down)))
    rows[:, :, 1] = switch * (1.0 + up / down)
    slowest = int(np.argmax(rows[1, :, 1]))
    rows[0, slowest] = rows[1, slowest]
    return (_time_factors(len(moving))[:, None] * rows.reshape(3, -1)).reshape(-1, 2 * len(moving))


@cache
def _time_factors(m: int) -> Matrix:
    """Return factors (k, 2 m) by which the initial times of m joints are scaled."""
    rows: list[tuple[float, ...]] = [(1.0,) * m]
    if m <= MOST_SIGNED_JOINTS:
        rows += itertools.product((0.6, 1.6), repeat=m)
    return np.repeat(np.array(rows), 2, axis=1)


NEWTON_STEPS, TOLERANCE = 15, 1e-11
"""Maximum number of Newton steps, and the residual at which Newton's method has converged."""


@compiled(short=True)
def try_guesses(kernels, guesses, signs, x, problem, bounds, work, nodes):
    """Start Newton's method from `guesses` (k, 2 m) and `signs` (l, n) until a motion is verified.

    The times of the last motion are written to `x` (2 m,).

    Returns:
        The verdict of `replay`, or `NO_SOLUTION`; the joint; and the value that it requires.
    """
    drive = problem.drive
    verdict, joint, need = NO_SOLUTION, 0, 0.0
    for row in range(signs.shape[0]):
        for i in range(drive.shape[0]):
            drive[i] = signs[row, i] * bounds.effort[i]
        for k in range(guesses.shape[0]):
            for i in range(x.shape[0]):
                x[i] = guesses[k, i]
            if newton(kernels, x, problem, TOLERANCE, NEWTON_STEPS, work) < 0:
                continue
            wrong, place, lack = replay(kernels, x, problem, bounds, work, nodes)
            if wrong == PROVED:
                return wrong, place, lack
            if verdict in (NO_SOLUTION, NOT_REPRODUCED):
                verdict, joint, need = wrong, place, lack
            if wrong != NOT_REPRODUCED:
                break
    return verdict, joint, need


class MotionTask(NamedTuple):
    """Start and goal of a motion, and its moving joints.

    Attributes:
        start: Start positions (n,), equal to the goal for joints that do not move.
        goal: Goal positions (n,).
        moving: Indices of the moving joints (m,).
    """

    start: Vector
    goal: Vector
    moving: NDArray[np.int64]


class SearchResult(NamedTuple):
    """Result of a search for a single-switch motion.

    Attributes:
        verdict: `PROVED`, the reason why a candidate was rejected, or `NO_SOLUTION`.
        joint: Index of the joint that violates a limit.
        need: Required effort or speed relative to the limit, or the required position.
        x: Switch and arrival times of the moving joints (2 m,), s; valid if verified.
        nodes: The motion; valid if verified.
    """

    verdict: int
    joint: int
    need: float
    x: Vector
    nodes: Nodes


class SingleSwitchSearch:
    """Search for single-switch motions of one robot."""

    def __init__(self, robot: Robot):
        """Prepare the search. Its compiled code is the same for all robots with n joints."""
        self._robot, self._kernels = robot, locked_joint_kernels(robot)
        self._space = locked_joint_engine(robot.n).space(**TOLERANCES)
        bounds = Bounds(robot.q_min, robot.q_max, robot.v_max, robot.tau_max)
        self._bounds, self._works = by_reference(bounds), dict[int, Work]()

    def run(self, task: MotionTask, signs: Matrix, guesses: Matrix) -> SearchResult:
        """Search from all initial guesses with all signs until a motion is verified.

        Args:
            task: Start, goal and moving joints.
            signs: Signs (l, n) of the efforts before the switch, one combination per row.
            guesses: Switch and arrival times (k, 2 m), s, one guess per row.
        """
        n, m = self._robot.n, len(task.moving)
        start, drive = np.concatenate([task.start, np.zeros(n)]), np.zeros(n)
        order, x = np.zeros(2 * m, dtype=np.int64), np.zeros(2 * m)
        problem, nodes = Problem(start, task.goal, task.moving, drive, order), nodes_of(n, m)
        if m not in self._works:
            self._works[m] = by_reference(work_of(n, m, self._space))
        verdict, joint, need = try_guesses(
            self._kernels,
            guesses,
            signs,
            x,
            by_reference(problem),
            self._bounds,
            self._works[m],
            by_reference(nodes),
        )
        return SearchResult(verdict, joint, need, x, nodes)


@lru_cache(maxsize=64)
def _search_of(robot: Robot) -> SingleSwitchSearch:
    """Return the cached search of `robot`."""
    return SingleSwitchSearch(robot)


def find_motion(robot: Robot, task: MotionTask) -> SearchResult:
    """Search for a single-switch motion. Without one, the verdict of the result is the reason."""
    searching, natural = _search_of(robot), natural_signs(task.start, task.goal)
    guesses = initial_times(robot, *task)
    result = _checked_between(robot, searching.run(task, natural[None], guesses))
    if result.verdict != PROVED and len(task.moving) <= MOST_SIGNED_JOINTS:
        others = searching.run(task, other_signs(natural, task.moving), guesses[:2])
        others = _checked_between(robot, others)
        if others.verdict == PROVED:
            return others
    return result


def _checked_between(robot: Robot, result: SearchResult) -> SearchResult:
    """Check the speeds and efforts of a verified motion between its nodes, if they are high there.

    Extremes are computed from parabolas through three of `SAMPLES` samples between two nodes.
    """
    nodes, n = result.nodes, robot.n
    if result.verdict != PROVED:
        return result
    fast = np.abs(nodes.states[:, n:]) > HIGH * robot.v_max
    strong = np.abs(nodes.efforts) > HIGH * robot.tau_max
    if not (fast.any() or (strong & (nodes.modes[:, n:] == 0.0)).any()):
        return result
    motion = LockedJointMotion(robot, nodes, result.x)
    limits = np.concatenate([robot.v_max, robot.tau_max])
    for begin, end in itertools.pairwise(nodes.times):
        last = np.nextafter(end, begin)
        if last <= begin:
            continue
        _, v, effort = motion.at(np.linspace(begin, last, SAMPLES))
        peaks = _peaks(np.abs(np.hstack([v, effort]))) / limits
        worst = int(np.argmax(peaks))
        if peaks[worst] > 1.0 + ROUNDING:
            verdict = SPEED if worst < n else EFFORT
            return result._replace(verdict=verdict, joint=worst % n, need=float(peaks[worst]))
    return result


def _peaks(samples: Matrix) -> Vector:
    """Return the maxima (m,) of m functions from equidistant samples (k, m)."""
    index, columns = samples.argmax(axis=0), np.arange(samples.shape[1])
    inner = index.clip(1, len(samples) - 2)
    before, peak, after = (samples[inner + i, columns] for i in (-1, 0, 1))
    bend = np.maximum(2.0 * peak - before - after, TINY)
    return np.where(
        index == inner, peak + (after - before) ** 2 / (8.0 * bend), samples.max(axis=0)
    )


def failure_reason(robot: Robot, result: SearchResult) -> str:
    """Return a clause that explains why a search found no motion."""
    name, unit = robot.joint_names[result.joint], robot.unit(result.joint)
    if result.verdict == EFFORT:
        limit = robot.tau_max[result.joint]
        need, most = distinct_digits(result.need * limit, limit, digits=4)
        return f"joint '{name}' needs the effort {need} to be held; its limit is {most}"
    if result.verdict == SPEED:
        limit = robot.v_max[result.joint]
        need, most = distinct_digits(result.need * limit, limit, digits=4)
        return f"joint '{name}' would reach {need} {unit}/s; its limit is {most}"
    if result.verdict == POSITION:
        limits = robot.q_min[result.joint], robot.q_max[result.joint]
        need, low, high = distinct_digits(result.need, *limits, digits=4)
        return f"joint '{name}' would pass {need} {unit}; its limits are {low} and {high}"
    return "none was found from any initial guess"


class LockedJointMotion(PickledByArguments):
    """Motion with full efforts and one switch per joint. Each joint is locked on arrival."""

    def __init__(self, robot: Robot, nodes: Nodes, changes: Vector):
        """Initialize from the nodes of a verified motion, and its switch and arrival times, s."""
        self._n, self._nodes, self._changes = robot.n, nodes, changes
        self._engine = locked_joint_engine(robot.n)
        self._kernels = locked_joint_kernels(robot)
        self._efforts = customize(robot).in_place.locked_joint_efforts

    @property
    def knots(self) -> Vector:
        """Times from 0 to the arrival, s, between which the efforts are smooth."""
        return self._nodes.times

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        y, _ = self._at(t)
        return y[: self._n].copy(), y[self._n :].copy()

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s. At a jump, return those after the jump."""
        return self._effort(*self._at(t))

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        points = [self._at(t) for t in times.tolist()]
        states = np.array([y for y, _ in points]).reshape(-1, 2, self._n)
        return states[:, 0], states[:, 1], np.array([self._effort(*point) for point in points])

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts every `period` seconds and at every switch and arrival."""
        t_final = float(self._changes.max())
        times = {0.0, *np.arange(0.0, t_final, period).tolist(), *self._changes.tolist()}
        return held_samples(sorted(times - {t_final}), self.effort)

    def _effort(self, y: Vector, drive: Vector) -> Vector:
        effort = np.empty(self._n)
        self._efforts(y, drive, effort)
        return np.where(drive[self._n :] != 0.0, drive[: self._n], effort)

    @cached_property
    def _space(self) -> Space:
        return self._engine.space(**TOLERANCES)

    def _at(self, t: float) -> tuple[Vector, Vector]:
        """Return the state (2 n,) at time `t`, s, and the modes (2 n,) that follow."""
        nodes = self._nodes
        node = int(nodes.times.searchsorted(t, side="right")) - 1
        y, drive, begin = nodes.states[node].copy(), nodes.modes[node].copy(), nodes.times[node]
        if t > begin:
            self._engine.run(begin, t, (self._kernels, drive), y, self._space)
        return y, drive

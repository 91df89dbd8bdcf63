"""Minimum-time motions by direct collocation with CasADi and IPOPT, as a reference.

Nothing of the planner is used: the equations of motion are the recursive Newton-Euler algorithm
over CasADi's expressions, and all limits are bounds of the nonlinear program. IPOPT starts from
several initial guesses. The fastest solution is refined with cells of a quarter of the length,
because a motion on a coarse grid can be too fast by the discretization error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot

CELLS, FINER = 60, 4
STARTS = 8
SWING, RANDOM = 1.2, 2.4
"""Amplitude of the detours of single joints, and standard deviation of random ones, rad or m."""
DURATIONS = 0.05, 20.0, 40
"""Range of the durations of initial guesses, s, and their number."""
MOST_STEPS = 300
SAME_TIME = 2e-4
"""Relative difference below which two durations belong to the same local minimum."""
SLOWER = 1e-6
"""Fraction of the duration by which motions may be slower in `Reference.spread`."""


FREE, NEAR = 0.9, 1e-3
"""Normalized effort below which an effort is free, and relative distance from a limit of position
or speed within which a joint is at this limit."""


class Motion(NamedTuple):
    """A motion on a grid of k cells; the duration (s) is inf without a solution.

    Attributes:
        duration: Duration, s.
        x: Positions and velocities (k + 1, 2 n).
        u: Normalized efforts (k, n), constant in each cell.
    """

    duration: float
    x: Matrix
    u: Matrix


class Reference:
    """The fastest local minimum of collocation between two states of rest.

    Attributes:
        motion: The fastest motion, on the finer grid unless IPOPT has not converged there.
        durations: Durations of the converged starts on the coarse grid, s, in rising order.
    """

    def __init__(self, robot: Robot, start: Vector, goal: Vector, solvers: Solvers):
        """Solve from all initial guesses, and refine the fastest solution."""
        self._ends, self._coarse, self._fine = (start, goal), solvers.coarse, solvers.fine
        motions = [self._coarse.solve(start, goal, g) for g in guesses(robot, start, goal)]
        motions = sorted(motions, key=lambda motion: motion.duration)
        self.durations = [m.duration for m in motions if np.isfinite(m.duration)]
        self.motion = motions[0]
        if self.durations:
            finer = self._fine.solve(start, goal, self.motion)
            self.motion = finer if np.isfinite(finer.duration) else self.motion

    @property
    def minima(self) -> int:
        """Number of distinct durations of local minima."""
        return sum(
            later > (1.0 + SAME_TIME) * earlier
            for earlier, later in pairwise([0.0, *self.durations])
        )

    def spread(self, robot: Robot) -> float:
        """Return how far a motion that is at most `SLOWER` slower deviates from the fastest one.

        The deviation is a fraction of the joint's range or of a revolution, whichever is smaller.
        The slower motion minimizes a sum of the efforts with weights that fall quadratically with
        time, which shifts the positions of a joint with time to spare. If the optimum is unique,
        the deviation is of the order of the square root of `SLOWER`. It is 0 if IPOPT does not
        converge.
        """
        best = self.motion._replace(duration=(1.0 + SLOWER) * self.motion.duration)
        weights = np.tile(np.linspace(1.0, 0.0, len(best.u))[:, None] ** 2, best.u.shape[1])
        solver = self._fine if len(best.u) == FINER * CELLS else self._coarse
        extreme = solver.solve(*self._ends, best, weights)
        if not np.isfinite(extreme.duration):
            return 0.0
        span = np.minimum(robot.q_max - robot.q_min, 2.0 * np.pi)
        return float((np.abs(extreme.x - best.x)[:, : robot.n] / span).max())

    def undetermined(self, robot: Robot) -> float:
        """Return the fraction of the duration for which the fastest motion has surplus efforts.

        These are efforts below `FREE` in addition to one for each joint at a position or speed
        limit, or to a single one without such joints. Pontryagin's conditions determine only the
        latter, so the fastest motion is not unique.
        """
        n, x, span = robot.n, self.motion.x, robot.q_max - robot.q_min
        q, v = x[:, :n], x[:, n:]
        distance = np.minimum(robot.q_max - q, q - robot.q_min)
        distance = distance / np.where(np.isfinite(span), span, 1.0)
        distance = np.minimum(distance, 1.0 - np.abs(v) / robot.v_max)
        at_limit = np.count_nonzero(np.minimum(distance[1:], distance[:-1]) < NEAR, axis=1)
        free = np.count_nonzero(np.abs(self.motion.u) < FREE, axis=1)
        return float(np.mean(free > np.maximum(at_limit, 1)))


class Solvers:
    """Collocation problems of a robot on both grids."""

    def __init__(self, robot: Robot):
        """Build the problems."""
        self.coarse, self.fine = Collocation(robot, CELLS), Collocation(robot, FINER * CELLS)


def guesses(robot: Robot, start: Vector, goal: Vector) -> Iterator[Motion]:
    """Yield initial guesses: the straight path, two detours of each joint, and random detours.

    Random detours complete the guesses to `STARTS`.
    """
    rng = np.random.default_rng(0)
    swings = [np.zeros(robot.n)]
    swings += [side * SWING * unit for unit in np.eye(robot.n) for side in (1.0, -1.0)]
    swings += [rng.normal(scale=RANDOM, size=robot.n) for _ in range(STARTS - len(swings))]
    z = np.linspace(0.0, 1.0, CELLS + 1)[:, None]
    for swing in swings:
        q = (
            start
            + (goal - start) * 0.5 * (1.0 - np.cos(np.pi * z))
            + swing * np.sin(np.pi * z) ** 2
        )
        yield timed(robot, np.clip(q, robot.q_min, robot.q_max))


def timed(robot: Robot, q: Matrix) -> Motion:
    """Return a guess along positions (k + 1, n) with the shortest feasible duration.

    A duration is feasible if efforts and speeds are within their limits. `DURATIONS` defines a
    geometric series of durations; if none is feasible, the guess has the longest one. Its
    normalized efforts are clipped to 0.9.
    """
    data, cells = robot.model.createData(), len(q) - 1
    v, a = np.gradient(q, axis=0) * cells, np.gradient(np.gradient(q, axis=0), axis=0) * cells**2
    for duration in np.geomspace(*DURATIONS):
        tau = [
            pinocchio.rnea(robot.model, data, *row)
            for row in zip(q, v / duration, a / duration**2, strict=True)
        ]
        u = np.array(tau) / robot.tau_max
        if np.abs(u).max() <= 1.0 and np.all(np.abs(v) <= duration * robot.v_max):
            break
    u = 0.5 * (u[1:] + u[:-1])
    return Motion(float(duration), np.hstack([q, v / duration]), np.clip(u, -0.9, 0.9))


class Collocation:
    """Hermite-Simpson collocation with piecewise constant efforts between states of rest.

    Betts (2010), Practical methods for optimal control using nonlinear programming, section 4.6.6.
    """

    def __init__(self, robot: Robot, cells: int = CELLS):
        """Build the problem once for any start and goal."""
        import casadi

        n, self._robot, self._cells = robot.n, robot, cells
        slope = forward_dynamics(robot)
        # Unknowns in order of time keep the matrices banded.
        unknown = casadi.MX.sym("w", 5 * n * cells + 2 * n + 1)
        columns = casadi.reshape(unknown[: 5 * n * cells], 5 * n, cells)
        x, middle = (
            casadi.horzcat(columns[: 2 * n, :], unknown[-1 - 2 * n : -1]),
            columns[2 * n : 4 * n, :],
        )
        u, duration = columns[4 * n :, :], unknown[-1]
        weights = casadi.MX.sym("weights", n * cells + 1)
        h, across = duration / cells, slope.map(cells)
        efforts = casadi.repmat(casadi.DM(robot.tau_max), 1, cells) * u
        before, after, between = (
            across(states, efforts) for states in (x[:, :-1], x[:, 1:], middle)
        )
        defects = casadi.vertcat(
            middle - 0.5 * (x[:, :-1] + x[:, 1:]) - h / 8 * (before - after),
            x[:, 1:] - x[:, :-1] - h / 6 * (before + 4 * between + after),
        )
        problem: Any = {
            "x": unknown,
            "p": weights,
            "f": casadi.dot(weights, casadi.vertcat(casadi.vec(u), duration)),
            "g": casadi.vec(defects),
        }
        ipopt = {"print_level": 0, "sb": "yes", "tol": 1e-8, "max_iter": MOST_STEPS}
        options: Any = {"print_time": False, "ipopt": ipopt}
        self._solver = casadi.nlpsol("solver", "ipopt", problem, options)

    def solve(
        self, start: Vector, goal: Vector, guess: Motion, weights: Matrix | None = None
    ) -> Motion:
        """Return the local minimum near a guess; its duration is inf if IPOPT does not converge.

        Args:
            start: Initial positions (n,), rad or m.
            goal: Final positions (n,), rad or m.
            guess: Motion on a grid of any number of cells.
            weights: Weights (cells, n) of the normalized efforts, which are minimized instead of
                the duration; the duration is then that of the guess at most.
        """
        n, cells, robot = self._robot.n, self._cells, self._robot
        x, u = _resampled(guess, cells)
        one = np.ones(n)
        low, high = np.r_[robot.q_min, -robot.v_max], np.r_[robot.q_max, robot.v_max]
        lower = np.tile(np.r_[low, low, -one], (cells, 1))
        upper = np.tile(np.r_[high, high, one], (cells, 1))
        lower[0, : 2 * n] = upper[0, : 2 * n] = np.r_[start, 0.0 * one]
        last = np.r_[goal, 0.0 * one]
        is_fastest = weights is None
        objective = np.zeros((cells, n)) if weights is None else weights
        solution = self._solver(
            x0=np.r_[self._packed(x, u), x[-1], guess.duration],
            p=np.r_[objective.ravel(), float(is_fastest)],
            lbx=np.r_[lower.ravel(), last, 1e-3],
            ubx=np.r_[upper.ravel(), last, 1e3 if is_fastest else guess.duration],
            lbg=0.0,
            ubg=0.0,
        )
        w = np.array(solution["x"]).ravel()
        rows = w[: 5 * n * cells].reshape(cells, 5 * n)
        is_solved = self._solver.stats()["success"]
        return Motion(
            float(w[-1]) if is_solved else np.inf,
            np.vstack([rows[:, : 2 * n], w[-1 - 2 * n : -1]]),
            rows[:, 4 * n :],
        )

    @staticmethod
    def _packed(x: Matrix, u: Matrix) -> Vector:
        return np.hstack([x[:-1], 0.5 * (x[1:] + x[:-1]), u]).ravel()


def _resampled(motion: Motion, cells: int) -> tuple[Matrix, Matrix]:
    """Return states (cells + 1, 2 n) and efforts (cells, n) of a motion on another grid."""
    count = len(motion.u)
    z, source = np.linspace(0.0, 1.0, cells + 1), np.linspace(0.0, 1.0, count + 1)
    x = np.array([np.interp(z, source, column) for column in motion.x.T]).T
    return x, motion.u[np.minimum((z[:-1] + 0.5 / cells) * count, count - 1).astype(int)]


def forward_dynamics(robot: Robot) -> Any:
    """Return the CasADi function that maps a state (2 n,) and efforts (n,) to the rates (2 n,)."""
    import casadi

    n = robot.n
    x, tau = casadi.SX.sym("x", 2 * n), casadi.SX.sym("tau", n)
    q, v = x[:n], x[n:]
    passive = casadi.DM(robot.damping) * v + casadi.DM(robot.stiffness) * (q - robot.rest)
    bias = newton_euler(robot, q, v, casadi.SX.zeros(n), robot.gravity)
    columns = [
        newton_euler(robot, q, casadi.SX.zeros(n), casadi.SX(unit), np.zeros(3))
        for unit in np.eye(n)
    ]
    mass = casadi.horzcat(*columns) + casadi.diag(casadi.DM(robot.armature))
    a = casadi.solve(mass, tau - bias - passive)
    return casadi.Function("rates", [x, tau], [casadi.vertcat(v, a)])


def newton_euler(robot: Robot, q: Any, v: Any, a: Any, gravity: Vector) -> Any:
    """Return the joint efforts (n,) of rigid bodies by the recursive Newton-Euler algorithm.

    Featherstone (2008), Rigid body dynamics algorithms, section 5.3, with 3-vectors in body axes.
    """
    import casadi

    z, count = casadi.DM([0.0, 0.0, 1.0]), len(robot.bodies)
    zero = casadi.SX.zeros(3)
    base = (zero, zero, casadi.SX(casadi.DM(-gravity)))
    rates: list[Any] = []
    turns, offsets, wrenches = [], [], []
    for i, body in enumerate(robot.bodies):
        omega, alpha, acceleration = base if body.parent < 0 else rates[body.parent]
        rotation, offset = casadi.SX(casadi.DM(body.rotation)), casadi.DM(body.translation)
        if body.prismatic:
            turn, offset = rotation, offset + casadi.mtimes(rotation, z) * q[i]
        else:
            c, s = casadi.cos(q[i]), casadi.sin(q[i])
            about = casadi.vertcat(
                casadi.horzcat(c, -s, 0), casadi.horzcat(s, c, 0), casadi.DM([[0, 0, 1]])
            )
            turn = casadi.mtimes(rotation, about)
        linear = acceleration + casadi.cross(alpha, offset)
        linear = linear + casadi.cross(omega, casadi.cross(omega, offset))
        omega, alpha, linear = (casadi.mtimes(turn.T, w) for w in (omega, alpha, linear))
        if body.prismatic:
            linear = linear + z * a[i] + 2.0 * casadi.cross(omega, z * v[i])
        else:
            alpha = alpha + z * a[i] + casadi.cross(omega, z * v[i])
            omega = omega + z * v[i]
        com, inertia = casadi.DM(body.com), casadi.DM(body.inertia)
        at_com = linear + casadi.cross(alpha, com) + casadi.cross(omega, casadi.cross(omega, com))
        force = body.mass * at_com
        moment = casadi.mtimes(inertia, alpha)
        moment = moment + casadi.cross(omega, casadi.mtimes(inertia, omega))
        moment = moment + casadi.cross(com, force)
        rates.append((omega, alpha, linear))
        turns.append(turn)
        offsets.append(offset)
        wrenches.append((force, moment))
    efforts = [zero[0]] * count
    for i in reversed(range(count)):
        body, (force, moment) = robot.bodies[i], wrenches[i]
        efforts[i] = force[2] if body.prismatic else moment[2]
        if body.parent >= 0:
            force, moment = casadi.mtimes(turns[i], force), casadi.mtimes(turns[i], moment)
            below, about = wrenches[body.parent]
            moment = moment + casadi.cross(offsets[i], force)
            wrenches[body.parent] = below + force, about + moment
    return casadi.vertcat(*efforts)

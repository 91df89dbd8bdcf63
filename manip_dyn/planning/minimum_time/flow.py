"""Flows of state and costate along arcs, and sampled trajectories of extremals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import METHODS, Engine, Options, Space, compile_engine
from manip_dyn.planning.minimum_time.equations import (
    arc_of,
    canonical,
    constrained,
    constrained_arc_of,
    motion,
    variations,
)
from manip_dyn.planning.minimum_time.structures import (
    Controls,
    Extremal,
    are_full,
    effort_signs,
)
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {"rtol": 3e-13, "atol": 1e-13, "max_steps": 120}


def _fails(engine: Engine, space: Space, p: Any, y: Vector, duration: float) -> bool:
    """Integrate `y` in place for `duration` s; return whether the integration failed."""
    return engine.run(0.0, duration, p, y, space) != 0


class LimitFlow:
    """Propagates (x, p), (4 n,), and its derivatives under constant efforts.

    The derivatives are those with respect to the initial (x, p).
    """

    legendre_clebsch = 0.0

    def __init__(self, robot: Robot):
        """Allocate the work arrays for a robot."""
        n = self.n = robot.n
        self._arc = by_reference(arc_of(robot))
        self.normalized_efforts, self.forces = np.ones(n), np.zeros(n)
        engine = _compiled_variations(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)
        self._start, self._long = np.zeros((2, 4 * n + 12 * n * n))
        unit = np.eye(2 * n).ravel()
        self._start[4 * n : 4 * n + 4 * n * n] = self._start[-4 * n * n :] = unit

    def choose(self, tau: Vector) -> None:
        """Set the efforts (n,)."""
        self._arc.tau[:] = tau

    def state(self, y: Vector, duration: float) -> Vector | None:
        """Return x (2 n,) after `duration` s, or None if the integration fails."""
        x = y[: 2 * self.n].copy()
        if duration != 0.0 and _fails(*self._motion, self._arc, x, duration):
            return None
        return x

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None if the integration fails."""
        return self._long[: len(y)].copy() if self._moves(y, duration) else None

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return (x, p) after `duration` s, and its derivatives (4 n, 4 n).

        The derivatives are those with respect to the initial (x, p). The result is None if the
        integration fails.
        """
        if not self._moves(y, duration):
            return None
        states = 2 * self.n
        xx, px, pp = self._long[2 * states :].reshape(3, states, states)
        by_start = np.zeros((2 * states, 2 * states))
        by_start[:states, :states], by_start[states:, :states] = xx, px
        by_start[states:, states:] = pp
        return self._long[: 2 * states].copy(), by_start

    def _moves(self, y: Vector, duration: float) -> bool:
        """Write (x, p) after `duration` s with its derivatives; return whether this succeeded."""
        long = self._long
        long[:] = self._start
        long[: len(y)] = y
        return duration == 0.0 or not _fails(self._engine, self._space, self._arc, long, duration)

    @cached_property
    def _motion(self) -> tuple[Engine, Space]:
        engine = _compiled_motion(self.n)
        return engine, engine.space(**TOLERANCES)

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        canonical(0.0, y, self._arc, out)
        return out

    @property
    def tau(self) -> Vector:
        """Efforts (n,) at the last call of `rates`."""
        return self._arc.tau.copy()


class ConstrainedFlow:
    """Propagates (x, p), (4 n,), with a singular effort or with joints held at limits."""

    def __init__(self, robot: Robot):
        """Allocate the work arrays for a robot."""
        n = self.n = robot.n
        self._arc = by_reference(constrained_arc_of(robot))
        engine = _compiled_constrained(n)
        self._engine, self._space = engine, engine.space(**TOLERANCES)

    def choose(self, controls: Controls) -> None:
        """Set the controls (n,)."""
        arc, singular = self._arc, [k for k, control in enumerate(controls) if control.is_singular]
        arc.joint[0] = singular[0] if singular else -1
        arc.indirect[0] = max(
            (k for k, control in enumerate(controls) if control.is_indirect), default=-1
        )
        for effort, control in enumerate(controls):
            arc.held[effort] = control.held_or_own(effort) if control.is_at_limit else -1
        arc.arc.tau[:] = effort_signs(controls) * arc.limits

    def state(self, y: Vector, duration: float) -> Vector | None:
        """Return x (2 n,) after `duration` s, or None if the integration fails."""
        there = self.moved(y, duration)
        return None if there is None else there[: 2 * self.n]

    def moved(self, y: Vector, duration: float) -> Vector | None:
        """Return (x, p) after `duration` s, or None if the integration fails."""
        y = y.copy()
        if duration != 0.0 and _fails(self._engine, self._space, self._arc, y, duration):
            return None
        return y

    def moved_with_derivatives(self, y: Vector, duration: float) -> tuple[Vector, Vector] | None:
        """Return (x, p) after `duration` s and its finite-difference derivatives (4 n, 4 n)."""
        end, by_start = self.moved(y, duration), np.empty((len(y), len(y)))
        for i, step in enumerate(1e-7 * (1e-1 + np.abs(y))):
            moved = self.moved(y + step * np.eye(len(y))[i], duration)
            if end is None or moved is None:
                return None
            by_start[:, i] = (moved - end) / step
        return None if end is None else (end, by_start)

    def rates(self, y: Vector) -> Vector:
        """Return the rates (4 n,) of (x, p)."""
        out = np.empty(4 * self.n)
        constrained(0.0, y, self._arc, out)
        return out

    @property
    def tau(self) -> Vector:
        """Efforts (n,) at the last call of `rates`."""
        return self._arc.arc.tau.copy()

    @property
    def normalized_efforts(self) -> Vector:
        """Normalized efforts (n,) at the last call of `rates`."""
        return np.asarray(self.tau / self._arc.limits, dtype=np.float64)

    @property
    def forces(self) -> Vector:
        """Contributions of the limits to -dp_v/dt (n,) at the last call of `rates`."""
        return self._arc.forces.copy()

    @property
    def legendre_clebsch(self) -> float:
        """Decrease of d2S/dt2 by the full effort of the singular joint, at the last `rates` call.

        S is the switching function of this joint. If the value is positive, the arc can be optimal
        (Kelley, Kopp, Moyer 1967, Singular extremals).
        """
        return -float(self._arc.singular_effort[1]) if self._arc.joint[0] >= 0 else 0.0


@lru_cache(maxsize=64)
def _compiled_motion(n: int) -> Engine:
    return compile_engine(motion, METHODS["rkdp87"], Options(size=2 * n, adaptive=True))


@lru_cache(maxsize=64)
def _compiled_variations(n: int) -> Engine:
    options = Options(size=4 * n + 12 * n**2, adaptive=True)
    return compile_engine(variations, METHODS["rkdp87"], options)


@lru_cache(maxsize=64)
def _compiled_constrained(n: int) -> Engine:
    return compile_engine(constrained, METHODS["rkdp87"], Options(size=4 * n, adaptive=True))


class Flow(PickledByArguments):
    """Selects the flow for the controls of an arc."""

    def __init__(self, robot: Robot):
        """Allocate the flow under full efforts for a robot."""
        self._robot, self._limits = robot, np.array(robot.tau_max)
        self._limit = LimitFlow(robot)

    @cached_property
    def _constrained(self) -> ConstrainedFlow:
        return ConstrainedFlow(self._robot)

    def switching_functions(self, states: Matrix, rates: Matrix) -> tuple[Matrix, Matrix]:
        """Return the switching functions (k, n) at (x, p), (k, 4 n), and their rates, 1/s.

        Neither depends on the efforts.
        """
        n, kernels = self._robot.n, customize(self._robot).unchecked
        curves, slopes = np.empty((len(states), 3, n, 3, n)), np.empty((len(states), 3, n, n))
        q, v, _, p_v = (rows.copy() for rows in states.reshape(-1, 4, n).swapaxes(0, 1))
        for k in range(len(states)):
            at = q[k], v[k], v[k]
            curves[k] = kernels.forward_dynamics_second_derivatives(*at, p_v[k])
            slopes[k] = kernels.forward_dynamics_derivatives(*at)
        inverse, moved = slopes[:, 2], curves[:, 2, :, 0] @ v[..., None]
        moved += inverse @ rates[:, 3 * n :, None]
        return (inverse @ p_v[..., None])[..., 0], moved[..., 0]

    def along(self, controls: Controls) -> LimitFlow | ConstrainedFlow | None:
        """Return the flow for the controls (n,), or None if they are not supported.

        Any number of joints may be at limits without a singular effort, and at most one with a
        singular effort.
        """
        if are_full(controls):
            self._limit.choose(
                np.array([control.direction for control in controls]) * self._limits
            )
            return self._limit
        singular = sum(control.is_singular for control in controls)
        limits = sum(control.is_at_limit for control in controls)
        is_indirect = any(control.is_indirect for control in controls)
        if singular > 1 or (singular == 1 and (limits > 1 or is_indirect)):
            return None
        self._constrained.choose(controls)
        return self._constrained

    def acceleration(self, y: Vector, joint: int, controls: Controls) -> tuple[float, Vector]:
        """Return the acceleration of a joint and its derivatives (4 n,), by finite differences."""
        flow, slopes = self.along(controls), np.zeros(len(y))
        n = self._robot.n
        if flow is None:
            return np.nan, slopes
        for i in range(2 * n):
            step = 1e-6 * (1e-2 + abs(y[i])) * np.eye(len(y))[i]
            ends = [flow.rates(y + side * step)[n + joint] for side in (1, -1)]
            slopes[i] = (ends[0] - ends[1]) / (2.0 * step[i])
        return float(flow.rates(y)[n + joint]), slopes


SAMPLES = 16
"""Number of samples per arc; cubic interpolation adds three values between two samples."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A sampled motion with costates.

    Attributes:
        times: Sample times (k,), s, including both ends of every arc.
        arcs: Arc of each sample (k,).
        states: (q, v, p) at the samples (k, 4 n).
        switching: Switching functions (k, n).
        slopes: Rates of the switching functions (k, n), 1/s.
        hamiltonians: H (k,).
        normalized_efforts: Normalized efforts (k, n) between the limits; 1 for full efforts.
        forces: Contributions of the limits to -dp_v/dt (k, n).
        strengths: Decrease (k,) of the second time derivative of the switching function by the
            full effort on singular arcs; 0 elsewhere.
    """

    times: Vector
    arcs: Vector
    states: Tensor
    switching: Matrix
    slopes: Matrix
    hamiltonians: Vector
    normalized_efforts: Matrix
    forces: Matrix
    strengths: Vector


def refined_samples(along: Trajectory) -> NDArray[np.int64]:
    """Return the index of the sample at or before each value that `refined` returns."""
    return np.append(np.repeat(np.arange(len(along.times) - 1), 4), len(along.times) - 1)


def refined_arcs(along: Trajectory) -> NDArray[np.int64]:
    """Return the arc of each value that `refined` returns."""
    return along.arcs[refined_samples(along)].astype(np.int64)


def refined(along: Trajectory, joint: int) -> tuple[Vector, Vector]:
    """Return times and values of a switching function, with three values between two samples.

    Values between samples are interpolated by cubics through values and slopes.
    """
    t, s, r = along.times, along.switching[:, joint], along.slopes[:, joint]
    h = np.diff(t)[:, None]
    z = np.array([0.0, 0.25, 0.5, 0.75])
    cubic = (
        (1 + 2 * z) * (1 - z) ** 2 * s[:-1, None]
        + z * (1 - z) ** 2 * h * r[:-1, None]
        + z**2 * (3 - 2 * z) * s[1:, None]
        + z**2 * (z - 1) * h * r[1:, None]
    )
    times = t[:-1, None] + z * h
    return np.append(times.ravel(), t[-1]), np.append(cubic.ravel(), s[-1])


def trajectory_of(flows: Flow, start: Vector, extremal: Extremal) -> Trajectory | None:
    """Integrate an extremal with its costates from rest at `start` (n,).

    The result is None if the controls of an arc are not supported or the integration fails.
    """
    n, arcs = len(start), extremal.switching.arcs()
    jumping = list(zip(extremal.switching.jumps(), extremal.jumps, strict=True))
    count = SAMPLES * len(arcs)
    states, rates = np.empty((2, count, 4 * n))
    normalized, forces = np.empty((2, count, n))
    times, strengths = np.empty((2, count))
    y, row = np.concatenate([start, np.zeros(n), extremal.costate]), 0
    for arc, (begin, end, controls) in enumerate(arcs):
        flow = flows.along(controls)
        if flow is None:
            return None
        y = y.copy()
        for (switch, component), jump in jumping:
            y[component] += jump if switch == arc - 1 else 0.0
        for k in range(SAMPLES):
            state = flow.moved(y, (end - begin) / (SAMPLES - 1)) if k > 0 else y
            if state is None:
                return None
            states[row] = y = state
            rates[row] = flow.rates(y)
            times[row] = begin + k / (SAMPLES - 1) * (end - begin)
            normalized[row], forces[row] = flow.normalized_efforts, flow.forces
            strengths[row] = flow.legendre_clebsch
            row += 1
    switching, slopes = flows.switching_functions(states, rates)
    x_rates, p = rates[:, None, : 2 * n], states[:, 2 * n :, None]
    hamiltonians = 1.0 + (x_rates @ p)[:, 0, 0]
    sample_arcs: Vector = np.repeat(np.arange(len(arcs)), SAMPLES)
    return Trajectory(
        times, sample_arcs, states, switching, slopes, hamiltonians, normalized, forces, strengths
    )

"""Arrays of the time loop: motions, options, working memory, and results.

The N motions are those of an arm with n joints. A state has m = 2 n + 1 numbers: positions,
velocities and work. An array of N rows may have a single row, which applies to all motions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import PLAIN
from manip_dyn.integration.event_search import KINDS, SIGNAL_ROWS
from manip_dyn.integration.loop_arrays import STATE, cleared

U, Y, SCRATCH, ZERO, MEAN, LOW, HIGH, K = range(8)
"""Rows of a block: end of the step, start of the step, scratch, zeros; integral, minimum and
maximum of the state; first stage."""
STATUS, TIME_NS, STEPS, FAILURES, EVALUATIONS, MET = range(6)
"""Columns of `BatchArrays.ends`."""
IDLE = -1
"""Motion index of an idle lane."""


class Motions(NamedTuple):
    """Arrays of the motions.

    Attributes:
        starts: Initial positions and velocities (N, 2 n).
        times_ns: Start times (k,) of the efforts of all schedules, ns.
        efforts: Efforts of all schedules (k, n).
        schedules: First row and end row (exclusive) of the schedule of each motion (N, 2).
        stiffness: Feedback gains of positions (N, n).
        damping: Feedback gains of velocities (N, n).
        knots: Times of the reference motions (g,), s.
        references: Positions and velocities at the knots (g, 2 n).
        followed: First row and end row (exclusive) of the reference of each motion (N, 2).
        friction: Joint damping (N, n) in addition to the arm's.
        parameters: Parameters of a function law (N, k).
        inertias: Base parameters of the links (N, p), or (1, 0) for those of the arm.
        limits: Effort limits (n,).
        bounds: Position limits (k, 2) that end a motion: index of the joint, and 1 for a lower or
            -1 for an upper limit.
        places: Positions of these limits (k,).
    """

    starts: Any
    times_ns: Any
    efforts: Any
    schedules: Any
    stiffness: Any
    damping: Any
    knots: Any
    references: Any
    followed: Any
    friction: Any
    parameters: Any
    inertias: Any
    limits: Any
    bounds: Any
    places: Any


class LoopOptions(NamedTuple):
    """Options of the time loop.

    Attributes:
        joints: Number of joints n.
        law: Effort law, see `lanes.laws`.
        timed: Whether the efforts depend on time between switches.
        damped: Whether `Motions.friction` is nonzero.
        adaptive: Whether tolerances control the steps.
        fsal: Whether the last stage is the first stage of the next step.
        stages: Number of stages.
        evaluations: Evaluations per step, excluding the first stage.
        power: Order of the error estimate in the step size.
        duration_ns: Duration of the motions, ns.
        period_ns: Time between samples, ns.
        loaded: Whether `Motions.inertias` replaces the inertial parameters of the arm.
        width: Row width of a Taylor series in vectors; 0 for Runge-Kutta methods.
        motion: Address of the batched motion with work, or of its Taylor series.
        inverse_dynamics: Address of the batched inverse dynamics.
        function: Address of a function law, or 0.
    """

    joints: int
    law: int
    timed: int
    damped: int
    adaptive: int
    fsal: int
    stages: int
    evaluations: int
    power: float
    duration_ns: int
    period_ns: int
    loaded: int
    width: int
    motion: Any
    inverse_dynamics: Any
    function: Any


class MethodArrays(NamedTuple):
    """Arrays of a method: indices and times of the required stages (k,), sums and step limits.

    `abscissas` are fractions of the step. `terms` contains the sums for the stages, the end of the
    step and the error, as `Terms`. `limits` (1,) has the type `LIMITS`, and `tolerances` are
    (2, m).
    """

    live: Any
    abscissas: Any
    terms: Any
    limits: Any
    tolerances: Any


class LaneMemory(NamedTuple):
    """Working memory of one thread; arrays are (.., LANES) unless stated otherwise.

    Attributes:
        block: Rows of states (rows * m, LANES), indexed by `U` and the following constants.
        clock: Time and step data (LANES,), records of `STATE`.
        h: Step sizes (LANES,), s.
        times: Times of a stage (LANES,), s; reused for error norms.
        passed: Flags (LANES,): 1 for accepted steps, else 0.
        tau: Efforts of the law (n, LANES).
        applied: Feedback, and efforts minus damping (n, LANES).
        held: Efforts of the schedule (n, LANES).
        stiffness, damping, q, v, a: Feedback and reference (n, LANES).
        friction: Additional damping of the joints (n, LANES).
        zero: Zeros (n, LANES).
        peak: Largest absolute efforts (n, LANES).
        parameters: Parameters of a function law (k, LANES).
        inertias: Inertial parameters (p, LANES).
        single: Positions, velocities and parameters of one lane (3, ..).
        signals: Signals of the position limits (LANES, 7, k), see `integration.event_search`.
        where: Integers (rows, LANES), indexed by `MOTION` and the following constants.
        series: Coefficients of a Taylor series (order + 1, width * LANES).
        fixed: Constant part of the series (.., LANES).
        orders, lengths: Orders (LANES,) and lengths (LANES,), s, of the steps.
    """

    block: Any
    clock: Any
    h: Any
    times: Any
    passed: Any
    tau: Any
    applied: Any
    held: Any
    stiffness: Any
    damping: Any
    q: Any
    v: Any
    a: Any
    friction: Any
    zero: Any
    peak: Any
    parameters: Any
    inertias: Any
    single: Any
    signals: Any
    where: Any
    series: Any
    fixed: Any
    orders: Any
    lengths: Any


MOTION, SCHEDULE_ROW, KNOT, BEGIN_NS, END_NS, SAMPLE, PENDING, SEARCHING, REACHED = range(9)
"""Rows of `LaneMemory.where`: index of the motion; row of its schedule; row of its reference;
times of the last and next stop, ns; next sample; pending action, see `SAMPLE_DUE`; whether a limit
is being located; index of the reached limit in `Motions.bounds`."""
BY_JOINT: tuple[str, ...] = ("tau", "applied", "held", "stiffness", "damping", "q", "v", "a")
BY_JOINT += ("friction", "zero", "peak")
"""Fields of `LaneMemory` with shape (n, LANES)."""
SAMPLE_DUE, ENDED = 1, 2
"""Pending actions: a sample, or the end of the motion with a status (`ENDED` + status)."""


class BatchArrays(NamedTuple):
    """Samples, statistics and final values of the motions, with one row per motion.

    Attributes:
        states: States at the samples (N, s, m).
        tau: Efforts (N, s, n) that act after each sample.
        mean, low, high: Mean, minimum and maximum (N, m) of the state over time.
        peak: Largest absolute efforts (N, n).
        final: Final states (N, m).
        final_tau: Final efforts (N, n).
        ends: Integers (N, 6) at the end of each motion, indexed by `STATUS` and the following
            constants.
    """

    states: Any
    tau: Any
    mean: Any
    low: Any
    high: Any
    peak: Any
    final: Any
    final_tau: Any
    ends: Any


def lane_memory(
    motions: Motions, options: LoopOptions, top: int = 0, fixed: int = 0
) -> LaneMemory:
    """Allocate the working memory of a thread.

    Args:
        motions: The motions.
        options: The options.
        top: Highest order of a Taylor series.
        fixed: Number of rows of `LaneMemory.fixed`.
    """
    n, limits = options.joints, len(motions.places)

    def lanes(rows: int) -> Vector:
        return cleared(rows, LANES)

    signals = np.zeros((LANES, SIGNAL_ROWS, max(limits, 1)))
    signals[:, KINDS], signals[:, KINDS + 1] = -1.0, 1.0
    where = np.zeros((REACHED + 1, LANES), dtype=np.int64)
    where[MOTION] = IDLE
    clock: Any = np.zeros(LANES, STATE)
    return LaneMemory(
        block=lanes((K + options.stages) * (2 * n + 1)),
        clock=clock.view(np.recarray) if PLAIN else clock,
        h=lanes(1)[0],
        times=lanes(1)[0],
        passed=lanes(1)[0],
        **{name: lanes(n) for name in BY_JOINT},
        parameters=lanes(max(motions.parameters.shape[1], 1)),
        inertias=lanes(max(motions.inertias.shape[1], 1)),
        single=np.zeros((3, max(n, motions.parameters.shape[1]))),
        signals=signals,
        where=where,
        series=lanes(max(top + 1, 1) * max(options.width, 1)).reshape(top + 1, -1),
        fixed=lanes(max(fixed, 1)),
        orders=lanes(1)[0],
        lengths=lanes(1)[0],
    )


Allocate = Callable[[str, tuple[int, ...]], np.ndarray]
"""Function of the name and the shape of an array of samples that returns a new array."""


def batch_arrays(motions: int, samples: int, n: int, allocate: Allocate) -> BatchArrays:
    """Allocate the arrays of a batch; `ends` is zero, the others are not initialized."""
    m = 2 * n + 1

    def empty(*shape: int) -> Vector:
        return np.empty((motions, *shape))

    return BatchArrays(
        states=allocate("states", (motions, samples, m)),
        tau=allocate("tau", (motions, samples, n)),
        mean=empty(m),
        low=empty(m),
        high=empty(m),
        peak=empty(n),
        final=empty(m),
        final_tau=empty(n),
        ends=np.zeros((motions, MET + 1), dtype=np.int64),
    )

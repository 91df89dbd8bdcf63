"""Arrays of the time loop: motions, options, working memory, and results.

N motions of an arm with n joints; a state has m = 2 n + 1 numbers: positions, velocities, work.
An array of parameters has N rows, or one row for all motions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import PLAIN
from manip_dyn.integration.event_search import KINDS, SIGNAL_ROWS
from manip_dyn.integration.loop_arrays import STATE, cleared

U, Y, SCRATCH, ZERO, MEAN, LOW, HIGH, K = range(8)
"""Rows of a block: end of the step, its start, scratch, zeros; integral, least and most of the
state; the first stage."""
STATUS, TIME_NS, STEPS, FAILURES, EVALUATIONS, MET = range(6)
"""Columns of how motions ended."""
IDLE = -1
"""The motion of a lane that has none."""


class Motions(NamedTuple):
    """The motions.

    Attributes:
        starts: Positions and velocities (N, 2 n).
        times_ns: When efforts of the schedules begin (k,), ns.
        efforts: These efforts (k, n).
        schedules: First row of each motion's schedule, and the one after its last (N, 2).
        stiffness: Feedback of positions (N, n).
        damping: Feedback of velocities (N, n).
        knots: Times (g,) of the reference motions, s.
        references: Positions and velocities at them (g, 2 n).
        followed: First row of each motion's reference, and the one after its last (N, 2).
        friction: Damping of the joints beside the arm's own (N, n).
        parameters: Of a law that is a function (N, k).
        inertias: Inertial parameters (N, p), or none (N, 0).
        limits: Effort limits (n,).
        bounds: Position limits at which motions end: joint, 1 for lower and -1 for upper (k, 2).
        places: Where these limits are (k,).
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
    """What rules the loop.

    Attributes:
        joints: Their number n.
        law: How efforts follow from the state, see `lanes.law`.
        timed: Whether they depend on time, too, between switches.
        damped: Whether `Cases.friction` is not zero.
        adaptive: Whether tolerances rule the steps.
        fsal: Whether the last stage is the next step's first.
        stages: Number of stages.
        evaluations: Of a step besides the first stage.
        power: Power of the step that its error goes with.
        duration_ns: How long motions are, ns.
        period_ns: Time between samples, ns.
        loaded: Whether motions have inertial parameters of their own.
        width: Of a row of a Taylor series, in vectors; 0: no series.
        motion: Address of the batched motion with work, or of its series.
        inverse_dynamics: Address of the batched inverse dynamics.
        function: Address of a law that is a function.
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
    """A method's numbers: the stages that are wanted (k,), their times (s,), limits, tolerances.

    `terms` has the sums: before each stage, at the end, of the error, and of the mean.
    """

    live: Any
    abscissas: Any
    terms: Any
    limits: Any
    tolerances: Any


class LaneMemory(NamedTuple):
    """The memory of one thread; arrays (.., LANES) unless it says otherwise.

    Attributes:
        block: Rows of states, see `U` and the others (rows m, LANES).
        clock: Where each lane is, records of `STATE` (LANES,).
        h: The steps (LANES,), s.
        times: Times of a stage (LANES,), s; also norms of errors.
        passed: Whether the step passed, 1 or 0 (LANES,).
        tau: Efforts of the law (n, LANES).
        applied: The same less damping (n, LANES).
        held: Efforts of the schedule (n, LANES).
        stiffness, damping, q, v, a: Feedback and reference (n, LANES).
        friction: More damping of the joints (n, LANES).
        zero: Zeros (n, LANES).
        peak: Largest efforts so far (n, LANES).
        parameters: Of a law that is a function (k, LANES).
        inertias: Inertial parameters (p, LANES).
        single: Positions, velocities and parameters of one lane (3, ..).
        signals: Of the position limits, see `integrate.loop.search` (LANES, 7, k).
        where: Integers of each lane, see `MOTION` and the others (rows, LANES).
        series: Coefficients of a Taylor series (order + 1, width * LANES).
        fixed: What belongs to all of them (.., LANES).
        orders, lengths: Of a step (LANES,).
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
"""Rows of `Room.where`: the motion; the row of its schedule; that of its reference; begin and end
of the time to the next stop, ns; the next sample; whether one is due, see `DUE`; whether a limit
is being searched for, and which was found."""
BY_JOINT: tuple[str, ...] = ("tau", "applied", "held", "stiffness", "damping", "q", "v", "a")
BY_JOINT += ("friction", "zero", "peak")
"""The arrays (n, LANES) of a room."""
SAMPLE_DUE, ENDED = 1, 2
"""A sample is due; the motion ended with the status that this number is less."""


class BatchArrays(NamedTuple):
    """What is kept: samples, statistics, ends; rows are motions.

    Attributes:
        states: States at the samples (N, s, m).
        tau: Efforts from them on (N, s, n).
        mean, low, high: Mean, least and most of the state over time (N, m).
        peak: Largest efforts, without sign (N, n).
        final: State at the end (N, m).
        final_tau: Efforts at the end (N, n).
        ends: How motions ended, see `STATUS` and the others (N, 6).
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


def lane_memory(cases: Motions, rules: LoopOptions, top: int = 0, fixed: int = 0) -> LaneMemory:
    """Return the memory of a thread.

    Args:
        cases: The motions.
        rules: The rules.
        top: Highest order of a Taylor series.
        fixed: Rows of its `Room.fixed`.
    """
    n, limits = rules.joints, len(cases.places)

    def lanes(rows: int) -> Vector:
        return cleared(rows, LANES)

    signals = np.zeros((LANES, SIGNAL_ROWS, max(limits, 1)))
    signals[:, KINDS], signals[:, KINDS + 1] = -1.0, 1.0
    where = np.zeros((REACHED + 1, LANES), dtype=np.int64)
    where[MOTION] = IDLE
    clock: Any = np.zeros(LANES, STATE)
    return LaneMemory(
        block=lanes((K + rules.stages) * (2 * n + 1)),
        clock=clock.view(np.recarray) if PLAIN else clock,
        h=lanes(1)[0],
        times=lanes(1)[0],
        passed=lanes(1)[0],
        **{name: lanes(n) for name in BY_JOINT},
        parameters=lanes(max(cases.parameters.shape[1], 1)),
        inertias=lanes(max(cases.inertias.shape[1], 1)),
        single=np.zeros((3, max(n, cases.parameters.shape[1]))),
        signals=signals,
        where=where,
        series=lanes(max(top + 1, 1) * max(rules.width, 1)).reshape(top + 1, -1),
        fixed=lanes(max(fixed, 1)),
        orders=lanes(1)[0],
        lengths=lanes(1)[0],
    )


def batch_arrays(motions: int, samples: int, n: int) -> BatchArrays:
    """Return arrays for what is kept; what is never written is NaN."""
    m = 2 * n + 1

    def empty(*shape: int) -> Vector:
        return np.full((motions, *shape), np.nan)

    return BatchArrays(
        states=empty(samples, m),
        tau=empty(samples, n),
        mean=empty(m),
        low=empty(m),
        high=empty(m),
        peak=empty(n),
        final=empty(m),
        final_tau=empty(n),
        ends=np.zeros((motions, MET + 1), dtype=np.int64),
    )

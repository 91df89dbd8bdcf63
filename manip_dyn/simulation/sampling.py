"""Samples of a motion, computed by a compiled loop over the intervals between samples.

The loop calls the time loop, the energy and the effort law by address, so it is compiled once for
all robots and methods. It computes the same numbers as `Simulation.advance`, which returns to
Python at every sample. It supports constant and piecewise constant efforts, `PDControl` and
compiled functions, but neither dry friction nor efforts that are computed in Python.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import (
    MATRIX,
    VECTOR,
    address_for,
    by_reference,
    call_returning,
    call_writing,
    part,
    row,
    value_of,
)
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.results import Statistics
from manip_dyn.integration import Engine, Space, Status, restart
from manip_dyn.integration.loop_arrays import SPACE, only
from manip_dyn.integration.methods.step_control import EVENT, PAUSED, SUCCESS
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import INSIDE, Pieces

ROWS = 4096
"""Largest number of samples between two returns to Python."""
STEPS = 20_000
"""Number of steps after which the loop returns to Python, so that Ctrl-C ends it."""
NOW, TARGET, SAMPLING, ROW, PIECE, STATE, TAKEN, REJECTED, EVALUATED = range(9)
"""Indices of the progress of a loop: time and time of the next sample, ns; whether a sample is due
(1) or its efforts are computed (2); number of samples; index of the efforts; status of the last
interval; statistics."""


class Samples(NamedTuple):
    """Samples of a motion.

    Attributes:
        times_ns: Times (m,), ns.
        states: Positions, velocities and work (m, 2 n + 1).
        tau: Efforts (m, n) that act after each sample; NaN if the law raises an exception.
        energies: Kinetic and potential energy (m, 2), J.
    """

    times_ns: np.ndarray
    states: Matrix
    tau: Matrix
    energies: Matrix


class Recording(NamedTuple):
    """The numbers that the loop reads and writes.

    Attributes:
        advance: Address of the time loop.
        energy: Address of the kernel `energy`.
        law: Address of the efforts of a feedback law; 0 for piecewise constant efforts.
        period: Time between samples, ns.
        end: End of the motion, ns.
        most_steps: Maximum number of accepted and rejected steps.
        progress: State of the loop (9,), see `NOW`.
        y: State (2 n + 1,).
        space: Arrays of the time loop.
        times_ns: Start times (k,) of the piecewise constant efforts, ns.
        efforts: Piecewise constant efforts (k, n).
        current: Efforts (n,) of the interval, see `feedback.of_pd`.
        span: Start and end (2,) of the interval, s, see `feedback.of_pd`.
        samples_ns: Times of the samples (m,), ns.
        states: States at the samples (m, 2 n + 1).
        tau: Efforts (m, n) of a feedback law at the samples.
        energies: Kinetic and potential energy (m, 2), J.
    """

    advance: int
    energy: int
    law: int
    period: int
    end: int
    most_steps: float
    progress: np.ndarray
    y: Vector
    space: Any
    times_ns: np.ndarray
    efforts: Matrix
    current: Vector
    span: Vector
    samples_ns: np.ndarray
    states: Matrix
    tau: Matrix
    energies: Matrix


@inlined(counted=False, short=True)
def copy_numbers(source, target):
    """Copy a vector."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@compiled(counted=False, short=True)
def record_samples(p, recording):
    """Advance a motion and record its samples.

    Return PAUSED after `STEPS` steps or if the arrays are full, otherwise the status at the end.
    """
    progress, times, y, law = recording.progress, recording.times_ns, recording.y, recording.law
    space = value_of(recording.space)
    clock, n, last = only(space.clock), recording.current.shape[0], times.shape[0] - 1
    pause = progress[TAKEN] + STEPS
    while True:
        now, row_index, piece = progress[NOW], progress[ROW], progress[PIECE]
        while piece < last and times[piece + 1] <= now:
            piece += 1
        progress[PIECE] = piece
        copy_numbers(row(recording.efforts, piece), recording.current)
        stop = progress[TARGET]
        if progress[SAMPLING] == 1:
            stop = now + recording.period
        if piece < last:
            stop = min(stop, times[piece + 1])
        begin = 1e-9 * now
        recording.span[0], recording.span[1] = begin + INSIDE, 1e-9 * stop - INSIDE
        if progress[SAMPLING] == 1:
            if row_index == recording.samples_ns.shape[0]:
                return PAUSED
            recording.samples_ns[row_index] = now
            state = row(recording.states, row_index)
            copy_numbers(y, state)
            energies = row(recording.energies, row_index)
            call_kernel(recording.energy, (state, part(state, n, n), energies))
            progress[ROW] = row_index + 1
            progress[TARGET] = min(now + recording.period, recording.end)
            progress[SAMPLING] = 2
            if law != 0:
                call_writing(law, (begin, y, p, row(recording.tau, row_index)))
            progress[SAMPLING] = 0
            continue
        if progress[STATE] != SUCCESS or now == recording.end:
            return progress[STATE]
        if progress[TAKEN] >= pause:
            return PAUSED
        start = begin if law != 0 else 0.0
        taken = progress[TAKEN] + progress[REJECTED]
        only(space.rules).max_steps = recording.most_steps - taken
        restart(start, start + (stop - now) * 1e-9, space)
        status = call_returning(recording.advance, (p, y, space))
        progress[STATE] = status
        progress[TAKEN] += clock.steps
        progress[REJECTED] += clock.failures
        progress[EVALUATED] += clock.evaluations
        if status == SUCCESS:
            progress[NOW] = stop
        else:
            progress[NOW] = now + round((clock.t - start) * 1e9)
        if status == EVENT or (status == SUCCESS and stop == progress[TARGET]):
            progress[SAMPLING] = 1


class Recorder:
    """A motion that the compiled loop advances.

    Attributes:
        status: Status of the motion; PAUSED before its end.
    """

    def __init__(
        self,
        robot: Robot,
        engine: Engine,
        space: Space,
        p: Any,
        efforts: Any,
        pieces: Pieces,
        most_steps: float,
    ):
        """Set the robot, the time loop and the efforts.

        Args:
            robot: The arm.
            engine: The time loop.
            space: Arrays of the time loop.
            p: Parameters of the time loop and of `efforts`.
            efforts: Compiled ``efforts(t, y, p, tau)`` of a feedback law, or None.
            pieces: Piecewise constant efforts.
            most_steps: Maximum number of accepted and rejected steps.
        """
        axes = 1 if efforts is None else tuple(array.ndim for array in p)
        self._addresses = _addresses(robot, engine.advance, efforts, axes)
        self._parameters, self._space, self._pieces = p, space, pieces
        self._most_steps = most_steps
        self._progress = np.zeros(9, dtype=np.int64)
        self._chunks: list[Samples] = []
        self.status = Status.PAUSED

    @property
    def now_ns(self) -> int:
        """Time, ns."""
        return int(self._progress[NOW])

    @property
    def statistics(self) -> Statistics:
        """Counts of steps, failures and evaluations."""
        return Statistics(*self._progress[TAKEN:].tolist())

    @property
    def samples(self) -> Samples:
        """The samples so far."""
        *full, last = self._chunks
        last = Samples(*(array[: self._progress[ROW]] for array in last))
        samples = Samples(*map(np.concatenate, zip(*full, last, strict=True))) if full else last
        if not self._addresses[2]:
            index = np.searchsorted(self._pieces.times_ns, samples.times_ns, side="right") - 1
            samples.tau[:] = self._pieces.efforts[np.maximum(index, 0)]
        return samples

    def run(self, y: Vector, begin: int, end: int, period: int) -> None:
        """Advance the state `y` (2 n + 1,) in place from `begin` to `end`, and record samples.

        There are samples at `begin`, every `period`, and at the end of the motion; times are in
        ns. If the law raises an exception at a sample, the efforts of the sample are NaN.

        Raises:
            Exception: If the law raises an exception between samples. `y` is then the state after
                the last accepted step.
        """
        progress, rows = self._progress, -(-(end - begin) // period) + 1
        period = min(period, end - begin)
        progress[NOW], progress[SAMPLING] = begin, 1
        while self.status is Status.PAUSED:
            if not self._chunks or progress[ROW] == ROWS:
                self._chunks.append(_empty(min(rows, ROWS), y.size))
                rows, progress[ROW] = rows - ROWS, 0
            recording = Recording(
                *self._addresses,
                period,
                end,
                self._most_steps,
                progress,
                y,
                self._space,
                *self._pieces,
                *self._chunks[-1],
            )
            try:
                self.status = Status(record_samples(self._parameters, by_reference(recording)))
            except Exception:
                if progress[SAMPLING] != 2:
                    self._end_step()
                    raise
                self._chunks[-1].tau[progress[ROW] - 1] = np.nan
                progress[SAMPLING] = 0

    def _end_step(self) -> None:
        """Set time and statistics after an exception in the time loop."""
        progress, now = self._progress, self._space.clock[0]
        start = 1e-9 * progress[NOW] if self._addresses[2] else 0.0
        progress[NOW] += round((now["t"] - start) * 1e9)
        progress[TAKEN:] += (now["steps"], now["failures"], now["evaluations"])


@lru_cache(maxsize=256)
def _addresses(
    robot: Robot, advance: Any, efforts: Any, axes: int | tuple[int, ...]
) -> tuple[int, int, int]:
    """Return the addresses of the time loop, the energy and the efforts, see `Recording`.

    `axes` are the numbers of axes of the parameters, which are arrays of floats.
    """
    arrays = {1: VECTOR, 2: MATRIX}
    p = arrays[axes] if isinstance(axes, int) else types.Tuple([arrays[ndim] for ndim in axes])
    law = 0 if efforts is None else address_for(efforts, (types.float64, VECTOR, p, VECTOR))
    return address_for(advance, (p, VECTOR, SPACE)), *addresses(robot, "energy"), law


def _empty(rows: int, size: int) -> Samples:
    """Return arrays for samples of states (size,)."""
    return Samples(
        np.empty(rows, dtype=np.int64),
        np.empty((rows, size)),
        np.empty((rows, size // 2)),
        np.empty((rows, 2)),
    )

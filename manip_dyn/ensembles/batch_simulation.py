"""`simulate_many`: many simulations of one arm, in SIMD lanes and on all cores.

Each thread simulates chunks of motions without the GIL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.codegen.batches import checked_dtype
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Tensor, Vector, checked_threads, nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.effort_laws import LaneLaw, lane_law
from manip_dyn.ensembles.ensemble import Ensemble, OverTime
from manip_dyn.ensembles.lanes import memory as space
from manip_dyn.ensembles.lanes.laws import SCHEDULE
from manip_dyn.ensembles.lanes.memory import (
    Allocate,
    BatchArrays,
    LaneMemory,
    LoopOptions,
    MethodArrays,
    Motions,
    batch_arrays,
    lane_memory,
)
from manip_dyn.ensembles.lanes.runge_kutta_loop import LaneMethod, lane_method, run_lanes
from manip_dyn.ensembles.lanes.taylor_loop import run_series
from manip_dyn.ensembles.motion_parameters import (
    ArmParameters,
    arm_parameters,
    motion_series,
    number_of_motions,
    per_motion_rows,
)
from manip_dyn.integration import Method, StepControl
from manip_dyn.integration.methods.step_control import SUCCESS
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot
from manip_dyn.simulation.effort_laws import Schedule
from manip_dyn.simulation.function_law import Feedback
from manip_dyn.simulation.integrator import Integrator, checked_order
from manip_dyn.simulation.pd_control import PDControl

CHUNKS_PER_THREAD = 8
"""Number of chunks per thread; several chunks balance the load at the end."""
SINGLE_TOLERANCE = 1e-6
"""Smallest tolerance in single precision: 8 times the resolution of float32.

The PA-10 under gravity compensation takes 2 times (`rkdp87`) the steps of double precision at
1e-6, 6 times at 1e-7, and 43 times at 1e-8: rounding errors of the dynamics determine the steps.
"""


def run_batch(
    motions: Motions,
    options: LoopOptions,
    method: MethodArrays,
    samples: int,
    threads: int,
    fixed: int,
    allocate: Allocate,
) -> BatchArrays:
    """Simulate all motions and return their samples, statistics and final states.

    Args:
        motions: The motions.
        options: Options of the loop.
        method: Arrays of the method.
        samples: Samples per motion.
        threads: Number of threads.
        fixed: Number of rows of the constant part of a Taylor series.
        allocate: Creates the arrays of samples.
    """
    count = len(motions.starts)
    arrays = batch_arrays(count, samples, options.joints, allocate)

    def run_chunk(first: int, last: int) -> None:
        memory = (
            memories.pop() if memories else by_reference(lane_memory(motions, options, top, fixed))
        )
        loop(*problem, memory, results, first, last)
        memories.append(memory)

    limits = method.limits[0]
    top = int(max(limits["order"], limits["absolute_order"]))
    loop: Any = run_series if options.width else run_lanes
    problem = [by_reference(part) for part in (motions, options, method)]
    results, memories = by_reference(arrays), list[LaneMemory]()  # memories not in use by a thread

    chunk = max(-(-count // (threads * CHUNKS_PER_THREAD)), LANES) if threads > 1 else count
    firsts = range(0, count, chunk)
    lasts = [min(first + chunk, count) for first in firsts]
    if threads == 1 or len(firsts) == 1:
        for first, last in zip(firsts, lasts, strict=True):
            run_chunk(first, last)
        return arrays
    run_chunk(0, 0)  # compile in this thread, which Ctrl-C can interrupt
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run_chunk, firsts, lasts))
    return arrays


Law = ArrayLike | Schedule | Plan | PDControl | Feedback | Callable[..., Vector] | Sequence[Any]


def simulate_many(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    effort: Law,
    duration: float,
    step: float = 1e-3,
    sample_period: float | None = None,
    *,
    method: str | Method = "rk4",
    rtol: float = 0.0,
    atol: float = 0.0,
    order: int | None = None,
    control: StepControl | None = None,
    stop_at_limits: bool = False,
    damping: ArrayLike | None = None,
    mass_scale: ArrayLike | None = None,
    payload: ArrayLike | None = None,
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    dtype: Any = np.float64,
    folder: str | PathLike[str] | None = None,
    taylor_order: int | None = None,
) -> Ensemble:
    """Simulate N motions of `robot` in parallel, eight per SIMD vector, on all cores.

    Each motion agrees with `md.simulate` except for rounding. docs/ensembles.md lists exceptions,
    such as the initial steps with tolerances. The results are bit-identical for any number of
    threads, and do not depend on the other motions. A motion that fails has a status and a reason,
    and does not affect others.

    Arguments with a single value apply to all motions; arguments with N rows have one row per
    motion.

    Args:
        robot: The arm, without dry friction.
        q0: Initial positions (n,) or (N, n), rad or m.
        v0: Initial velocities (n,) or (N, n), rad/s or m/s.
        effort: Constant efforts (n,) or (N, n); a `Schedule`, a `Plan`, or N of either; a
            `PDControl`; ``md.gravity_compensation(robot)``; or a function (t, q, v), or (t, q, v,
            p) with `parameters`, that numba compiles. Efforts of a plan are played back and, where
            they change smoothly, held for one `step`. All efforts saturate at the effort limits.
        duration: Duration of the motions, s.
        step: Fixed integration step, s. With tolerances, only the efforts of plans depend on it.
        sample_period: Time between samples, s; steps end at samples. Default: the duration, with
            samples only at start and end. `over_time` contains statistics of the whole motion.
        method: An explicit Runge-Kutta method of `md.METHODS`, or ``taylor`` with tolerances or an
            order. ``taylor`` requires efforts that are constant between switches, and does not
            support `damping`.
        rtol: Relative tolerance, for methods with an error estimate. Fixed steps if `rtol` and
            `atol` are both 0.
        atol: Absolute tolerance: rad or m for positions, rad/s or m/s for velocities. 0 stands for
            `rtol`.
        order: Order of the method ``taylor``. Default: determined by the tolerances.
        control: Step control; only the default controller, norm and estimate are supported.
        stop_at_limits: Whether a motion ends when a joint reaches a position limit.
        damping: Joint damping (n,) or (N, n), N m s/rad or N s/m, instead of the robot's.
        mass_scale: Factor for the masses and inertias of the links: one number for all, (n,) for
            the bodies that the joints move, (N, 1) or (N, n).
        payload: Payload at the tool, (10,) or (N, 10), see `md.Kernels`.
        parameters: Parameters p (k,) or (N, k) of a function (t, q, v, p).
        threads: Number of threads. Default: one per available core.
        dtype: np.float64, or np.float32 to compute the dynamics in single precision, with relative
            errors of about 1e-6. Sums, times and results remain float64. Not for ``taylor``.
            Requires an absolute tolerance (by default `rtol`) of 1e-6 or more, or fixed steps.
        folder: New or empty folder for the samples, which may then exceed the memory. `q`, `v`,
            `tau` and `energy` of the result are views of the files ``states.npy`` (N, s, 2 n + 1)
            with q, v and work, ``tau.npy`` (N, s, n) and ``energy.npy`` (N, s, 4).
        taylor_order: Deprecated name of `order`.

    Raises:
        ManipDynError: If an argument is invalid, or the samples cannot be stored. Motions that
            fail do not raise.
    """
    checked_robot(robot)
    if robot.has_dry_friction:
        raise ManipDynError(
            f"robot must have no dry friction for many motions, got '{robot.name}'; use "
            "md.simulate."
        )
    order = checked_order(order, taylor_order)
    integrator = Integrator(method, step, rtol, atol, order, stop_at_limits, control)
    duration_ns = nanoseconds("duration", duration)
    period = duration if sample_period is None else sample_period
    period_ns = nanoseconds("sample_period", period)
    threads = checked_threads(threads)
    q, v = per_motion_rows("q0", q0, robot.n), per_motion_rows("v0", v0, robot.n)
    law = lane_law(robot, effort, step, parameters)
    dtype = checked_dtype(dtype)
    if dtype == np.float32:
        _check_single_precision(integrator)
    arm = arm_parameters(robot, damping, mass_scale, payload, dtype)
    counts = {"q0": len(q), "v0": len(v), **law.counts, **arm.counts}
    motions = number_of_motions(counts)
    _check_starts(robot, q)
    starts = np.concatenate([np.broadcast_to(x, (motions, robot.n)) for x in (q, v)], axis=1)
    motion_arrays = _motions(robot, starts, law, arm, stop_at_limits)
    numbers = lane_method(integrator, 2 * robot.n + 1)
    options, fixed = _loop_options(robot, law, arm, numbers, duration_ns, period_ns), 0
    if integrator.series:
        options, fixed = _series_options(robot, options, arm)
    samples = -(-duration_ns // period_ns) + 1
    allocate = _allocation_of(folder)
    energy = allocate("energy", (motions, samples, 4))  # before the motions, which may take hours
    arrays = run_batch(motion_arrays, options, numbers.method, samples, threads, fixed, allocate)
    t = np.minimum(np.arange(samples) * period_ns, duration_ns) * 1e-9
    arm.energy(arrays.states, None, energy)
    return _ensemble(robot, t, arrays, arm, law.cut_off, energy)


def _allocation_of(folder: Any) -> Allocate:
    """Return a function that creates arrays in memory, or in files of a new or empty folder.

    It raises `ManipDynError` if there is too little memory or disk space.
    """
    if folder is None:
        return _in_memory
    if not isinstance(folder, (str, PathLike)):
        raise ManipDynError(f"folder must be a path, got {folder!r}.")
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ManipDynError(f"folder must be new or empty, got '{path}'.")

    def allocate(name: str, shape: tuple[int, ...]) -> np.ndarray:
        try:
            path.mkdir(parents=True, exist_ok=True)
            file = path / f"{name}.npy"
            array = open_memmap(file, mode="w+", dtype=np.float64, shape=shape)
            with file.open("r+b") as stream:  # a write to a full disk would end the process
                os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)
        except OSError as error:
            for stored in path.glob("*.npy"):
                stored.unlink()
            raise ManipDynError(
                f"folder '{path}' cannot store the samples of {name}: {error}."
            ) from error
        return np.asarray(array)

    return allocate


def _in_memory(_name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a new array of samples."""
    try:
        return np.empty(shape)
    except MemoryError as error:
        raise ManipDynError(
            f"{shape[0]} times {shape[1]} samples do not fit into memory; increase sample_period, "
            "set folder, or simulate fewer motions."
        ) from error


def _check_single_precision(integrator: Integrator) -> None:
    if integrator.series:
        raise ManipDynError(
            "dtype must be np.float64 with method 'taylor', got np.float32; use a Runge-Kutta "
            "method."
        )
    tolerance = integrator.tolerances[1]  # that of small numbers
    if integrator.adaptive and tolerance < SINGLE_TOLERANCE:
        name = "atol" if integrator.atol else "rtol"
        raise ManipDynError(
            f"{name} must be {SINGLE_TOLERANCE:g} or more with dtype np.float32, got "
            f"{tolerance:g}; use dtype=np.float64."
        )


def _check_starts(robot: Robot, q: Matrix) -> None:
    beyond = (q < robot.q_min) | (q > robot.q_max)
    if beyond.any():
        outside = np.flatnonzero(beyond.any(axis=1))
        first = int(outside[0])
        more = f" ({outside.size} motions are outside)" if outside.size > 1 else ""
        robot.check_within_limits(f"initial position of motion {first}{more},", q[first])


def _motions(
    robot: Robot, starts: Matrix, law: LaneLaw, arm: ArmParameters, stop_at_limits: bool
) -> Motions:
    bounds = np.stack([robot.q_min, robot.q_max], axis=1)
    joints, sides = np.nonzero(np.isfinite(bounds) & stop_at_limits)
    signs = np.where(sides == 0, 1, -1)
    # With contiguous, writable arrays the time loop has one signature for all arguments.
    arrays = Motions(
        starts=starts,
        times_ns=law.times_ns,
        efforts=law.efforts,
        schedules=law.schedules,
        stiffness=law.stiffness,
        damping=law.damping,
        knots=law.references.knots,
        references=law.references.states,
        followed=law.references.ranges,
        friction=arm.friction,
        parameters=law.parameters,
        inertias=arm.inertias,
        limits=robot.tau_max,
        bounds=np.stack([joints, signs], axis=1),
        places=bounds[joints, sides],
    )
    return Motions(*(np.require(array, requirements=["C", "W"]) for array in arrays))


def _loop_options(
    robot: Robot,
    law: LaneLaw,
    arm: ArmParameters,
    numbers: LaneMethod,
    duration_ns: int,
    period_ns: int,
) -> LoopOptions:
    return LoopOptions(
        joints=robot.n,
        law=law.law,
        timed=int(law.timed),
        damped=int(bool(np.any(arm.friction))),
        adaptive=int(numbers.adaptive),
        fsal=int(numbers.fsal),
        stages=numbers.stages,
        evaluations=len(numbers.method.live) - 1,
        power=numbers.power,
        duration_ns=duration_ns,
        period_ns=period_ns,
        loaded=int(arm.inertias.shape[1] > 0),
        width=0,
        motion=arm.motion,
        inverse_dynamics=arm.inverse_dynamics,
        function=law.function,
    )


def _series_options(
    robot: Robot, options: LoopOptions, arm: ArmParameters
) -> tuple[LoopOptions, int]:
    """Return the options for Taylor series, and the number of rows of their constant part."""
    if options.law != SCHEDULE:
        raise ManipDynError(
            "effort must not depend on the state with method 'taylor'; use efforts, schedules or "
            "plans, or a Runge-Kutta method such as rkdp87."
        )
    if options.damped:
        raise ManipDynError(
            "damping must be None with method 'taylor'; use a Runge-Kutta method such as rkdp87."
        )
    motion, series = motion_series(robot, bool(options.loaded))
    return options._replace(motion=motion, width=series.width), series.fixed


def _ensemble(
    robot: Robot, t: Vector, arrays: BatchArrays, arm: ArmParameters, cut_off: Any, energy: Tensor
) -> Ensemble:
    n, ends = robot.n, arrays.ends
    q, v = arrays.states[:, :, :n], arrays.states[:, :, n : 2 * n]
    energy_end = energy[:, -1]
    if np.any(ends[:, space.STATUS] != SUCCESS):  # the last samples of failed motions are missing
        with np.errstate(all="ignore"):  # some motions may have diverged
            start = energy[:, 0, 0] + energy[:, 0, 1]
        energy_end = arm.energy(arrays.final[:, None], start)[:, 0]
    finite = np.argwhere(np.isfinite(np.stack([robot.q_min, robot.q_max], axis=1)))
    reached = np.full(len(ends), -1)
    stopped = ends[:, space.STATUS] == 1
    reached[stopped] = (finite @ [2, 1])[ends[stopped, space.MET]]
    mean, low, high = arrays.mean, arrays.low, arrays.high
    positions, speeds = slice(0, n), slice(n, 2 * n)
    over_time = OverTime(
        q_mean=mean[:, positions],
        q_min=low[:, positions],
        q_max=high[:, positions],
        v_mean=mean[:, speeds],
        v_min=low[:, speeds],
        v_max=high[:, speeds],
        tau_peak=arrays.peak,
    )
    return Ensemble(
        robot=robot,
        t=t,
        q=q,
        v=v,
        tau=arrays.tau,
        energy=energy,
        status=ends[:, space.STATUS],
        t_end=ends[:, space.TIME_NS] * 1e-9,
        q_end=arrays.final[:, positions],
        v_end=arrays.final[:, speeds],
        tau_end=arrays.final_tau,
        energy_end=energy_end,
        over_time=over_time,
        steps=ends[:, space.STEPS],
        failures=ends[:, space.FAILURES],
        evaluations=ends[:, space.EVALUATIONS],
        limits_met=reached,
        saturated=cut_off & (arrays.peak >= robot.tau_max),
    )

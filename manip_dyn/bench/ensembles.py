"""`manip_dyn bench ensembles`: ensembles of motions compared with loops, MuJoCo, frax and heyoka.

The first problem consists of motions of the PA-10 over 1 s from random states with constant
efforts, by RK4 with steps of 1 ms. Slower candidates simulate fewer motions. Times are per step
and motion.

The second problem compares the same motions with 200 samples of each with those without samples.
The peak memory of the call includes its result.

The third problem compares effort laws for motions of the PA-10 in one thread: constant efforts,
PD control, and a Python function that numba compiles.

The fourth problem compares motions of the two-link arm at equal errors. Errors are measured
relative to a solution with a tighter tolerance. The time at a given error is interpolated between
a candidate's (error, time) points on logarithmic scales.

There are rows for manip_dyn with all threads, with one thread, and in single precision, for a loop
over single motions, and for each installed peer. Takes about 60 s.
"""

from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import manip_dyn as md
from manip_dyn.bench.integrators import time_at
from manip_dyn.bench.peers import bare_urdf, installed, rates_of
from manip_dyn.bench.timing import Call, Candidate, Timing, compare, documented, timing_lines
from manip_dyn.core.checks import Matrix, Vector, available_cores
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import PDControl, simulate

MOTIONS, ALONE, ROUNDS = 10_000, 8, 5
"""Number of motions in an ensemble, number of motions in a loop, and number of rounds."""
DURATION, STEP = 1.0, 1e-3
SAMPLES = 200
"""Number of samples of a motion, in addition to the initial state."""
SOME = 4096
"""Number of motions of the two-link arm."""
TOLERANCES = tuple(10.0**-k for k in range(5, 15))
FIXED = "md.simulate_many(robot, q, v, efforts, duration, step, threads=threads, dtype=dtype)"
SAMPLED = "md.simulate_many(robot, q, v, efforts, duration, step, sample_period, threads=threads)"
CONTROLLED = (
    "md.simulate_many(robot, q, v, efforts, duration, method=method, rtol=tolerance, "
    "atol=tolerance, threads=1)"
)
EXACT, TARGETS = 1e-15, (1e-6, 1e-9, 1e-12)
PACKAGES = ("manip_dyn", "numba", "mujoco", "frax", "jax", "heyoka")


class Row(NamedTuple):
    """Timings of all candidates for one problem, per motion or per step of a motion.

    Attributes:
        problem: Description of the problem.
        timings: Timings of the candidates.
        errors: Largest error of each candidate (rad, m, rad/s or m/s). Empty if not measured.
        call: The documented call of the candidates of this package.
        memory: Peak memory of the first candidate's call relative to its result; 0 if not
            measured.
    """

    problem: str
    timings: list[Timing]
    errors: list[float]
    call: str = ""
    memory: float = 0.0


class Motions(NamedTuple):
    """Motions of an arm: initial states (N, 2 n), and efforts (N, n) or an effort law."""

    robot: Robot
    starts: Matrix
    efforts: Any

    def some(self, count: int) -> Motions:
        """Return the first `count` motions."""
        return Motions(self.robot, self.starts[:count], self.efforts[:count])


def table(rows: Sequence[Row]) -> str:
    """Return one table per problem."""
    lines = ["Medians over interleaved rounds: of the times, and of the ratios to the first row."]
    for problem, timings, errors, call, memory in rows:
        lines += ["", *filter(None, (problem, call))]
        entries = timing_lines(timings)
        if memory:
            entries.append(f"  peak memory of the first row: {memory:.3f} times its result")
        if errors:
            entries = [f"{line}   error {e:.1e}" for line, e in zip(entries, errors, strict=True)]
            entries += _at_equal_errors(timings, errors)
        lines += entries
    return "\n".join(lines)


def _at_equal_errors(timings: Sequence[Timing], errors: Sequence[float]) -> list[str]:
    """Return a line per candidate with its interpolated times at the errors `TARGETS`."""
    points: dict[str, list[tuple[float, float]]] = {}
    for timing, error in zip(timings, errors, strict=True):
        name = timing.name.rpartition(",")[0]
        points.setdefault(name, []).append((error, 1e-3 * timing.microseconds))
    lines = []
    for name, pairs in points.items():
        times = [time_at(pairs, target) for target in TARGETS]
        cells = "".join("       -" if ms is None else f"{ms:>8.3f}" for ms in times)
        lines.append(f"  {name:<36}{cells} us at error {', '.join(f'{e:g}' for e in TARGETS)}")
    return lines


def measure(motions: int = MOTIONS, some: int = SOME) -> list[Row]:
    """Time ensembles of `motions` motions of the PA-10 and `some` motions of the two-link arm."""
    return [_fixed_steps(motions), _sampled(motions), _laws(motions), *_equal_errors(some)]


def random_motions(robot: Robot, count: int) -> Motions:
    """Return motions with random initial states and random constant efforts (fixed seed)."""
    draw = np.random.default_rng(0)
    starts = draw.uniform(-0.5, 0.5, (count, 2 * robot.n))
    efforts = draw.uniform(-1.0, 1.0, (count, robot.n)) * np.minimum(robot.tau_max, 5.0)
    return Motions(robot, starts, efforts)


def _fixed_steps(count: int) -> Row:
    motions = random_motions(load_robot("pa10"), count)
    threads, fraction = available_cores(), max(count // 100, 8)
    few, alone = motions.some(fraction), motions.some(min(ALONE, count))
    part = motions.some(10 * fraction)
    steps = round(DURATION / STEP)
    candidates = [
        Candidate(f"manip_dyn, {threads} threads", _many(motions, threads), count),
        Candidate("manip_dyn, 1 thread", _many(part, 1), len(part.starts)),
        Candidate("manip_dyn, 1 thread, float32", _many(part, 1, np.float32), len(part.starts)),
        Candidate("a loop over md.simulate", partial(_loop, alone, None), len(alone.starts)),
        Candidate(
            "a loop over md.simulate, ends only", partial(_loop, few, DURATION), len(few.starts)
        ),
        *mujoco_rollout(few, DURATION, STEP, threads),
        *frax_motions(few, DURATION, STEP),
    ]
    per_step = [
        candidate._replace(evaluations=candidate.evaluations * steps) for candidate in candidates
    ]
    problem = f"pa10, {count} motions over {DURATION:g} s, rk4 with {STEP:g} s; per step"
    return Row(problem, compare(per_step, ROUNDS, time.perf_counter), [], FIXED)


def _many(motions: Motions, threads: int, dtype: Any = np.float64) -> Call:
    return documented(FIXED, _names(motions) | {"threads": threads, "dtype": dtype})


def _names(motions: Motions) -> dict[str, Any]:
    """Return the variables of the documented calls."""
    q, v = np.hsplit(motions.starts, 2)
    names = {"md": md, "robot": motions.robot, "efforts": motions.efforts}
    return names | {"q": q, "v": v, "duration": DURATION, "step": STEP}


def _sampled(count: int) -> Row:
    motions, threads = random_motions(load_robot("pa10"), count), available_cores()
    steps = round(DURATION / STEP) * count
    names = _names(motions) | {"sample_period": DURATION / SAMPLES, "threads": threads}
    sampled = documented(SAMPLED, names)
    candidates = [
        Candidate(f"{SAMPLES} samples", sampled, steps),
        Candidate("initial and final states", _many(motions, threads), steps),
        *(
            peer._replace(evaluations=peer.evaluations * round(DURATION / STEP))
            for peer in mujoco_rollout(motions.some(max(count // 100, 8)), DURATION, STEP, threads)
        ),
    ]
    problem = f"pa10, {count} motions with {SAMPLES} samples, {threads} threads; per step"
    timings = compare(candidates, ROUNDS, time.perf_counter)
    return Row(problem, timings, [], SAMPLED, _peak_memory(sampled))


def _peak_memory(call: Call) -> float:
    """Return the peak memory of NumPy arrays during a call relative to those of its result."""
    tracemalloc.start()
    try:
        result = call()
        size, peak = tracemalloc.get_traced_memory()
        assert result is not None
    finally:
        tracemalloc.stop()
    return peak / size


def _loop(motions: Motions, sample_period: float | None) -> Matrix:
    n, ends = motions.robot.n, []
    for start, effort in zip(motions.starts, motions.efforts, strict=True):
        result = simulate(
            motions.robot, start[:n], start[n:], effort, DURATION, STEP, sample_period
        )
        ends.append(np.concatenate([result.q[-1], result.v[-1]]))
    return np.array(ends)


def _laws(count: int) -> Row:
    motions = random_motions(load_robot("pa10"), max(count // 50, 8))
    control = PDControl(np.zeros(motions.robot.n), 20.0, 5.0)
    laws = {
        "constant efforts": motions.efforts,
        "md.PDControl": control,
        "a function (t, q, v)": _damping,
    }
    steps = round(DURATION / STEP) * len(motions.starts)
    candidates = [
        Candidate(name, _many(motions._replace(efforts=law), 1), steps)
        for name, law in laws.items()
    ]
    problem = f"pa10, {len(motions.starts)} motions, effort laws, one thread; per step"
    return Row(problem, compare(candidates, ROUNDS, time.thread_time), [], FIXED)


def _damping(_t: float, _q: Vector, v: Vector) -> Vector:
    return -5.0 * v


# ------------------------------------------------------------------------ at equal errors
def _equal_errors(count: int) -> Iterator[Row]:
    motions = random_motions(load_robot("rr"), count)
    motions = motions._replace(efforts=np.zeros_like(motions.efforts))
    exact = _final_states(_controlled(motions, "rkdp87", EXACT))
    candidates: list[tuple[str, Call]] = [
        (f"manip_dyn, {method}, {tolerance:.0e}", _controlled(motions, method, tolerance))
        for method in ("taylor", "rkdp87")
        for tolerance in TOLERANCES
    ]
    candidates += heyoka_batches(motions, DURATION, TOLERANCES)
    timed = [Candidate(name, run, count) for name, run in candidates]
    errors = [float(np.abs(_final_states(run) - exact).max()) for _, run in candidates]
    problem = f"rr, {count} motions over {DURATION:g} s with tolerances, one thread; per motion"
    yield Row(problem, compare(timed, ROUNDS, time.thread_time), errors, CONTROLLED)


def _controlled(motions: Motions, method: str, tolerance: float) -> Call:
    return documented(CONTROLLED, _names(motions) | {"method": method, "tolerance": tolerance})


def _final_states(run: Call) -> Matrix:
    result: Any = run()
    return np.hstack([result.q_end, result.v_end]) if hasattr(result, "q_end") else result


# ------------------------------------------------------------------------------------- peers
def mujoco_rollout(motions: Any, duration: float, step: float, threads: int) -> list[Candidate]:
    """Return a list with the benchmark candidate `mujoco.rollout`, or [] if it is unavailable.

    One call simulates all motions on all threads with MuJoCo's RK4. The list is also empty if
    MuJoCo rejects the arm.
    """
    if not installed("mujoco"):
        return []
    try:
        run = mujoco_motions(motions, duration, step, threads)
    except ValueError:  # MuJoCo rejects links of zero size
        return []
    return [Candidate(f"mujoco.rollout, {threads} threads", run, len(motions.starts))]


def mujoco_motions(motions: Any, duration: float, step: float, threads: int) -> Callable:
    """Return a function that simulates the motions and returns their final states (N, 2 n)."""
    import mujoco
    from mujoco import rollout

    robot, count = motions.robot, len(motions.starts)
    model = mujoco.MjModel.from_xml_string(bare_urdf(robot.urdf))
    model.dof_armature[:], model.opt.gravity[:] = robot.armature, robot.gravity
    model.dof_damping[:], model.opt.timestep = robot.damping, step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    steps = round(duration / step)
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((count, mujoco.mj_stateSize(model, full)))
    initial[:, 1 : 1 + 2 * robot.n] = motions.starts  # the first column is the time
    efforts = np.repeat(motions.efforts[:, None], steps, axis=1)
    kind = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    state = np.zeros((count, steps, initial.shape[1]))

    def run() -> Matrix:
        states, _ = rollout.rollout(model, datas, initial, efforts, control_spec=kind, state=state)
        return states[:, -1, 1 : 1 + 2 * robot.n]

    return run


def frax_motions(motions: Any, duration: float, step: float) -> list[Candidate]:
    """Return a list with one candidate, RK4 with frax's mass matrix and bias forces.

    JAX compiles and vectorizes it. The list is empty if frax or JAX is not installed.
    """
    if not (installed("frax") and installed("jax")):
        return []
    import jax
    from frax.core.robot import Robot as FraxRobot

    jax.config.update("jax_enable_x64", True)
    robot, steps = motions.robot, round(duration / step)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        file.write_text(bare_urdf(robot.urdf), encoding="utf-8")
        arm = FraxRobot(os.fspath(file))
    n = robot.n

    rotors = jax.numpy.diag(robot.armature)  # frax's forward dynamics omit rotors

    def rate(y, tau):
        q, v = y[:n], y[n:]
        left = tau - robot.damping * v - arm.nonlinear_bias(q, v)
        a = jax.scipy.linalg.solve(arm.mass_matrix(q) + rotors, left, assume_a="pos")
        return jax.numpy.concatenate([v, a])

    def one(y, tau):
        def advance(_, y):
            k1 = rate(y, tau)
            k2 = rate(y + 0.5 * step * k1, tau)
            k3 = rate(y + 0.5 * step * k2, tau)
            k4 = rate(y + step * k3, tau)
            return y + step / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

        return jax.lax.fori_loop(0, steps, advance, y)

    run = jax.jit(jax.vmap(one))
    return [
        Candidate(
            "frax, jit and vmap",
            lambda: run(motions.starts, motions.efforts).block_until_ready(),
            len(motions.starts),
        )
    ]


def heyoka_batches(
    motions: Any, duration: float, tolerances: Sequence[float]
) -> list[tuple[str, Callable[[], Matrix]]]:
    """Return labels and runs of heyoka's batch integrator, one per tolerance.

    Batches have heyoka's recommended SIMD width. The list is empty if heyoka is not installed.
    """
    if not installed("heyoka"):
        return []
    import heyoka

    robot = motions.robot
    width = heyoka.recommended_simd_size()
    variables = heyoka.make_vars(*[f"y{i}" for i in range(2 * robot.n)])
    rates = rates_of(robot, heyoka.sin, heyoka.cos, heyoka.expression)(variables)
    system = list(zip(variables, rates, strict=True))
    candidates: list[tuple[str, Callable[[], Matrix]]] = []
    for tolerance in tolerances:
        integrator = heyoka.taylor_adaptive_batch(
            system, motions.starts[:width].T.copy(), tol=tolerance, fast_math=True
        )

        def run(integrator=integrator) -> Matrix:
            ends = np.empty_like(motions.starts)
            for first in range(0, len(ends), width):
                integrator.set_time(0.0)
                integrator.state[:] = motions.starts[first : first + width].T
                integrator.propagate_until(duration)
                ends[first : first + width] = integrator.state.T
            return ends

        candidates.append((f"heyoka, batches of {width}, {tolerance:.0e}", run))
    return candidates

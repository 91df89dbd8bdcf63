"""`manip_dyn prepare`: fill the cache of compiled code for commands, nodes and examples.

Every job solves a small problem with the public functions, which store their compiled code in the
cache. Jobs run in parallel processes, by default one per core.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.clik import Circle, ClikSettings, PathFollower, middle_posture, posture_for, track
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.codegen import customize
from manip_dyn.control.computed_torque import DAMPING, STIFFNESS, ComputedTorque
from manip_dyn.control.joint_drives import Brake
from manip_dyn.core.cache import check_cache, disable_announcements
from manip_dyn.core.checks import Vector, available_cores, finite_vector
from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.deprecation import warn_deprecated
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import bundled_robots, mapping, read_yaml, share_directory
from manip_dyn.core.interruption import run_uninterrupted
from manip_dyn.ensembles import simulate_many
from manip_dyn.ensembles.sweeps import Conditions, execute
from manip_dyn.integration import METHODS
from manip_dyn.multibody import load_mechanism, simulate_mechanism
from manip_dyn.planning import PlanExecutor, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.path_timing import time_path
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import (
    Integrator,
    Schedule,
    Simulation,
    SimulationWithStops,
    gravity_compensation,
)

FIRST = ("pa10", "ibm7535")
"""Default robots of the first wave: an arm for simulation and tracking, and one for plans."""
PERIOD = 1e-3
MOST_JOINTS = 3
"""Maximum number of joints for minimum-time plans."""
TAYLOR, ORDER, RTOL, STEP = "taylor", 8, 1e-6, 1e-6
"""Settings of the simulations. The step, s, is short because some arms are stiff. The machine code
does not depend on the step and the tolerance."""
USED = {
    "rr": ("rkdp54", "rkdp87", TAYLOR),
    "stiff_pendulum": ("rosenbrock_nystrom", "rkdp54", "rodas5p"),
}
"""Methods other than RK4 with which scenarios and examples simulate a robot, by robot."""


class Job(NamedTuple):
    """A problem to solve: its kind, and its robot or mechanism.

    The kind is `MECHANISM` or a key of `JOBS`, or of `BY_METHOD` if the job has an integration
    method.
    """

    kind: str
    about: str
    method: str = ""


class Done(NamedTuple):
    """A completed job: CPU time, s, and the message of its `ManipDynError`, or ""."""

    job: Job
    seconds: float
    error: str

    @property
    def refused(self) -> str:
        """Deprecated: `error`."""
        warn_deprecated("Done.refused", "error")
        return self.error


# ------------------------------------------------------------------------------------ problems
def _simulate(robot: Robot) -> None:
    """Evaluate the dynamics, and simulate by RK4 with fixed steps, the default method."""
    kernels, zero = customize(robot), np.zeros(robot.n)
    kernels.forward_dynamics(middle_posture(robot), zero, zero)
    kernels.inverse_dynamics(middle_posture(robot), zero, zero)
    _move(robot, Integrator("rk4", STEP))


def _simulate_by(robot: Robot, method: str) -> None:
    """Simulate by another method, with fixed steps and, if the method supports it, tolerances."""
    _move(robot, Integrator(method, STEP, order=ORDER if method == TAYLOR else 0))
    if METHODS[method].adaptive:
        _move(robot, Integrator(method, rtol=RTOL))


def _move(robot: Robot, integrator: Integrator) -> None:
    """Simulate an arm without stops, then with stops.

    The effort law is first a schedule, then gravity compensation without stops and a brake with
    stops.
    """
    q, zero, period = middle_posture(robot), np.zeros(robot.n), round(1e10 * STEP)
    for kind, law in (Simulation, gravity_compensation), (SimulationWithStops, Brake):
        simulation = kind(robot, q, zero, integrator)
        simulation.law = Schedule(robot, [0, period // 2], [zero, zero])
        simulation.advance(period)
        simulation.energy()
        simulation.record(period, period)
        if integrator.method != TAYLOR:  # Taylor series support no effort laws of the state
            simulation.law = law(simulation.kernels)
            simulation.advance(period)
            simulation.record(period, period)


def _simulate_many(robot: Robot) -> None:
    """Simulate an ensemble of two motions."""
    q, zero = middle_posture(robot), np.zeros(robot.n)
    simulate_many(robot, [q, q], zero, zero, PERIOD, threads=1)


def _track(robot: Robot) -> None:
    """Track a small circle by RK4, and compute one sample of the tracker node's efforts."""
    kernels, q, circle = customize(robot), *_small_circle(robot)
    kernels.jacobian(q)
    settings = ClikSettings(gain=4.0, posture=q, posture_gain=1.0)
    reference = JointReference(PathFollower(robot, circle, q, PERIOD, settings))
    controller = ComputedTorque(robot, STIFFNESS, DAMPING, PERIOD)
    reference.advance()
    controller.efforts(q, 0.0 * q, reference.motion)
    track(robot, circle, q0=q, duration=0.2)


def _track_by(robot: Robot, method: str) -> None:
    """Track a small circle by another method."""
    q, circle = _small_circle(robot)
    track(robot, circle, method, q0=q, duration=0.2)


def _small_circle(robot: Robot) -> tuple[Vector, Circle]:
    """Return a posture (n,) near the middle of the joint ranges and a circle that starts there."""
    q = middle_posture(robot)
    tool = customize(robot).forward_kinematics(q)
    circle = Circle(
        tool[:3, 3] - 0.02 * tool[:3, 0], tool[:3, 2], tool[:3, 0], tool[:3, :3], 0.01, 0.5
    )
    return posture_for(robot, circle.pose(0.0), q), circle


def _zero_net_work(robot: Robot) -> None:
    """Plan the zero-net-work motions of the scenarios, or two short motions.

    Their first control period is executed, and their straight paths are timed.
    """
    for start, goal in _motions(robot, "zero_net_work") or _short_motions(robot):
        plan = plan_zero_net_work(robot, start, goal)
        PlanExecutor(robot, plan, PERIOD).segments(0.0, start, 0.0 * start)
        execute(plan, Conditions(duration=PERIOD))
        time_path(robot, [start, goal])


def _minimum_time(robot: Robot) -> None:
    """Plan the minimum-time motions of the scenarios, or two short motions.

    The efforts of their first control period are computed as well.

    Raises:
        ManipDynError: If the robot has more than `MOST_JOINTS` joints.
    """
    if robot.n > MOST_JOINTS:
        raise ManipDynError(f"minimum time of {robot.n} joints takes minutes to plan.")
    for start, goal in _motions(robot, "minimum_time") or _short_motions(robot):
        plan = plan_minimum_time(robot, start, goal)
        PlanExecutor(robot, plan, PERIOD).segments(0.0, start, 0.0 * start)


def _mechanism(name: str) -> None:
    """Simulate a shipped mechanism with its default method, and with fixed steps."""
    mechanism = load_mechanism(name)
    simulate_mechanism(mechanism, 0.01, rtol=1e-3)
    simulate_mechanism(mechanism, 0.01, step=0.005)


def _motions(robot: Robot, method: str) -> list[tuple[Vector, Vector]]:
    """Return start and goal of every shipped scenario that plans for this robot by this method."""
    files = sorted((share_directory() / "config").glob("*.yaml"))
    motions = (read_yaml(file, partial(scenario_motion, robot, method)) for file in files)
    return [motion for motion in motions if motion is not None]


def scenario_motion(robot: Robot, method: str, content: Any) -> tuple[Vector, Vector] | None:
    """Return start and goal (n,) of a scenario, or None unless it plans for `robot` by `method`.

    Args:
        robot: The robot.
        method: The planning method.
        content: Content of the scenario's parameter file.

    Raises:
        ManipDynError: If a required parameter of the planner or the simulator is missing, or the
            start or the goal is invalid.
    """
    if not isinstance(content, dict) or "/**/bang_bang_planner" not in content:
        return None
    planner = _parameters(content, "bang_bang_planner", ("robot", "method", "goal"))
    if (planner["robot"], planner["method"]) != (robot.name, method):
        return None
    simulator = _parameters(content, "simulator", ("initial_position",))
    return (
        finite_vector("initial_position", simulator["initial_position"], robot.n),
        finite_vector("goal", planner["goal"], robot.n),
    )


def _parameters(content: dict[str, Any], node: str, needed: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a node, which must include `needed`; the node checks the others."""
    key = "ros__parameters"
    values = mapping(node, content.get(f"/**/{node}"), (key,), (key,))[key]
    return mapping(f"{key} of {node}", values, values or needed, needed)


def _short_motions(robot: Robot) -> list[tuple[Vector, Vector]]:
    start = middle_posture(robot)
    displacement = 0.5 * np.minimum(robot.q_max - start, 0.2)
    first = np.where(np.arange(robot.n) == 0, displacement, 0.0)
    return [(start, start + first), (start, start + displacement)]


JOBS: dict[str, Callable[[Any], None]] = {
    "simulate": _simulate,
    "simulate_many": _simulate_many,
    "track": _track,
    "zero_net_work": _zero_net_work,
    "minimum_time": _minimum_time,
}
"""Problems that are solved for every robot."""
BY_METHOD: dict[str, Callable[[Any, str], None]] = {"simulate": _simulate_by, "track": _track_by}
"""Problems that are solved again for each requested integration method."""
MECHANISM, MECHANISMS = "mechanism", ("four_bar", "hmmwv")


# --------------------------------------------------------------------------------------- order
def prepare(
    robots: Sequence[str] = (), processes: int = 0, methods: Sequence[str] = ()
) -> Iterator[Done]:
    """Fill the cache for robots, and yield each completed job.

    Args:
        robots: Names of shipped robots, or paths of URDFs. Default: all shipped robots and
            mechanisms.
        processes: Number of processes; 0 for one per core.
        methods: Names in `md.METHODS` by which to simulate and track in addition to RK4.

    Raises:
        ManipDynError: If there is no such robot or method, `processes` is negative, the cache
            folder is not writable, or the compiler is disabled.
    """
    for method in methods:
        if method not in METHODS:
            raise ManipDynError(
                f"method must be an integration method, got '{method}'{closest(method, METHODS)}"
            )
    if PLAIN:
        raise ManipDynError("NUMBA_DISABLE_JIT must be unset: it disables the compiler.")
    if processes < 0:
        raise ManipDynError(f"processes must be at least 0, got {processes}.")
    for robot in robots:
        load_robot(robot)  # raises for an unknown robot before any job starts
    check_cache()
    context = multiprocessing.get_context("spawn")
    workers = processes or available_cores()
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, initializer=_begin) as pool:
        try:
            for chains in waves(robots, methods):
                begun = run_uninterrupted(_submitted, pool, chains, inherited=True)
                for future in as_completed(begun):
                    yield from future.result()
        except BaseException:  # the remaining jobs would take minutes
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()
            raise


def _submitted(pool: ProcessPoolExecutor, chains: Any) -> list[Any]:
    """Submit chains of jobs to the pool, and return their futures."""
    return [pool.submit(_solved, jobs) for jobs in chains]


def _begin() -> None:
    """Disable announcements and Ctrl-C in a process of the pool; the parent handles Ctrl-C."""
    disable_announcements()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def count_jobs(robots: Sequence[str] = (), methods: Sequence[str] = ()) -> int:
    """Return the number of jobs that `prepare` performs for these robots and methods."""
    return sum(len(jobs) for chains in waves(robots, methods) for jobs in chains)


def waves(robots: Sequence[str], methods: Sequence[str]) -> Iterator[list[list[Job]]]:
    """Yield two sets of chains of jobs; the chains of a set may run in parallel.

    The first set has jobs of different kinds, which compile the code that all robots share. The
    second set has the remaining jobs. Most of them compile little more than the kernels of a
    robot.
    """
    arm, planned = (robots[0], robots[0]) if robots else FIRST
    first = [
        [Job("simulate", arm), Job("track", arm)],
        [Job("simulate_many", arm)],
        [Job("zero_net_work", planned)],
        [Job("minimum_time", planned)],
    ]
    if not robots:
        first.insert(0, [Job(MECHANISM, name) for name in MECHANISMS])
    yield first
    done = {job for chain in first for job in chain}
    left = []
    for name in robots or bundled_robots():
        left.append([Job(kind, name) for kind in JOBS])
        left += [[Job(kind, name, method) for method in methods] for kind in BY_METHOD]
        used = USED.get(name, ())
        left.append([Job("simulate", name, method) for method in used if method not in methods])
    chains = ([job for job in jobs if job not in done] for jobs in left)
    yield [jobs for jobs in chains if jobs]


def _solved(jobs: list[Job]) -> list[Done]:
    """Perform the jobs of a chain in order. A process of the pool calls this."""
    return [_done(job) for job in jobs]


def _done(job: Job) -> Done:
    began, message = time.process_time(), ""
    try:
        if job.kind == MECHANISM:
            _mechanism(job.about)
        elif job.method:
            BY_METHOD[job.kind](load_robot(job.about), job.method)
        else:
            JOBS[job.kind](load_robot(job.about))
    except ManipDynError as error:  # some robots do not support the job
        message = str(error)
    return Done(job, time.process_time() - began, message)

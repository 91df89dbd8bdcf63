"""`manip_dyn prepare`: compile ahead what commands, nodes and examples use, on all cores.

Every job is a small problem, solved by the public functions: whatever they compile stays in the
cache. A few more lines here, and more is prepared.
"""

from __future__ import annotations

import multiprocessing
import os
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
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import bundled_robots, mapping, read_yaml, share_directory
from manip_dyn.core.interruption import signals_delayed
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
"""The arm that is simulated and tracks, and the one that is planned for, before all others."""
PERIOD = 1e-3
MOST_JOINTS = 3
"""Of arms whose minimum time is planned ahead."""
TAYLOR, ORDER, RTOL, STEP = "taylor", 8, 1e-6, 1e-6
"""Numbers of a run do not matter to its machine code; the step, s, is short for stiff arms."""
USED = {
    "rr": ("rkdp54", "rkdp87", TAYLOR),
    "stiff_pendulum": ("rosenbrock_nystrom", "rkdp54", "rodas5p"),
}
"""The methods, besides RK4, by which scenarios and examples simulate an arm."""


class Job(NamedTuple):
    """A kind of problem in `JOBS`, and the robot or mechanism that it is about.

    With the name of an integration method it is one of `BY_METHOD` instead.
    """

    kind: str
    about: str
    method: str = ""


class Done(NamedTuple):
    """What became of a job: what it took, CPU s, and why it is nothing for this robot, if so."""

    job: Job
    seconds: float
    refused: str


# ------------------------------------------------------------------------------------ problems
def _simulate(robot: Robot) -> None:
    """Solve what `md.simulate` and the simulator node do unless they are told otherwise."""
    kernels, zero = customize(robot), np.zeros(robot.n)
    kernels.forward_dynamics(middle_posture(robot), zero, zero)
    kernels.inverse_dynamics(middle_posture(robot), zero, zero)
    _move(robot, Integrator("rk4", STEP))


def _simulate_by(robot: Robot, method: str) -> None:
    """Solve the same by another method, with fixed steps and with tolerances where it has both."""
    _move(robot, Integrator(method, STEP, order=ORDER if method == TAYLOR else 0))
    if METHODS[method].adaptive:
        _move(robot, Integrator(method, rtol=RTOL))


def _move(robot: Robot, integrator: Integrator) -> None:
    """Move an arm, free and within its limits: by efforts, held up, braked."""
    q, zero, period = middle_posture(robot), np.zeros(robot.n), round(1e10 * STEP)
    for kind, law in (Simulation, gravity_compensation), (SimulationWithStops, Brake):
        moved = kind(robot, q, zero, integrator)
        moved.law = Schedule(robot, [0, period // 2], [zero, zero])
        moved.advance(period)
        moved.energy()
        if integrator.method != TAYLOR:  # which follows no law of the state
            moved.law = law(moved.kernels)
            moved.advance(period)


def _simulate_many(robot: Robot) -> None:
    """Simulate two motions side by side."""
    q, zero = middle_posture(robot), np.zeros(robot.n)
    simulate_many(robot, [q, q], zero, zero, PERIOD, threads=1)


def _track(robot: Robot) -> None:
    """Solve what `md.track` and the tracker node do unless they are told otherwise."""
    kernels, q, circle = customize(robot), *_small_circle(robot)
    kernels.jacobian(q)
    settings = ClikSettings(gain=4.0, posture=q, posture_gain=1.0)
    reference = JointReference(PathFollower(robot, circle, q, PERIOD, settings))
    controller = ComputedTorque(robot, STIFFNESS, DAMPING, PERIOD)
    reference.advance()
    controller.efforts(q, 0.0 * q, reference.motion)
    track(robot, circle, q0=q, duration=0.2)


def _track_by(robot: Robot, method: str) -> None:
    """Follow the path by another method."""
    q, circle = _small_circle(robot)
    track(robot, circle, method, q0=q, duration=0.2)


def _small_circle(robot: Robot) -> tuple[Vector, Circle]:
    """Return a circle of the tool about the middle, and a posture (n,) on it."""
    q = middle_posture(robot)
    tool = customize(robot).forward_kinematics(q)
    circle = Circle(
        tool[:3, 3] - 0.02 * tool[:3, 0], tool[:3, 2], tool[:3, 0], tool[:3, :3], 0.01, 0.5
    )
    return posture_for(robot, circle.pose(0.0), q), circle


def _zero_net_work(robot: Robot) -> None:
    """Plan and begin to execute the scenarios' motions, or a short one of one joint and of all.

    Their straight paths are timed, too.
    """
    for start, goal in _motions(robot, "zero_net_work") or _short_motions(robot):
        plan = plan_zero_net_work(robot, start, goal)
        PlanExecutor(robot, plan, PERIOD).segments(0.0, start, 0.0 * start)
        execute(plan, Conditions(duration=PERIOD))
        time_path(robot, [start, goal])


def _minimum_time(robot: Robot) -> None:
    """Plan the scenarios' motions, or short ones, in minimum time."""
    if robot.n > MOST_JOINTS:
        raise ManipDynError(f"minimum time of {robot.n} joints takes minutes to plan")
    for start, goal in _motions(robot, "minimum_time") or _short_motions(robot):
        plan = plan_minimum_time(robot, start, goal)
        PlanExecutor(robot, plan, PERIOD).segments(0.0, start, 0.0 * start)


def _mechanism(name: str) -> None:
    """Simulate a shipped mechanism with controlled and with fixed steps."""
    mechanism = load_mechanism(name)
    simulate_mechanism(mechanism, 0.01, rtol=1e-3)
    simulate_mechanism(mechanism, 0.01, step=0.005)


def _motions(robot: Robot, method: str) -> list[tuple[Vector, Vector]]:
    """Return start and goal of the scenarios that plan by this method for this robot."""
    files = sorted((share_directory() / "config").glob("*.yaml"))
    found = (read_yaml(file, partial(scenario_motion, robot, method)) for file in files)
    return [motion for motion in found if motion is not None]


def scenario_motion(robot: Robot, method: str, content: Any) -> tuple[Vector, Vector] | None:
    """Return start and goal (n,) of a scenario's planner; None if it plans something else.

    Raises:
        ManipDynError: If the parameters are not those of a scenario.
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
    """Return a node's parameters; which there are besides the needed ones, the node knows."""
    key = "ros__parameters"
    values = mapping(node, content.get(f"/**/{node}"), (key,), (key,))[key]
    return mapping(f"{key} of {node}", values, values or needed, needed)


def _short_motions(robot: Robot) -> list[tuple[Vector, Vector]]:
    start = middle_posture(robot)
    room = 0.5 * np.minimum(robot.q_max - start, 0.2)
    one = np.where(np.arange(robot.n) == 0, room, 0.0)
    return [(start, start + one), (start, start + room)]


JOBS: dict[str, Callable[[Any], None]] = {
    "simulate": _simulate,
    "simulate_many": _simulate_many,
    "track": _track,
    "zero_net_work": _zero_net_work,
    "minimum_time": _minimum_time,
}
"""What is solved for every robot."""
BY_METHOD: dict[str, Callable[[Any, str], None]] = {"simulate": _simulate_by, "track": _track_by}
"""What is solved once more by each integration method that is asked for."""
MECHANISM, MECHANISMS = "mechanism", ("four_bar", "hmmwv")


# --------------------------------------------------------------------------------------- order
def prepare(
    robots: Sequence[str] = (), processes: int = 0, methods: Sequence[str] = ()
) -> Iterator[Done]:
    """Compile ahead for some robots, or for all that is shipped; yield each job that is done.

    Args:
        robots: Names of shipped robots, or paths of URDFs.
        processes: How many at a time; 0: one for each core.
        methods: Names in `md.METHODS`: each simulates these robots and lets them track, besides
            RK4, by which all of this is done unless it is told otherwise.

    Raises:
        ManipDynError: If there is no such robot or method, or the cache folder cannot be written,
            or nothing would be compiled.
    """
    for method in methods:
        if method not in METHODS:
            raise ManipDynError(
                f"method is '{method}', which is no method{closest(method, METHODS)}"
            )
    if PLAIN:
        raise ManipDynError("NUMBA_DISABLE_JIT is set, which compiles nothing; expected it unset")
    if processes < 0:
        raise ManipDynError(f"processes is {processes}; expected 1 or more, or 0: one a core")
    for robot in robots:
        load_robot(robot)  # refuses what is none before anything begins
    check_cache()
    context = multiprocessing.get_context("spawn")
    workers = processes or cores()
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, initializer=_begin) as pool:
        try:
            for chains in waves(robots, methods):
                with signals_delayed():  # some start processes
                    begun = [pool.submit(_solved, jobs) for jobs in chains]
                for each in as_completed(begun):
                    yield from each.result()
        except BaseException:  # nobody wants the rest, which would take minutes
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()
            raise


def _begin() -> None:
    """Say nothing in a process of the pool, and leave Ctrl-C to the one that started it."""
    disable_announcements()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def count_jobs(robots: Sequence[str] = (), methods: Sequence[str] = ()) -> int:
    """Return how many jobs `prepare` does for these robots and methods."""
    return sum(len(jobs) for chains in waves(robots, methods) for jobs in chains)


def cores() -> int:
    """Return how many cores this process may use."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def waves(robots: Sequence[str], methods: Sequence[str]) -> Iterator[list[list[Job]]]:
    """Yield chains of jobs that may run side by side.

    First different kinds of jobs, which compile what all robots share; then all other robots,
    each of which compiles little more than its kernels.
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
        left += [[Job(kind, name, each) for each in methods] for kind in BY_METHOD]
        used = USED.get(name, ())
        left.append([Job("simulate", name, each) for each in used if each not in methods])
    chains = ([job for job in jobs if job not in done] for jobs in left)
    yield [jobs for jobs in chains if jobs]


def _solved(jobs: list[Job]) -> list[Done]:
    """Solve jobs one after the other, in a process of the pool."""
    return [_done(job) for job in jobs]


def _done(job: Job) -> Done:
    began, refused = time.process_time(), ""
    try:
        if job.kind == MECHANISM:
            _mechanism(job.about)
        elif job.method:
            BY_METHOD[job.kind](load_robot(job.about), job.method)
        else:
            JOBS[job.kind](load_robot(job.about))
    except ManipDynError as error:  # not every arm can do everything
        refused = str(error)
    return Done(job, time.process_time() - began, refused)

"""Followers: joint motions along a path step by step, and single velocities of the law."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik import motion
from manip_dyn.clik.law.joint_velocity import joint_velocity
from manip_dyn.clik.law.poses import DESIRED, ROTATION, TWIST, checked_pose
from manip_dyn.clik.law.settings import ClikSettings, checked_settings, law_memory, set_constants
from manip_dyn.clik.paths.path import Path, evaluate_path
from manip_dyn.clik.samples import TrackingSample, row_size, sample_of
from manip_dyn.codegen import customize
from manip_dyn.codegen.kernel_addresses import addresses
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.compiled import compile_late
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.specialized import specialized
from manip_dyn.integration import METHODS, Method, Options, Status, compile_engine
from manip_dyn.integration.engine import Engine
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.robot import Robot


@lru_cache(maxsize=64)
def velocity_function(robot: Robot) -> Callable[..., float]:
    """Return `motion.velocity` for a robot."""
    kinematics = customize(robot).in_place.kinematics
    function: Callable[..., float] = specialized(motion, kinematics=kinematics).velocity
    return function


@lru_cache(maxsize=64)
def motion_functions(path_function: Callable[..., None]) -> ModuleType:
    """Return `motion` with rates and samples on paths with this function, for all robots."""
    return specialized(motion, desired_pose=path_function)


def tracking_arguments(
    robot: Robot, parameters: Vector, memory: Vector
) -> motion.TrackingArguments:
    """Return what rates and samples take to be about a robot on a path."""
    (kinematics,) = addresses(robot, "kinematics")
    return motion.TrackingArguments(parameters, memory, kinematics)


def method_of(method: str | Method) -> Method:
    """Return the method of a name in `METHODS`, or one as it is."""
    return method if isinstance(method, Method) else METHODS[method]


def tracking_engine(
    robot: Robot, path_function: Callable[..., None], method: str | Method
) -> Engine:
    """Return the compiled time loop of a method for the rate of (q, path time)."""
    return compile_engine(
        motion_functions(path_function).rate, method_of(method), Options(size=robot.n + 1)
    )


class PathFollower:
    """Integrates q' = J^+(q) (twist_d + K e) along a path in fixed steps.

    The state is (q, path time); the desired pose and the robot's kinematics are evaluated anew at
    every stage of the method. Path time goes with time unless speed limits slow the arm down.

    Attributes:
        robot: The arm.
        path: The path.
        step_size: The step, s.
        status: How the last step ended; NON_FINITE stops the follower where it was.
    """

    def __init__(
        self,
        robot: Robot,
        path: Path,
        q0: ArrayLike,
        step: float = 0.1,
        settings: ClikSettings | None = None,
        method: str | Method = "rk4",
        deadlines: bool = True,
    ):
        """Begin at the joint positions `q0` (n,) at path time 0, in steps of `step` s.

        With `deadlines` all that a step may ever need is compiled now, and not when it is first
        needed: no later step is slow.
        """
        self.robot, self.path = robot, check_path(path)
        self.step_size = positive("step", step, "s")
        self.method = check_method(method)
        self._q0 = finite_vector("q0", q0, robot.n)
        robot.check_within_limits("initial position", self._q0)
        self._engine = tracking_engine(robot, path.function, method)
        self._look = motion_functions(path.function).look
        self._settings = checked_settings(settings)
        memory = law_memory(robot, self._settings, self.step_size)
        self._p = tracking_arguments(robot, path.parameters, memory)
        self._rate = np.empty(robot.n + 1)
        self.reset()
        self.run(1)  # compiles what is not in the cache
        self.reset()
        if deadlines:
            compile_late(joint_velocity, evaluate_path)

    @property
    def settings(self) -> ClikSettings:
        """The law's constants; they can be changed at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: ClikSettings) -> None:
        set_constants(self._p.memory, self.robot, settings, self.step_size)
        self._settings = settings
        self.restart()

    @property
    def path_time(self) -> float:
        """Where on the path the desired pose is, s."""
        return float(self._y[-1])

    @property
    def unstable(self) -> str:
        """Why feedback and step do not fit the method, in one sentence; empty if they do."""
        return unstable_gain(self.method, self.settings.gain, self.step_size)

    def follow(self, path: Path, q: ArrayLike | None = None, path_time: float = 0.0) -> None:
        """Begin another path, one with the same compiled function, see `reset`."""
        if check_path(path).function is not self.path.function:
            raise ManipDynError(f"path {path!r} is of another kind; expected its own follower")
        self.path = path
        self._p = self._p._replace(path=path.parameters)
        self.reset(q, path_time)

    def reset(self, q: ArrayLike | None = None, path_time: float = 0.0) -> None:
        """Go back to time 0 and to `path_time`, at `q` (n,), rad or m, or where it began."""
        if q is not None:
            self._q0 = finite_vector("q", q, self.robot.n)
            self.robot.check_within_limits("position", self._q0)
        self._y = np.append(self._q0, path_time)
        self._space = self._engine.space(step=self.step_size, every_step=True)
        self._engine.start(self._space, 0.0, np.array([[np.inf, -np.inf, np.inf, 0.0]]))
        self.status = Status.SUCCESS

    def restart(self) -> None:
        """Forget the past steps of a multistep method: after a change of the path or settings."""
        self._space.state.known = 0

    def sample(self) -> TrackingSample:
        """Return the present sample."""
        return sample_of(self.look(), self.robot)

    def step(self) -> TrackingSample:
        """Advance by one step and return the new sample."""
        rows = self.run(1)
        return sample_of(rows[0], self.robot) if len(rows) else self.sample()

    def look(self) -> Vector:
        """Return the present sample as a row of numbers, see `record`."""
        return self._rows(np.array([self._space.state.t]), self._y[None, :])[0]

    def run(self, steps: int) -> Vector:
        """Advance by `steps` steps, fewer if the status says so, and return a row for each."""
        record = self._engine.record(steps, 0, 0, degree=0)
        self._space.state.rows = 0
        status = self._engine.advance(self._p, self._y, self._space.keeping(record))
        self.status = Status.SUCCESS if status == Status.PAUSED else Status(status)
        rows = int(self._space.state.rows)
        return self._rows(record.times[:rows], record.states[:rows])

    def _rows(self, times: Vector, states: Vector) -> Vector:
        """Return what the law does at times (k,) and states (k, n + 1), moved within limits."""
        n = self.robot.n
        inside = states.copy()
        inside[:, :n] = np.clip(states[:, :n], self.robot.q_min, self.robot.q_max)
        rows = np.empty((len(times), row_size(n)))
        self._look(times, inside, self._p, self._rate, rows)
        return rows


def check_path(path: Any) -> Path:
    """Return a path if it is one."""
    if not isinstance(path, Path):
        raise ManipDynError(f"path is {path!r}; expected a path such as md.Circle")
    return path


def unstable_gain(method: str | Method, gain: float, step: float) -> str:
    """Return why a gain, 1/s, and a step, s, do not fit a method; empty if they do."""
    chosen = method_of(method)
    interval = chosen.stability_interval
    if interval is None or gain * step <= interval:
        return ""
    return (
        f"gain * step is {gain * step:.3g}: {chosen.name} is unstable above {interval:.4g} "
        "(expected a smaller gain or step)"
    )


def check_method(method: str | Method) -> str | Method:
    """Return a method, or the name of one, that can integrate the law."""
    if not isinstance(method, Method) and method not in METHODS:
        raise ManipDynError(
            f"method is '{method}', which is no method{closest(str(method), METHODS)}"
        )
    if isinstance(method_of(method), Taylor):
        raise ManipDynError(f"method is '{method}', which needs a series; expected another one")
    return method


class JointVelocity(NamedTuple):
    """Joint velocities (n,), rad/s or m/s, and what the speed limits left of them, 1 or less."""

    velocity: Vector
    scale: float


class VelocitySolver:
    """The CLIK law of one robot, called from Python.

    Attributes:
        in_place: Jitted ``in_place(q, desired, memory, v) -> scale``: q (n,), desired pose and
            twist (18,) as in `clik.task.pose`, `memory` as below, velocities into v (n,).
            Nothing is checked or allocated.
        memory: Its constants and scratch memory; one solver serves one thread.
    """

    def __init__(self, robot: Robot, settings: ClikSettings | None = None, step: float = 1e-3):
        """Take the robot and the law's constants; `step`, s, is how long a velocity will hold.

        All that a call may ever need is compiled now.
        """
        positive("step", step, "s")
        self.robot = robot
        self.settings = checked_settings(settings)
        self.in_place: Callable[..., float] = velocity_function(robot)
        self.memory = law_memory(robot, self.settings, step)
        self.in_place(np.zeros(robot.n), np.zeros(DESIRED), self.memory, np.empty(robot.n))
        compile_late(joint_velocity)

    def __call__(
        self, q: ArrayLike, pose: tuple[ArrayLike, ArrayLike], twist: ArrayLike = (0.0,) * 6
    ) -> JointVelocity:
        """Return the velocities at `q` (n,) for a desired pose and twist (6,), base frame."""
        joints = finite_vector("q", q, self.robot.n)
        goal = checked_pose("pose", pose)
        desired, v = np.empty(DESIRED), np.empty(self.robot.n)
        desired[:ROTATION], desired[ROTATION:TWIST] = goal.position, goal.rotation.ravel()
        desired[TWIST:] = finite_vector("twist", twist, 6)
        return JointVelocity(v, float(self.in_place(joints, desired, self.memory, v)))

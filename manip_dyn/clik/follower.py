"""Step-by-step joint motions along a path, and single velocities of the CLIK law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.collision_avoidance import avoided, examine_all, neighbourhood
from manip_dyn.clik.law.joint_velocity import joint_velocity, law_memory, set_constants
from manip_dyn.clik.law.poses import DESIRED, ROTATION, TWIST, checked_pose
from manip_dyn.clik.law.settings import ClikSettings, checked_settings, task_of
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.samples import TrackingSample, fill_row, row_size, sample_of
from manip_dyn.collision import Scene, clearance
from manip_dyn.core.arrays import address_of, call_writing, row
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.compiled import compiled, is_compiled
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration import METHODS, Method, Options, Status, compile_engine
from manip_dyn.integration.engine import Engine
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.robot import Robot


@compiled(short=True)
def velocity(q, desired, memory, v):
    """Write the joint velocities (n,) into `v` and return the speed scale.

    The arguments are those of `VelocitySolver.in_place`.
    """
    task = task_of(memory)
    for i in range(task.desired.size):
        task.desired[i] = desired[i]
    return joint_velocity(q, memory, v)


class TrackingArguments(NamedTuple):
    """Parameters `p` of the compiled functions `rate` and `look`.

    Attributes:
        function: Address of the function of the path.
        path: Parameters of the path.
        memory: Constants and working memory of the law, see `law_memory`.
    """

    function: int
    path: Vector
    memory: Vector


def tracking_arguments(path: Path, memory: Vector) -> TrackingArguments:
    """Return the parameters of `rate` and `look` for a path and the memory of the law."""
    address = path_address(path.function, path.parameters)
    return TrackingArguments(address, path.parameters, memory)


def path_address(function: Callable[..., None], parameters: Vector) -> Any:
    """Compile the function of a path if necessary, and return its address."""
    return address_of(function, 0.0, parameters, np.empty(DESIRED))


@compiled(short=True, python=False)
def rate(t, y, p, out):
    """Write the rate (n + 1,) of the state y = (q, path time) for `TrackingArguments` p."""
    call_writing(p.function, (y[y.size - 1], p.path, task_of(p.memory).desired))
    out[y.size - 1] = joint_velocity(y, p.memory, out)


@compiled(short=True)
def look(times, states, p, out, rows):
    """Write the sample rows at times (k,) and states (k, n + 1), see `samples`."""
    for k in range(rows.shape[0]):
        y = row(states, k)
        rate(times[k], y, p, out)
        fill_row(times[k], y, out, p.memory, row(rows, k))


def method_of(method: str | Method) -> Method:
    """Return the method with this name in `METHODS`. A `Method` is returned unchanged."""
    return method if isinstance(method, Method) else METHODS[method]


def tracking_engine(robot: Robot, method: str | Method) -> Engine:
    """Return the compiled time loop of a method for the state (q, path time)."""
    return compile_engine(rate, method_of(method), Options(size=robot.n + 1))


class PathFollower:
    """Integrates dq/dt = J^+(q) (twist_d + K e) along a path in fixed steps.

    The state is (q, path time). Every stage of the method evaluates the desired pose and the
    kinematics of the robot. Path time advances like time unless speed limits slow the arm down.

    Attributes:
        robot: The arm.
        path: The path.
        step_size: Step, s.
        method: Name of the integration method, or a `Method`.
        status: Status of the last step. NON_FINITE stops the follower at its last state.
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
        scene: Scene | None = None,
    ):
        """Start at the joint positions `q0` (n,) at path time 0, with steps of `step` s.

        With a `scene`, the arm avoids collisions with itself and the objects of the scene. With
        `deadlines`, all functions that a step may call are compiled now. Otherwise a step may
        wait for the compiler.
        """
        self.robot, self.path = robot, check_path(path)
        self.step_size = positive("step", step, "s")
        self.method = check_method(method)
        self._q0 = finite_vector("q0", q0, robot.n)
        robot.check_within_limits("initial position", self._q0)
        if scene is not None:
            check_clear(robot, self._q0, scene)
        self._engine = tracking_engine(robot, method)
        self._settings, self._complete = checked_settings(settings), deadlines
        self._use_scene(scene)
        self._rate = np.empty(robot.n + 1)
        self.reset()
        if deadlines:
            self.run(1)  # compiles the functions that are not cached
            self.reset()

    @property
    def settings(self) -> ClikSettings:
        """Settings of the law; they can be replaced at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: ClikSettings) -> None:
        set_constants(
            self._p.memory, self.robot, settings, self.step_size, self._complete, self._hood
        )
        self._settings = settings
        self.restart()

    @property
    def scene(self) -> Scene | None:
        """Objects around the arm, or None if collisions are not considered.

        It can be replaced at any time. If the arm touches objects of the new scene, it does not
        come closer to them.
        """
        return self._scene

    @scene.setter
    def scene(self, scene: Scene | None) -> None:
        self._use_scene(scene)
        self.restart()
        if self._hood is not None:
            examine_all(self._hood)

    def _use_scene(self, scene: Scene | None) -> None:
        hood = None if scene is None else neighbourhood(self.robot, scene)
        memory = law_memory(self.robot, self._settings, self.step_size, self._complete, hood)
        self._scene, self._hood = scene, hood
        self._p = tracking_arguments(self.path, memory)

    @property
    def path_time(self) -> float:
        """Path time of the desired pose, s."""
        return float(self._y[-1])

    @property
    def avoided(self) -> tuple[float, tuple[str, str]] | None:
        """Least distance, m, and names of the pair whose collision the arm has avoided, or None.

        It refers to the motion since the last reset or change of the settings or of the scene.
        """
        return None if self._hood is None else avoided(self._hood, self.robot, self._scene)

    @property
    def unstable(self) -> str:
        """Sentence that explains why gain and step are unstable, or an empty string."""
        return unstable_gain(self.method, self.settings.gain, self.step_size)

    def follow(self, path: Path, q: ArrayLike | None = None, path_time: float = 0.0) -> None:
        """Follow another path from `q` at `path_time`, see `reset`."""
        self.path = check_path(path)
        self._p = tracking_arguments(path, self._p.memory)
        self.reset(q, path_time)

    def reset(self, q: ArrayLike | None = None, path_time: float = 0.0) -> None:
        """Restart from `q` (n,) or the last start, at time 0 and path time `path_time` (s)."""
        if q is not None:
            self._q0 = finite_vector("q", q, self.robot.n)
            self.robot.check_within_limits("position", self._q0)
        self._y = np.append(self._q0, path_time)
        self._space = self._engine.space(step=self.step_size, every_step=True)
        self._engine.start(self._space, 0.0, np.array([[np.inf, -np.inf, np.inf, 0.0]]))
        self.status = Status.SUCCESS
        if self._hood is not None:
            examine_all(self._hood)

    def restart(self) -> None:
        """Discard the past steps of a multistep method, after a change of the path or settings."""
        self._space.state.known = 0

    def sample(self) -> TrackingSample:
        """Return the current sample."""
        return sample_of(self.look(), self.robot)

    def step(self) -> TrackingSample:
        """Advance by one step and return the new sample, or the current one if the step fails."""
        rows = self.run(1)
        return sample_of(rows[0], self.robot) if len(rows) else self.sample()

    def look(self) -> Vector:
        """Return the current sample as a row, see `samples`."""
        return self._completed(self._look)[0]

    def run(self, steps: int) -> Vector:
        """Advance by `steps` steps, or until a step fails, and return one row per step."""
        return self._completed(lambda: self._run(steps))

    def _completed(self, compute: Callable[[], Vector]) -> Vector:
        """Return the rows of `compute`. If the law lacks a function, compile all and try again."""
        if self._complete:
            return compute()
        arrays = self._y, self._space.clock, self._space.work, self._space.scratch
        before = [array.copy() for array in arrays]
        rows = compute()
        if self.status or not np.isfinite(rows).all():
            for array, copy in zip(arrays, before, strict=True):
                array[:] = copy
            self._complete = True
            set_constants(
                self._p.memory, self.robot, self.settings, self.step_size, hood=self._hood
            )
            rows = compute()
        return rows

    def _look(self) -> Vector:
        return self._rows(np.array([self._space.state.t]), self._y[None, :])

    def _run(self, steps: int) -> Vector:
        record = self._engine.record(steps, 0, 0, degree=0)
        self._space.state.rows = 0
        status = self._engine.advance(self._p, self._y, self._space.keeping(record))
        self.status = Status.SUCCESS if status == Status.PAUSED else Status(status)
        rows = int(self._space.state.rows)
        return self._rows(record.times[:rows], record.states[:rows])

    def _rows(self, times: Vector, states: Vector) -> Vector:
        """Return the rows at times (k,) and states (k, n + 1), clipped to the joint limits."""
        n = self.robot.n
        inside = states.copy()
        inside[:, :n] = np.clip(states[:, :n], self.robot.q_min, self.robot.q_max)
        rows = np.empty((len(times), row_size(n)))
        look(times, inside, self._p, self._rate, rows)
        return rows


def check_clear(robot: Robot, q: Vector, scene: Scene) -> None:
    """Raise `ManipDynError` if an arm at q (n,) touches itself or a scene."""
    result = clearance(robot, q, scene)
    if not result.clear:
        raise ManipDynError(f"initial position must be free of collisions, got: {result.reason}.")


def check_path(path: Any) -> Path:
    """Return `path` after checking its type and its compiled function."""
    if not isinstance(path, Path):
        raise ManipDynError(f"path must be a path such as md.Circle, got {path!r}.")
    if not is_compiled(path.function):
        raise ManipDynError(
            f"function of a path must be compiled by numba, got {path.function!r}."
        )
    function: Callable[..., object] = path.function
    if function(0.0, path.parameters, np.empty(DESIRED)) is not None:
        raise ManipDynError(f"function of a path must return nothing, got {path.function!r}.")
    return path


def unstable_gain(method: str | Method, gain: float, step: float) -> str:
    """Return why a gain (1/s) and a step (s) are unstable.

    Return "" if they are stable, or if the method has no known stability interval.
    """
    chosen = method_of(method)
    interval = chosen.stability_interval
    if interval is None or gain * step <= interval:
        return ""
    return (
        f"gain * step must be at most {interval:.4g} with {chosen.name}, got {gain * step:.3g} "
        "(use a smaller gain or step)"
    )


def check_method(method: str | Method) -> str | Method:
    """Return `method` after checking that it can integrate the CLIK law."""
    if not isinstance(method, Method) and method not in METHODS:
        raise ManipDynError(
            f"method must be a name in md.METHODS, got '{method}'{closest(str(method), METHODS)}"
        )
    if isinstance(method_of(method), Taylor):
        raise ManipDynError(f"method must not be a Taylor series method, got '{method}'.")
    return method


class JointVelocity(NamedTuple):
    """Joint velocities (n,), rad/s or m/s, and their speed scale, at most 1."""

    velocity: Vector
    scale: float


class VelocitySolver:
    """Python interface to the CLIK law of one robot.

    Attributes:
        in_place: Compiled ``in_place(q, desired, memory, v) -> scale`` with q (n,), desired pose
            and twist (18,) as in `clik.law.poses`, and `memory` as below. It writes the velocities
            into v (n,), without checks or allocations.
        memory: Constants and working memory. Threads must not share a solver.
        robot: The arm.
        settings: Settings of the law.
    """

    def __init__(
        self,
        robot: Robot,
        settings: ClikSettings | None = None,
        step: float = 1e-3,
        scene: Scene | None = None,
    ):
        """Compile the law for a robot; each velocity is applied for `step` s.

        With a `scene`, the velocities avoid collisions of the arm with itself and the objects of
        the scene. All functions that a call may need are compiled at construction.
        """
        positive("step", step, "s")
        self.robot = robot
        self.settings = checked_settings(settings)
        self.in_place: Callable[..., float] = velocity
        self._hood = None if scene is None else neighbourhood(robot, scene)
        self.memory = law_memory(robot, self.settings, step, hood=self._hood)
        self.in_place(np.zeros(robot.n), np.zeros(DESIRED), self.memory, np.empty(robot.n))

    def __call__(
        self, q: ArrayLike, pose: tuple[ArrayLike, ArrayLike], twist: ArrayLike = (0.0,) * 6
    ) -> JointVelocity:
        """Return joint velocities and their scale at `q` (n,) for a desired pose and twist (6,).

        Pose and twist are in the base frame, see `clik.law.poses`.
        """
        joints = finite_vector("q", q, self.robot.n)
        goal = checked_pose("pose", pose)
        desired, v = np.empty(DESIRED), np.empty(self.robot.n)
        desired[:ROTATION], desired[ROTATION:TWIST] = goal.position, goal.rotation.ravel()
        desired[TWIST:] = finite_vector("twist", twist, 6)
        return JointVelocity(v, float(self.in_place(joints, desired, self.memory, v)))

"""Closed-loop inverse kinematics: joint motions that follow a path of the tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.inverse import damped_least_squares
from manip_dyn.clik.paths import Path, Pose
from manip_dyn.clik.task_error import task_error
from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.integrate import rk4_step
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector, not_negative, positive

RK4_STABILITY = 2.785
"""End of the real stability interval of the classical Runge-Kutta method."""


@dataclass(frozen=True)
class ClikSettings:
    """The CLIK law's constants.

    Attributes:
        gain: Feedback K of the task error, 1/s.
        damping_threshold: Smallest singular value of J below which damping begins.
        max_damping: Damping at a singularity.
    """

    gain: float = 2.0
    damping_threshold: float = 0.04
    max_damping: float = 0.04

    def __post_init__(self) -> None:
        """Refuse constants that are not positive."""
        positive("gain", self.gain, "1/s")
        positive("damping_threshold", self.damping_threshold)
        not_negative("max_damping", self.max_damping)


class TrackingSample(NamedTuple):
    """One sample: the time (s), joints (n,), poses, error (6,), and what limited the motion."""

    t: float
    q: Vector
    v: Vector
    desired: Pose
    actual: Pose
    error: Vector
    smallest_singular_value: float
    damping: float
    speed_scale: float
    at_limit: tuple[str, ...]


class Tracker:
    """Integrates q' = J^+(q) (twist_d(t) + K e(t, q)) along a path in fixed steps."""

    def __init__(
        self,
        robot: Robot,
        path: Path,
        q0: ArrayLike,
        step: float = 0.1,
        settings: ClikSettings | None = None,
    ):
        """Begin at the joint positions `q0` (n,) at path time 0, in RK4 steps of `step` s."""
        self.robot = robot
        self.path = path
        self.step_size = positive("step", step, "s")
        self.settings = settings or ClikSettings()
        self._kernels = customize(robot).unchecked
        rate = self.settings.gain * self.step_size
        if rate > RK4_STABILITY:
            raise ManipDynError(
                f"gain * step is {rate:.3g}; RK4 is unstable above {RK4_STABILITY} (expected a "
                "smaller gain or step)"
            )
        self._q0 = finite_vector("q0", q0, robot.n)
        robot.check_within_limits("initial position", self._q0)
        self.reset()

    def reset(self) -> None:
        """Go back to the first sample."""
        self._steps = 0
        self._q = self._q0.copy()
        self._limited: tuple[str, ...] = ()

    def sample(self) -> TrackingSample:
        """Return the present sample."""
        t = self._steps * self.step_size
        desired, actual = self.path.pose(t), self._pose(self._q)
        solution = self._solve(t, self._q)
        scale = self._speed_scale(solution.velocity)
        return TrackingSample(
            t=t,
            q=self._q.copy(),
            v=scale * solution.velocity,
            desired=desired,
            actual=actual,
            error=task_error(desired, actual),
            smallest_singular_value=solution.smallest_singular_value,
            damping=solution.damping,
            speed_scale=scale,
            at_limit=self._limited,
        )

    def step(self) -> TrackingSample:
        """Advance by one step and return the new sample.

        Joint speeds above their limits scale the whole velocity, which keeps its direction;
        positions stop at their limits. Both are reported in the sample.
        """
        t = self._steps * self.step_size
        q = rk4_step(self._velocity, t, self._q, self.step_size)
        self._q, self._limited = self._within_limits(q)
        self._steps += 1
        return self.sample()

    def _velocity(self, t: float, q: Vector) -> Vector:
        velocity = self._solve(t, q).velocity
        return self._speed_scale(velocity) * velocity

    def _solve(self, t: float, q: Vector):
        error = task_error(self.path.pose(t), self._pose(q))
        twist = self.path.twist(t) + self.settings.gain * error
        return damped_least_squares(
            self._kernels.jacobian(q),
            twist,
            self.settings.damping_threshold,
            self.settings.max_damping,
        )

    def _pose(self, q: Vector) -> Pose:
        matrix = self._kernels.forward_kinematics(q)
        return Pose(matrix[:3, 3], matrix[:3, :3])

    def _speed_scale(self, velocity: Vector) -> float:
        speed = np.abs(velocity)
        over = speed > self.robot.v_max
        return float(np.min(self.robot.v_max[over] / speed[over])) if over.any() else 1.0

    def _within_limits(self, q: Vector) -> tuple[Vector, tuple[str, ...]]:
        clipped = np.clip(q, self.robot.q_min, self.robot.q_max)
        names = self.robot.joint_names
        return clipped, tuple(names[i] for i in np.flatnonzero(clipped != q))


def posture_for(robot: Robot, pose: Pose, guess: ArrayLike, tolerance: float = 1e-10) -> Vector:
    """Return joint positions (n,) near `guess` at which the tool has `pose`.

    Newton steps of the CLIK law with damping by the error, inside the joint limits.

    Raises:
        ManipDynError: If the pose is not reached; the message tells how near it came.
    """
    kernels = customize(robot).unchecked
    q = finite_vector("guess", guess, robot.n)
    best = np.inf
    for _ in range(500):
        matrix = kernels.forward_kinematics(q)
        error = task_error(pose, Pose(matrix[:3, 3], matrix[:3, :3]))
        best = min(best, float(np.linalg.norm(error)))
        facing = float(np.trace(matrix[:3, :3].T @ pose.rotation)) > 1.0
        if np.linalg.norm(error) < tolerance and facing:
            return q
        jacobian = kernels.jacobian(q)
        damping = 1e-2 * min(best, 1.0)
        square = jacobian @ jacobian.T + damping * np.eye(6)
        change = jacobian.T @ np.linalg.solve(square, error)
        change *= min(1.0, 0.5 / max(float(np.abs(change).max()), 1e-300))
        q = np.clip(q + change, robot.q_min, robot.q_max)
    place = ", ".join(f"{x:.4g}" for x in pose.position)
    raise ManipDynError(
        f"the pose at ({place}) m is not reached by '{robot.name}' from the given posture; "
        f"the nearest was {best:.3g} (m, rad) away. Expected a pose within reach and limits"
    )

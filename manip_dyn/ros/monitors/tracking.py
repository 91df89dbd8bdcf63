"""Monitor of a tracker: errors of the tool along its path."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn.clik import Pose, task_error
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_numbers, rotation_matrices, to_nanoseconds
from manip_dyn.ros.messages.joints import in_joint_order
from manip_dyn.ros.monitors.progress import MonitorParameters, Progress, missed_samples
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, LATCHED

START_TOLERANCE = 0.02
"""Fraction of the first lap by which the first sample may be late."""


def first_whole_lap(t: float, duration: float) -> float:
    """Return the path time at which measuring starts, s.

    If the first sample is later than `START_TOLERANCE`, this is the start of the next lap.

    Args:
        t: Path time of the first received sample, s.
        duration: Duration of a lap, s.
    """
    return 0.0 if t < START_TOLERANCE * duration else math.ceil(t / duration) * duration


@dataclass
class TrackingLog:
    """Measured joint states, with the desired tool poses at the same stamps.

    Attributes:
        robot: The arm.
        settle: Path time after which errors count as steady, s.
    """

    robot: Robot
    settle: float = 5.0
    _times: list[float] = field(default_factory=list)
    _joints: list[Vector] = field(default_factory=list)
    _desired: list[Pose] = field(default_factory=list)

    def add(self, t: float, q: Vector, v: Vector, desired: Pose) -> None:
        """Add joint positions and velocities (n,) and the desired pose at path time `t`, s."""
        self._times.append(t)
        self._joints.append(np.concatenate([q, v]))
        self._desired.append(desired)

    @property
    def duration(self) -> float:
        """Path time from the first to the last sample, s."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    def digest(self) -> str:
        """Return the SHA-256 of all joint positions and velocities."""
        return hashlib.sha256(np.array(self._joints).tobytes()).hexdigest()

    def summary(self) -> dict[str, float]:
        """Return errors, the highest fraction of a speed limit and the smallest singular value.

        The largest, steady and final errors are in m and rad.
        """
        n, t = self.robot.n, np.array(self._times)
        joints = np.array(self._joints)
        kernels = customize(self.robot)
        errors = np.zeros((len(t), 6))
        smallest = np.zeros(len(t))
        for k, (row, desired) in enumerate(zip(joints, self._desired, strict=True)):
            matrix = kernels.forward_kinematics(row[:n])
            errors[k] = task_error(desired, Pose(matrix[:3, 3], matrix[:3, :3]))
            smallest[k] = np.linalg.svd(kernels.jacobian(row[:n]), compute_uv=False)[-1]
        position = np.linalg.norm(errors[:, :3], axis=1)
        orientation = np.linalg.norm(errors[:, 3:], axis=1)
        steady = t >= min(self.settle, t[-1])
        return {
            "samples": len(t),
            "missed_samples": missed_samples(t),
            "path_time_s": float(t[-1] - t[0]),
            "max_position_error_m": float(position.max()),
            "steady_position_error_m": float(position[steady].max()),
            "final_position_error_m": float(position[-1]),
            "max_orientation_error_rad": float(orientation.max()),
            "steady_orientation_error_rad": float(orientation[steady].max()),
            "final_orientation_error_rad": float(orientation[-1]),
            "max_fraction_of_speed_limits": float(np.abs(joints[:, n:] / self.robot.v_max).max()),
            "smallest_singular_value": float(smallest.min()),
        }


class TrackingMonitor:
    """Measures a tracker from joint states and desired poses with equal stamps.

    Attributes:
        progress: Progress of the run.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: MonitorParameters,
        finish: Callable[[dict[str, Any]], None],
    ):
        """Subscribe. `finish` is called with the summary."""
        self._robot, self._finish = robot, finish
        self._log = TrackingLog(robot, parameters.settle)
        self._duration = parameters.duration
        self._joints: dict[int, tuple[Vector, Vector]] = {}
        self._desired: dict[int, Pose] = {}
        self._path: tuple[int, float] | None = None
        self._begin: float | None = None
        self.progress, self._done = Progress(), False
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        node.create_subscription(
            PoseStamped, "clik_tracker/desired_pose", self._on_desired, EVERY_MESSAGE
        )
        node.create_subscription(Path, "clik_tracker/desired_path", self._on_path, LATCHED)

    def _on_path(self, message: Path) -> None:
        first, last = (to_nanoseconds(message.poses[i].header.stamp) for i in (0, -1))
        self._path = (first, self._duration or (last - first) * 1e-9)

    def _on_joints(self, message: JointState) -> None:
        self.progress.message_received()
        stamp = to_nanoseconds(message.header.stamp)
        q, v = (in_joint_order(message, self._robot, field) for field in ("position", "velocity"))
        self._joints[stamp] = q, v
        self._match(stamp)

    def _on_desired(self, message: PoseStamped) -> None:
        stamp = to_nanoseconds(message.header.stamp)
        numbers = pose_numbers(message.pose)
        rotation = rotation_matrices(np.array(numbers[3:]))
        self._desired[stamp] = Pose(np.array(numbers[:3]), rotation)
        self._match(stamp)

    def _match(self, newest: int) -> None:
        """Log the samples with equal stamps on both topics once the path has been received."""
        if self._path is None or self._done:
            return
        origin, duration = self._path
        stamps = [newest] if self._log.duration else sorted(self._joints)
        for stamp in stamps:
            if stamp in self._joints and stamp in self._desired:
                pose, state = self._desired.pop(stamp), self._joints.pop(stamp)
                t = (stamp - origin) * 1e-9
                if self._begin is None:
                    self._begin = first_whole_lap(t, duration)
                if t >= self._begin:
                    self._log.add(t, *state, pose)
        self.progress(self._log.duration / duration)
        if self._log.duration >= duration:
            self._done = True
            digest = {"lap_s": duration, "log_sha256": self._log.digest()}
            self._finish(self._log.summary() | digest)

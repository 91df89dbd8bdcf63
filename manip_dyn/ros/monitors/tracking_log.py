"""How well a tool followed its path, measured from joint states and desired poses."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from manip_dyn.clik import Pose, task_error
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.monitors.samples import missed

LATE = 0.02
"""Share of the path that may pass before the first sample is heard."""


def first_whole_lap(heard: float, duration: float) -> float:
    """Return the path time from which to measure, s, when the first sample `heard` came late.

    A node that is discovered late is measured from its next lap on: there the path is where it
    began.
    """
    return 0.0 if heard < LATE * duration else math.ceil(heard / duration) * duration


@dataclass
class TrackingLog:
    """Tool poses by the joints' own forward kinematics, beside the desired ones.

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
        """Add joint positions and velocities (n,) and the desired pose at path time `t` s."""
        self._times.append(t)
        self._joints.append(np.concatenate([q, v]))
        self._desired.append(desired)

    @property
    def duration(self) -> float:
        """Path time from the first row to the newest, s."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    def digest(self) -> str:
        """Return the SHA-256 of all joint positions and velocities, bit for bit."""
        return hashlib.sha256(np.array(self._joints).tobytes()).hexdigest()

    def summary(self) -> dict[str, float]:
        """Return the largest, steady and final errors, m and rad, speeds and singular values."""
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
            "missed_samples": missed(t),
            "path_time_s": float(t[-1] - t[0]),
            "max_position_error_m": float(position.max()),
            "steady_position_error_m": float(position[steady].max()),
            "final_position_error_m": float(position[-1]),
            "max_orientation_error_rad": float(orientation.max()),
            "steady_orientation_error_rad": float(orientation[steady].max()),
            "final_orientation_error_rad": float(orientation[-1]),
            "max_share_of_speed_limits": float(np.abs(joints[:, n:] / self.robot.v_max).max()),
            "smallest_singular_value": float(smallest.min()),
        }

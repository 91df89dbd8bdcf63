"""What a run did, measured from its joint states alone."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from manip_dyn.clik import Pose, task_error
from manip_dyn.codegen import customize
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

LATE = 0.02
"""Share of the path that may pass before the first sample is heard."""


def first_whole_round(heard: float, duration: float) -> float:
    """Return the path time from which to measure, s, when the first sample `heard` came late.

    A node that is discovered late is measured from its next round on: there the path is where it
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
            "missed_samples": _missed(t),
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


@dataclass
class MotionLog:
    """A rest-to-rest motion: states at every control period.

    Attributes:
        goal: Goal (n,), rad or m.
        settled_ns: Stamp of the last state that was not settled.
        rest_speed: Speed below which the arm rests, rad/s or m/s.
        near: Position error of an arm that has settled, rad or m; its speed may be ten times
            that, per s.
    """

    goal: Vector
    rest_speed: float = 1e-6
    near: float = 1e-3
    settled_ns: int = field(default=0, init=False)
    _stamps: list[int] = field(default_factory=list)
    _states: list[Vector] = field(default_factory=list)

    def add(self, stamp_ns: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Add a state; one that repeats the newest stamp is skipped."""
        if self._stamps and stamp_ns <= self._stamps[-1]:
            return
        if np.abs(q - self.goal).max() > self.near or np.abs(v).max() > 10.0 * self.near:
            self.settled_ns = stamp_ns
        self._stamps.append(stamp_ns)
        self._states.append(np.concatenate([q, v, effort]))

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self._stamps)

    def digest(self) -> str:
        """Return the SHA-256 of all stamps and states, bit for bit."""
        rows = np.array(self._states)
        return hashlib.sha256(np.array(self._stamps).tobytes() + rows.tobytes()).hexdigest()

    def summary(self) -> dict[str, float]:
        """Return errors at the end and, where one joint moves, its switch and final time.

        The times count from the begin of the motion. They are where the velocity has its kinks,
        between samples: the lines through two samples before and two after a kink meet there.
        """
        n = len(self.goal)
        rows = np.array(self._states)
        t = (np.array(self._stamps) - self._stamps[0]) * 1e-9
        q, v = rows[:, :n], rows[:, n : 2 * n]
        summary = {
            "samples": len(t),
            "missed_samples": _missed(t),
            "final_position_error": float(np.abs(q[-1] - self.goal).max()),
            "final_velocity": float(np.abs(v[-1]).max()),
        }
        joints = np.flatnonzero(np.abs(q[0] - self.goal) > 1e-6)
        return summary | (self._times(t, v[:, joints[0]]) if len(joints) == 1 else {})

    def _times(self, t: Vector, speed: Vector) -> dict[str, float]:
        began = self._kink(t, speed, int(np.argmax(np.abs(speed) > 0.0)) - 1)
        switch = self._kink(t, speed, int(np.argmax(np.abs(speed))))
        final = self._kink(t, speed, self._arrival(speed))
        return {"switch_time_s": switch - began, "final_time_s": final - began}

    def _arrival(self, speed: Vector) -> int:
        moving = np.flatnonzero(np.abs(speed) > self.rest_speed)
        return int(moving[-1]) if moving.size else 0

    @staticmethod
    def _kink(t: Vector, v: Vector, near: int) -> float:
        """Return the time of the velocity's kink in or beside the interval after `near`."""
        best, time = -1.0, float(t[max(near, 0)])
        for k in range(max(near - 2, 0), min(near + 2, len(t) - 2)):
            before = (v[k] - v[k - 1]) / (t[k] - t[k - 1]) if k > 0 else 0.0
            after = (v[k + 2] - v[k + 1]) / (t[k + 2] - t[k + 1])
            jump = after - before
            if abs(jump) > best:
                best = abs(jump)
                crossing = (v[k] - v[k + 1] + after * t[k + 1] - before * t[k]) / (jump or 1.0)
                time = float(np.clip(crossing, t[k], t[k + 1]))
        return time


@dataclass
class FreeLog:
    """A motion from the simulated time zero on, without commands.

    Attributes:
        goal: Where it should be at the end (n,), rad or m.
        duration: When that is, simulated s.
    """

    goal: Vector
    duration: float
    _rows: dict[int, Vector] = field(default_factory=dict)

    def add(self, stamp_ns: int, q: Vector, v: Vector) -> None:
        """Add a state up to the duration."""
        if stamp_ns <= round(self.duration * 1e9):
            self._rows[stamp_ns] = np.concatenate([q, v])

    @property
    def fraction(self) -> float:
        """How much of the motion was heard, if its start was."""
        return max(self._rows) * 1e-9 / self.duration if 0 in self._rows else 0.0

    def summary(self) -> dict[str, float]:
        """Return the error at the end, and the fastest joint speed."""
        n = len(self.goal)
        t = np.array(sorted(self._rows)) * 1e-9
        rows = np.array([self._rows[stamp] for stamp in sorted(self._rows)])
        return {
            "samples": len(t),
            "missed_samples": _missed(t),
            "duration_s": float(t[-1]),
            "final_position_error": float(np.abs(rows[-1, :n] - self.goal).max()),
            "max_velocity": float(np.abs(rows[:, n:]).max()),
        }


def _missed(t: Vector) -> int:
    """Return how many samples of an even grid are missing between the first and the last."""
    if len(t) < 2:
        return 0
    return max(0, round(float((t[-1] - t[0]) / np.median(np.diff(t)))) + 1 - len(t))

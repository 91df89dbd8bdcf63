"""Monitors of a single motion: planned from rest to rest, or free (without commands)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.joints import in_joint_order
from manip_dyn.ros.monitors.progress import MonitorParameters, Progress, missed_samples
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, LATCHED


@dataclass
class MotionLog:
    """States of a rest-to-rest motion at every control period.

    Attributes:
        goal: Goal (n,), rad or m.
        settled_ns: Stamp of the last state in which the arm had not settled, ns; 0 for none.
        rest_speed: Largest speed of an arm at rest, rad/s or m/s.
        near: Largest position error of a settled arm, rad or m. Its speed limit is ten times this
            value, in rad/s or m/s.
    """

    goal: Vector
    rest_speed: float = 1e-6
    near: float = 1e-3
    settled_ns: int = field(default=0, init=False)
    _stamps: list[int] = field(default_factory=list)
    _states: list[Vector] = field(default_factory=list)

    def add(self, stamp_ns: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Add positions, velocities and efforts (n,) if the stamp is newer than the last one."""
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
        """Return the SHA-256 of all stamps and states."""
        rows = np.array(self._states)
        return hashlib.sha256(np.array(self._stamps).tobytes() + rows.tobytes()).hexdigest()

    def summary(self) -> dict[str, float]:
        """Return the final errors and, if only one joint must move, its switching and final times.

        The dictionary also contains the numbers of samples. Times are measured from the start of
        the motion. Start, switch and end are kinks of the velocity: intersections of the lines
        through two samples on either side.
        """
        n = len(self.goal)
        rows = np.array(self._states)
        t = (np.array(self._stamps) - self._stamps[0]) * 1e-9
        q, v = rows[:, :n], rows[:, n : 2 * n]
        summary = {
            "samples": len(t),
            "missed_samples": missed_samples(t),
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
        """Return the time of the largest velocity kink within two samples of index `near`, s."""
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


class MotionMonitor:
    """Measures a planned motion until the arm has settled, or until a timeout.

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
        self._node, self._robot, self._finish = node, robot, finish
        self._log = MotionLog(finite_vector("parameter 'goal'", parameters.goal, robot.n))
        self._rest, self._patience = parameters.rest, parameters.patience
        self._requested, self.progress = False, Progress()
        self._plan: tuple[int, float] | None = None
        self._status: dict[str, str] = {}
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        node.create_subscription(JointTrajectory, "bang_bang_planner/plan", self._on_plan, LATCHED)
        node.create_subscription(
            DiagnosticStatus, "bang_bang_planner/status", self._on_status, LATCHED
        )
        self._start = node.create_client(Trigger, "bang_bang_planner/plan")
        node.create_timer(0.1, self._request_start)

    def _request_start(self) -> None:
        """Start the motion after the first state has arrived, so that no sample is missed."""
        if self._requested or not self._log.count or not self._start.service_is_ready():
            return
        self._requested = True
        self._start.call_async(Trigger.Request()).add_done_callback(self._on_response)

    def _on_response(self, future: Any) -> None:
        response = future.result()
        self._requested = response.success
        if not response.success:
            self._node.get_logger().info(f"the planner does not start yet: {response.message}")

    def _on_plan(self, message: JointTrajectory) -> None:
        final = to_nanoseconds(message.points[-1].time_from_start)
        self._plan = (to_nanoseconds(message.header.stamp), 1e-9 * final)

    def _on_status(self, message: DiagnosticStatus) -> None:
        self._status = {pair.key: pair.value for pair in message.values}
        if self._status.get("code") == "no_plan":
            self._node.get_logger().error(message.message)
            self._node.context.try_shutdown()

    def _on_joints(self, message: JointState) -> None:
        self.progress.message_received()
        stamp = to_nanoseconds(message.header.stamp)
        fields = ("position", "velocity", "effort")
        self._log.add(stamp, *(in_joint_order(message, self._robot, field) for field in fields))
        if self._plan is None:
            return
        start, final = self._plan
        t = (stamp - start) * 1e-9
        self.progress(t / (final + self._rest))
        settled = (self._log.settled_ns - start) * 1e-9
        timed_out = t >= final + self._rest + self._patience
        if timed_out or t >= max(final, settled) + self._rest:
            self._finish(self._log.summary() | self._comparison(final, settled))

    def _comparison(self, final: float, settled: float) -> dict[str, Any]:
        return {
            "planned_final_time_s": final,
            "settled_time_s": settled,
            "extra_time_s": settled - final,
            "new_motions": int(self._status.get("returns", 0)),
            "log_sha256": self._log.digest(),
        }


@dataclass
class FreeLog:
    """States of a motion without commands that starts at simulated time zero.

    Attributes:
        goal: Expected final positions (n,), rad or m.
        duration: Simulated duration of the motion, s.
    """

    goal: Vector
    duration: float
    _rows: dict[int, Vector] = field(default_factory=dict)

    def add(self, stamp_ns: int, q: Vector, v: Vector) -> None:
        """Add positions and velocities (n,), unless the stamp is after the end."""
        if stamp_ns <= round(self.duration * 1e9):
            self._rows[stamp_ns] = np.concatenate([q, v])

    @property
    def fraction(self) -> float:
        """Fraction of the motion that was received; 0 if the start was missed."""
        return max(self._rows) * 1e-9 / self.duration if 0 in self._rows else 0.0

    def summary(self) -> dict[str, float]:
        """Return the final position error, the largest joint speed and the numbers of samples."""
        n = len(self.goal)
        t = np.array(sorted(self._rows)) * 1e-9
        rows = np.array([self._rows[stamp] for stamp in sorted(self._rows)])
        return {
            "samples": len(t),
            "missed_samples": missed_samples(t),
            "duration_s": float(t[-1]),
            "final_position_error": float(np.abs(rows[-1, :n] - self.goal).max()),
            "max_velocity": float(np.abs(rows[:, n:]).max()),
        }


class FreeMonitor:
    """Measures a motion of the simulator without commands.

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
        goal = finite_vector("parameter 'goal'", parameters.goal, robot.n)
        self._log = FreeLog(goal, parameters.duration)
        self._requested, self.progress = False, Progress()
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        self._reset = node.create_client(Trigger, "simulator/reset")

    def _on_joints(self, message: JointState) -> None:
        """Reset the simulator, because the start may have been missed, then log the states."""
        self.progress.message_received()
        if not self._requested:
            if self._reset.service_is_ready():
                self._requested = True
                self._reset.call_async(Trigger.Request())
            return
        q, v = (in_joint_order(message, self._robot, field) for field in ("position", "velocity"))
        stamp = to_nanoseconds(message.header.stamp)
        if stamp == 0:
            self._log = FreeLog(self._log.goal, self._log.duration)
        self._log.add(stamp, q, v)
        self.progress(self._log.fraction)
        if self._log.fraction >= 1.0:
            self._finish(self._log.summary())

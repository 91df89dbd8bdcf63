"""Measures a motion of planner and simulator from rest to rest; asks the planner to begin it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import finite_vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.joints import by_name
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE, LATCHED
from manip_dyn.ros.monitors.motion_log import MotionLog
from manip_dyn.ros.monitors.report import Progress
from manip_dyn.ros.parameters.monitor import MonitorParameters


class MotionMonitor:
    """Listens to the arm until it has settled, or has had its time.

    Attributes:
        progress: What was heard so far.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: MonitorParameters,
        finish: Callable[[dict[str, Any]], None],
    ):
        """Subscribe; `finish` takes the summary."""
        self._node, self._robot, self._finish = node, robot, finish
        self._log = MotionLog(finite_vector("parameter 'goal'", parameters.goal, robot.n))
        self._rest, self._patience = parameters.rest, parameters.patience
        self._asked, self.progress = False, Progress()
        self._planned: tuple[int, float] | None = None
        self._said: dict[str, str] = {}
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        node.create_subscription(JointTrajectory, "bang_bang_planner/plan", self._on_plan, LATCHED)
        node.create_subscription(
            DiagnosticStatus, "bang_bang_planner/status", self._on_status, LATCHED
        )
        self._start = node.create_client(Trigger, "bang_bang_planner/plan")
        node.create_timer(0.1, self._ask_for_start)

    def _ask_for_start(self) -> None:
        """Start the motion once its first state was heard, so that no sample is missed."""
        if self._asked or not self._log.count or not self._start.service_is_ready():
            return
        self._asked = True
        self._start.call_async(Trigger.Request()).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        self._asked = answer.success
        if not answer.success:
            self._node.get_logger().info(f"the planner does not start yet: {answer.message}")

    def _on_plan(self, message: JointTrajectory) -> None:
        final = to_nanoseconds(message.points[-1].time_from_start)
        self._planned = (to_nanoseconds(message.header.stamp), 1e-9 * final)

    def _on_status(self, message: DiagnosticStatus) -> None:
        """End with the planner's own words where there is no plan to wait for."""
        self._said = {pair.key: pair.value for pair in message.values}
        if self._said.get("code") == "no_plan":
            self._node.get_logger().error(message.message)
            self._node.context.try_shutdown()

    def _on_joints(self, message: JointState) -> None:
        self.progress.heard()
        stamp = to_nanoseconds(message.header.stamp)
        fields = ("position", "velocity", "effort")
        self._log.add(stamp, *(by_name(message, self._robot, field) for field in fields))
        if self._planned is None:
            return
        start, final = self._planned
        t = (stamp - start) * 1e-9
        self.progress(t / (final + self._rest))
        settled = (self._log.settled_ns - start) * 1e-9
        late = t >= final + self._rest + self._patience
        if late or t >= max(final, settled) + self._rest:
            self._finish(self._log.summary() | self._cost(final, settled))

    def _cost(self, final: float, settled: float) -> dict[str, Any]:
        """Return what the motion took beyond its plan."""
        return {
            "planned_final_time_s": final,
            "settled_time_s": settled,
            "extra_time_s": settled - final,
            "new_motions": int(self._said.get("returns", 0)),
            "log_sha256": self._log.digest(),
        }

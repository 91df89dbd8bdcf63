"""The monitor node: a subscriber of its own process that measures a run from its topics.

It prints one JSON object per line on standard output: ``ready``, ``progress`` and ``summary``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.clik import Pose
from manip_dyn.demo.measure import FreeLog, MotionLog, TrackingLog, first_whole_round
from manip_dyn.nodes import messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.parameters import NUMBERS, Parameter, declare
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS
from manip_dyn.nodes.run import run
from manip_dyn.validate import finite_vector

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("measure", "motion", "What to measure", choices=("tracking", "free", "motion")),
    Parameter("goal", NUMBERS, "Where the motion should end, in joint order", "rad or m"),
    Parameter("settle", 5.0, "Path time after which errors count as steady", "s", 0.0, 1e6),
    Parameter("duration", 0.0, "Time to measure; 0: the path, one round of it", "s", 0.0, 1e6),
    Parameter("patience", 6.0, "Time beyond that for an arm that does not rest", "s", 0.0, 1e3),
    Parameter("rest", 0.2, "Time for which the arm must have settled at the end", "s", 0.0, 1e3),
)


class MonitorNode(SetUpNode):
    """Chooses what to measure; the measuring itself is in `manip_dyn.demo.measure`."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("monitor", **options)

    def set_up(self) -> None:
        """Declare parameters, subscribe and tell that it is ready."""
        values = declare(self, PARAMETERS)
        self._robot = messages.load_robot_from_parameters(values)
        self._pacing: dict[str, dict[str, str]] = {}
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        getattr(self, f"_measure_{values['measure']}")(values)
        tell(ready=True)

    # ---------------------------------------------------------------- tracking
    def _measure_tracking(self, values: dict[str, Any]) -> None:
        self._log = TrackingLog(self._robot, values["settle"])
        self._duration = values["duration"]
        self._joints: dict[int, list[np.ndarray]] = {}
        self._desired: dict[int, Pose] = {}
        self._path: tuple[int, float] | None = None
        self._begin: float | None = None
        self._told, self._done = 0.0, False
        depth = messages.EVERY_MESSAGE
        self.create_subscription(JointState, "joint_states", self._on_tracked_joints, depth)
        self.create_subscription(PoseStamped, "clik_tracker/desired_pose", self._on_desired, depth)
        self.create_subscription(
            Path, "clik_tracker/desired_path", self._on_desired_path, messages.LATCHED
        )

    def _on_desired_path(self, message: Path) -> None:
        first, last = (messages.to_nanoseconds(message.poses[i].header.stamp) for i in (0, -1))
        self._path = (first, self._duration or (last - first) * 1e-9)

    def _on_tracked_joints(self, message: JointState) -> None:
        stamp = messages.to_nanoseconds(message.header.stamp)
        self._joints[stamp] = [
            messages.by_name(message, self._robot, field) for field in ("position", "velocity")
        ]
        self._match(stamp)

    def _on_desired(self, message: PoseStamped) -> None:
        p, o = message.pose.position, message.pose.orientation
        rotation = Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix()
        stamp = messages.to_nanoseconds(message.header.stamp)
        self._desired[stamp] = Pose(np.array([p.x, p.y, p.z]), rotation)
        self._match(stamp)

    def _match(self, newest: int) -> None:
        """Log what was heard on both topics, once the path is known."""
        if self._path is None or self._done:
            return
        origin, duration = self._path
        stamps = [newest] if self._log.duration else sorted(self._joints)
        for stamp in stamps:
            if stamp in self._joints and stamp in self._desired:
                pose, state = self._desired.pop(stamp), self._joints.pop(stamp)
                t = (stamp - origin) * 1e-9
                if self._begin is None:
                    self._begin = first_whole_round(t, duration)
                if t >= self._begin:
                    self._log.add(t, *state, pose)
        tell_progress = self._log.duration / duration
        if tell_progress >= self._told + 0.01:
            self._told = tell_progress
            tell(progress=min(tell_progress, 1.0))
        if self._log.duration >= duration:
            self._done = True
            digest = {"round_s": duration, "log_sha256": self._log.digest()}
            self._finish(self._log.summary() | digest)

    # ------------------------------------------------------------------ motion
    def _measure_motion(self, values: dict[str, Any]) -> None:
        goal = finite_vector("parameter 'goal'", values["goal"], self._robot.n)
        self._motion = MotionLog(goal)
        self._rest, self._patience = values["rest"], values["patience"]
        self._asked = False
        self._planned: tuple[int, float] | None = None
        self._told: dict[str, str] = {}
        depth = messages.EVERY_MESSAGE
        self.create_subscription(JointState, "joint_states", self._on_moving_joints, depth)
        self.create_subscription(
            JointTrajectory, "bang_bang_planner/plan", self._on_plan, messages.LATCHED
        )
        self.create_subscription(
            DiagnosticStatus, "bang_bang_planner/status", self._on_status, messages.LATCHED
        )
        self._start = self.create_client(Trigger, "bang_bang_planner/plan")
        self.create_timer(0.1, self._ask_for_start)

    def _ask_for_start(self) -> None:
        """Start the motion once its first state was heard, so that no sample is missed."""
        if self._asked or not self._motion.count or not self._start.service_is_ready():
            return
        self._asked = True
        self._start.call_async(Trigger.Request()).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        self._asked = answer.success
        if not answer.success:
            self.get_logger().info(f"the planner does not start yet: {answer.message}")

    def _on_plan(self, message: JointTrajectory) -> None:
        start = messages.to_nanoseconds(message.header.stamp)
        self._planned = (start, 1e-9 * messages.to_nanoseconds(message.points[-1].time_from_start))

    def _on_status(self, message: DiagnosticStatus) -> None:
        """End with the planner's own words where there is no plan to wait for."""
        self._told = {pair.key: pair.value for pair in message.values}
        if self._told.get("code") == "no_plan":
            self.get_logger().error(message.message)
            self.context.try_shutdown()

    def _on_moving_joints(self, message: JointState) -> None:
        stamp = messages.to_nanoseconds(message.header.stamp)
        state = [
            messages.by_name(message, self._robot, field)
            for field in ("position", "velocity", "effort")
        ]
        self._motion.add(stamp, *state)
        if self._planned is None:
            return
        start, final = self._planned
        t = (stamp - start) * 1e-9
        tell(progress=min(t / (final + self._rest), 1.0))
        settled = (self._motion.settled_ns - start) * 1e-9
        late = t >= final + self._rest + self._patience
        if late or t >= max(final, settled) + self._rest:
            self._finish(self._motion.summary() | self._cost(final, settled))

    def _cost(self, final: float, settled: float) -> dict[str, Any]:
        """Return what the motion took beyond its plan."""
        return {
            "planned_final_time_s": final,
            "settled_time_s": settled,
            "extra_time_s": settled - final,
            "new_motions": int(self._told.get("returns", 0)),
            "log_sha256": self._motion.digest(),
        }

    # -------------------------------------------------------------------- free
    def _measure_free(self, values: dict[str, Any]) -> None:
        goal = finite_vector("parameter 'goal'", values["goal"], self._robot.n)
        self._free = FreeLog(goal, values["duration"])
        self._asked = False
        self.create_subscription(
            JointState, "joint_states", self._on_free_joints, messages.EVERY_MESSAGE
        )
        self._reset = self.create_client(Trigger, "simulator/reset")

    def _on_free_joints(self, message: JointState) -> None:
        """Start the motion anew once a state was heard, so that no sample is missed."""
        if not self._asked:
            if self._reset.service_is_ready():
                self._asked = True
                self._reset.call_async(Trigger.Request())
            return
        state = [messages.by_name(message, self._robot, each) for each in ("position", "velocity")]
        stamp = messages.to_nanoseconds(message.header.stamp)
        if stamp == 0:
            self._free = FreeLog(self._free.goal, self._free.duration)
        self._free.add(stamp, *state)
        tell(progress=self._free.fraction)
        if self._free.fraction >= 1.0:
            self._finish(self._free.summary())

    # --------------------------------------------------------------------- end
    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        space = self.get_namespace().strip("/")
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name.startswith(space) and "mean rate [Hz]" in values:
                self._pacing[status.name.rpartition("/")[2]] = values

    def _finish(self, summary: dict[str, Any]) -> None:
        for node, values in sorted(self._pacing.items()):
            summary[f"{node}_rate_hz"] = float(values["mean rate [Hz]"])
            summary[f"{node}_p99_period_error_s"] = float(values["p99 period error [s]"])
        tell(summary=summary)
        self.context.try_shutdown()


def tell(**content: Any) -> None:
    """Print one JSON line for whoever started the monitor."""
    print(json.dumps(content), flush=True)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())

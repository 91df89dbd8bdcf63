"""The bang-bang planner node: plans a rest-to-rest motion and drives the arm through it."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.parameters import NUMBERS, Parameter, declare
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS
from manip_dyn.nodes.run import run
from manip_dyn.planning import Plan, PlanExecutor, Segment, plan_zero_net_work
from manip_dyn.validate import finite_vector

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("method", "zero_net_work", "How to plan", choices=("zero_net_work",)),
    Parameter("goal", NUMBERS, "Goal of all joints, in joint order; not set: wait for ~/goal",
              "rad or m"),
    Parameter("autostart", True, "Start towards the parameter goal as soon as the arm is heard"),
    Parameter("control_period", 1e-3, "Time between joint states", "s", 1e-6, 10.0),
    Parameter("transport_delay", 0.0, "Time that a command needs to act, added to what is planned "
              "ahead", "s", 0.0, 1.0),
    Parameter("switching", "exact", "exact: a switch inside a period goes to the effort "
              "trajectory topic at its exact time; sampled: to the command topic as the mean "
              "effort of the period", choices=("exact", "sampled")),
    Parameter("stiffness", 100.0, "Position feedback of held joints", "1/s^2", 0.0, 1e6),
    Parameter("damping", 20.0, "Velocity feedback of held joints", "1/s", 0.0, 1e6),
    Parameter("state_timeout", 1.0, "Wall time without joint states after which a motion is given "
              "up; 0: never", "s", 0.0, 1e6),
    Parameter("hold_duration", 0.0, "Time after arrival for which the goal is held by feedback; "
              "0: for good", "s", 0.0, 1e6),
    Parameter("rest_speed", 1e-3, "Joint speed up to which the arm counts as resting", "rad/s or "
              "m/s", 0.0, 10.0),
    Parameter("command_topic", "simulator/commands", "Where effort commands go"),
    Parameter("effort_trajectory_topic", "simulator/effort_trajectory", "Where switches inside a "
              "period go"),
)  # fmt: skip


class BangBangPlannerNode(SetUpNode):
    """Plans on ~/goal and answers every joint state with a command while it executes."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("bang_bang_planner", **options)

    def set_up(self) -> None:
        """Declare parameters, load the robot and wait for joint states."""
        self._values = declare(self, PARAMETERS)
        self._robot = messages.load_robot_from_parameters(self._values)
        self._goal = self._parameter_goal()
        self._awaiting_start = self._goal is not None and self._values["autostart"]
        self._executor: PlanExecutor | None = None
        self._measured: tuple[int, np.ndarray, np.ndarray] | None = None
        self._dropped = 0
        self._connect()
        self._set_status(diagnostics.OK, "waiting", "no joint states yet")

    def _connect(self) -> None:
        values = self._values
        self._commands = self.create_publisher(
            Float64MultiArray, values["command_topic"], messages.EVERY_MESSAGE
        )
        self._switches = self.create_publisher(
            JointTrajectory, values["effort_trajectory_topic"], messages.EVERY_MESSAGE
        )
        self._plans = self.create_publisher(JointTrajectory, "~/plan", messages.LATCHED)
        self._statuses = self.create_publisher(DiagnosticStatus, "~/status", messages.LATCHED)
        # Only the newest state: a queue would be a delay in the loop. Lockstep sends no second
        # one before the first is answered.
        self.create_subscription(
            JointState, "joint_states", self._on_joint_state, messages.NEWEST_ONLY
        )
        self.create_subscription(JointState, "~/goal", self._on_goal, 10)
        self.create_service(Trigger, "~/plan", self._on_plan)
        self.create_service(Trigger, "~/abort", self._on_abort)
        diagnostics.publish_every_second(self, lambda: self._status)
        self._heard_at = time.monotonic()
        self.create_timer(0.1, self._watch)

    def _parameter_goal(self) -> np.ndarray | None:
        goal = self._values["goal"]
        if not len(goal):
            return None
        goal = finite_vector("parameter 'goal'", goal, self._robot.n)
        self._robot.check_within_limits("goal", goal)
        return goal

    def _watch(self) -> None:
        """Give up when the arm is not heard any more: its next state may be any."""
        silence = time.monotonic() - self._heard_at
        if silence > self._values["state_timeout"] > 0.0:
            self._give_up(f"no joint states for {silence:.1f} s")

    def _give_up(self, reason: str) -> None:
        if self._executor is not None:
            self._executor = None
            self._set_status(diagnostics.ERROR, "lost", f"gave up: {reason}")

    # ------------------------------------------------------------------- input
    def _on_joint_state(self, message: JointState) -> None:
        try:
            q = messages.by_name(message, self._robot, "position")
            v = messages.by_name(message, self._robot, "velocity")
        except ManipDynError as error:
            self._dropped += 1
            self.get_logger().warning(f"dropped: {error}", throttle_duration_sec=1.0)
            return
        stamp = messages.to_nanoseconds(message.header.stamp)
        self._heard_at = time.monotonic()
        if self._measured is not None and stamp < self._measured[0]:
            self._give_up("time went back: the arm was reset")
        if self._measured is None:
            self._set_status(diagnostics.OK, "idle", "waiting for a goal")
        elif stamp == self._measured[0]:
            # Repeated while time stands still: only a start can be waiting for it.
            self._start_when_connected()
            return
        self._measured = (stamp, q, v)
        if self._executor is None:
            self._start_when_connected()
        else:
            self._control()

    def _on_goal(self, message: JointState) -> None:
        try:
            goal = self._goal_from(message)
            self._begin(goal)
        except ManipDynError as error:
            self._refuse(error)

    def _goal_from(self, message: JointState) -> np.ndarray:
        """Return the goal of all joints; those that the message leaves out stay where they are."""
        if self._measured is None:
            raise ManipDynError("a goal came before any joint state; expected the arm to be heard")
        if len(message.position) != len(message.name) or not message.name:
            raise ManipDynError(
                f"goal has {len(message.name)} names and {len(message.position)} positions; "
                "expected as many of both, at least one"
            )
        goal = self._measured[1].copy()
        for name, position in zip(message.name, message.position, strict=True):
            if name not in self._robot.joint_names:
                hint = closest(name, self._robot.joint_names)
                raise ManipDynError(f"goal has the unknown joint '{name}'{hint}")
            goal[self._robot.index(name)] = position
        return finite_vector("goal", goal, self._robot.n)

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        try:
            if self._goal is None:
                raise ManipDynError("there is no goal; expected one on ~/goal before ~/plan")
            self._begin(self._goal)
        except ManipDynError as error:
            self._refuse(error)
        response.success = self._state == "executing"
        response.message = self._status.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        self._awaiting_start = False
        if self._executor is None:
            response.message = "nothing is being executed"
            return response
        try:
            q = self._measured[1]
            self._execute(self._executor_of(plan_zero_net_work(self._robot, q, q)))
            self._set_status(diagnostics.WARN, "aborted", "aborted: stopping and holding")
        except ManipDynError as error:
            self._refuse(error)
        response.success, response.message = self._state == "aborted", self._status.message
        return response

    # --------------------------------------------------------------- execution
    def _start_when_connected(self) -> None:
        if self._awaiting_start and self._connected():
            self._awaiting_start = False
            try:
                self._begin(self._goal)
            except ManipDynError as error:
                self._refuse(error)

    def _connected(self) -> bool:
        topics = (self._commands, self._switches)
        needed = topics if self._values["switching"] == "exact" else topics[:1]
        return all(topic.get_subscription_count() > 0 for topic in needed)

    def _begin(self, goal: np.ndarray) -> None:
        if self._measured is None:
            raise ManipDynError("no joint state was heard; expected the arm on joint_states")
        stamp, q, v = self._measured
        if np.abs(v).max() > self._values["rest_speed"]:
            raise ManipDynError(
                f"the arm moves at up to {np.abs(v).max():.3g} rad/s or m/s; a new motion "
                f"expects it to rest (rest_speed {self._values['rest_speed']:g})"
            )
        if not self._connected():
            raise ManipDynError(
                f"nobody listens on {self._commands.topic_name}; expected a simulator or "
                "a controller"
            )
        plan = plan_zero_net_work(self._robot, q, goal)
        executor = self._executor_of(plan)
        self._goal = goal
        rows = plan.samples(self._values["control_period"])
        self._plans.publish(messages.trajectory_from(self._robot, stamp, rows))
        self._set_status(
            diagnostics.OK,
            "executing",
            f"executing: switch at {plan.t_switch:.6f} s, arrival at {plan.t_final:.6f} s",
            plan,
        )
        self._execute(executor)

    def _executor_of(self, plan: Plan) -> PlanExecutor:
        horizon = self._values["control_period"] + self._values["transport_delay"]
        return PlanExecutor(
            self._robot, plan, horizon, self._values["stiffness"], self._values["damping"]
        )

    def _execute(self, executor: PlanExecutor) -> None:
        """Begin to answer joint states with the efforts of a plan."""
        self._executor = executor
        self._committed: tuple[int, list[Segment]] | None = None
        self._began_ns, self._arrival_ns = self._measured[0], None
        self._control()

    def _control(self) -> None:
        stamp, q, v = self._measured
        if self._committed is not None and stamp < self._arrival_ns:
            self._publish_segments(*self._committed)
            return
        arrived_before = self._executor.arrived
        segments = self._executor.segments(q, v)
        if self._executor.arrived and not arrived_before:
            self._arrival_ns = stamp + round(segments[-1].offset * 1e9)
            self._committed = (stamp, segments)
            self._set_status(diagnostics.OK, "reached", self._arrival_sentence())
        hold = round(self._values["hold_duration"] * 1e9)
        if hold and self._arrival_ns is not None and stamp >= self._arrival_ns + hold:
            self._executor = None
            return
        self._publish_segments(stamp, segments)

    def _arrival_sentence(self) -> str:
        took = (self._arrival_ns - self._began_ns) * 1e-9
        return f"reached the goal after {took:.6f} s; holding it"

    def _publish_segments(self, stamp: int, segments: list[Segment]) -> None:
        if self._values["switching"] == "sampled":
            self._send(self._executor.mean_effort(segments, self._values["control_period"]))
        elif len(segments) == 1:
            self._send(segments[0].effort)
        else:
            self._switches.publish(messages.trajectory_from(self._robot, stamp, segments))

    def _send(self, effort: np.ndarray) -> None:
        self._commands.publish(Float64MultiArray(data=effort.tolist()))

    # ------------------------------------------------------------------ status
    def _refuse(self, error: ManipDynError) -> None:
        going_on = self._state == "executing"
        state, rest = ("executing", "; the motion goes on") if going_on else ("refused", "")
        self._set_status(diagnostics.WARN, state, f"refused: {error}{rest}")

    def _set_status(self, level: bytes, state: str, message: str, plan=None) -> None:
        self._state = state
        values: dict[str, object] = {"state": state, "dropped messages": self._dropped}
        if plan is not None:
            values |= {
                "switch time [s]": plan.t_switch,
                "switch position [rad or m]": float(plan.q_switch[plan.moving or 0]),
                "final time [s]": plan.t_final,
                "net work [J]": float(np.abs(plan.net_work).max()),
            }
        self._status = diagnostics.Report(level, message, values)
        self._statuses.publish(diagnostics.status_message(self, self._status))
        # Two calls: rclpy ties a line of code to one severity.
        if level == diagnostics.OK:
            self.get_logger().info(message)
        else:
            self.get_logger().warning(message)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(BangBangPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())

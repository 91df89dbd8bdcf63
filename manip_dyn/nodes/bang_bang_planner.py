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

from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.parameters import declare
from manip_dyn.nodes.planner_parameters import PARAMETERS, planner_from, tuning_from
from manip_dyn.nodes.prepared import Prepared, prepared
from manip_dyn.nodes.run import run
from manip_dyn.nodes.worker import Worker
from manip_dyn.planning import PlanExecutor, Segment, mean_effort
from manip_dyn.validate import Vector, finite_vector


class BangBangPlannerNode(SetUpNode):
    """Plans on ~/goal and answers every joint state with a command while it executes."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("bang_bang_planner", **options)

    def set_up(self) -> None:
        """Declare parameters, load the robot and wait for joint states."""
        self._values = declare(self, PARAMETERS)
        self._robot = messages.load_robot_from_parameters(
            self._values, "inverse_dynamics", "mass_matrix"
        )
        self._tuning = tuning_from(self._values)
        self._planner = planner_from(self._values)
        self._goal = self._parameter_goal()
        self._awaiting_start = self._goal is not None and self._values["autostart"]
        self._executor: PlanExecutor | None = None
        self._prepared: Prepared | None = None
        self._told: dict[str, object] = {}
        self._measured: tuple[int, Vector, Vector] | None = None
        self._dropped = 0
        self._worker = Worker(self, self._on_prepared)
        self._connect()
        self._set_status(diagnostics.OK, "waiting", "no_joint_states", "no joint states yet")

    def close(self) -> None:
        """Wait a little for the plan that is being made."""
        self._worker.close()

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

    def _parameter_goal(self) -> Vector | None:
        goal = self._values["goal"]
        if not len(goal):
            return None
        goal = finite_vector("parameter 'goal'", goal, self._robot.n)
        self._robot.check_within_limits("goal", goal)
        return goal

    def _watch(self) -> None:
        """Give up when the arm is not heard any more: its next state may be any."""
        silence = time.monotonic() - self._heard_at
        # While planning, compilation may have kept this node from listening.
        if silence > self._values["state_timeout"] > 0.0 and not self._worker.busy:
            self._give_up("silence", f"no joint states for {silence:.1f} s")

    def _give_up(self, code: str, reason: str) -> None:
        if self._executor is not None or self._worker.busy:
            self._executor = self._prepared = None
            self._worker.forget()
            self._set_status(diagnostics.ERROR, "lost", code, f"gave up: {reason}")

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
            self._give_up("time_went_back", "time went back: the arm was reset")
        if self._measured is None:
            self._set_status(diagnostics.OK, "idle", "", "waiting for a goal")
        elif stamp == self._measured[0]:
            # Repeated while time stands still: only a start can be waiting for it.
            self._start_when_connected()
            return
        self._measured = (stamp, q, v)
        if self._prepared is not None:
            self._execute(self._prepared)
        elif self._executor is None:
            self._start_when_connected()
        else:
            self._control()

    def _on_goal(self, message: JointState) -> None:
        if self._measured is None:
            sentence = "a goal came before any joint state; expected the arm to be heard"
            self._refuse("no_joint_states", ManipDynError(sentence))
            return
        try:
            self._begin(messages.goal_from(message, self._robot, self._measured[1]))
        except ManipDynError as error:
            self._refuse("bad_goal", error)

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        """Accept or refuse at once; ~/status tells what comes out."""
        if self._goal is None:
            error = ManipDynError("there is no goal; expected one on ~/goal before ~/plan")
            self._refuse("bad_goal", error)
        else:
            response.success = self._begin(self._goal)
        response.message = self._status.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        self._awaiting_start = False
        response.success = self._executor is not None or self._worker.busy
        if not response.success:
            response.message = "nothing is being executed"
            return response
        self._worker.forget()
        self._prepared = None
        text = "aborted: no plan is made any more"
        if self._executor is not None:
            self._executor.stop(*self._since_begin())
            text = "aborted: stopping and holding"
        self._set_status(diagnostics.WARN, "aborted", "aborted", text)
        response.message = text
        return response

    # --------------------------------------------------------------- planning
    def _start_when_connected(self) -> None:
        if self._awaiting_start and self._connected():
            self._awaiting_start = False
            self._begin(self._goal)

    def _connected(self) -> bool:
        topics = (self._commands, self._switches)
        needed = topics if self._values["switching"] == "exact" else topics[:1]
        return all(topic.get_subscription_count() > 0 for topic in needed)

    def _begin(self, goal: Vector) -> bool:
        """Begin to plan the motion to `goal` if it may begin at all; else say why not."""
        code, reason = self._hindrance()
        if code:
            self._refuse(code, ManipDynError(reason))
            return False
        start = self._measured[1]
        self._goal = goal
        self._set_status(diagnostics.OK, "planning", "", f"planning: {self._values['method']}")
        self._worker.start(lambda: self._prepare(start, goal))
        return True

    def _hindrance(self) -> tuple[str, str]:
        """Return what is in the way of a new motion, as a code and a sentence."""
        if self._measured is None:
            return "no_joint_states", "no joint state was heard; expected the arm on joint_states"
        fastest = float(np.abs(self._measured[2]).max())
        if fastest > self._values["rest_speed"]:
            return "arm_moves", (
                f"the arm moves at up to {fastest:.3g} rad/s or m/s; a new motion "
                f"expects it to rest (rest_speed {self._values['rest_speed']:g})"
            )
        if self._worker.busy or self._prepared is not None:
            return "busy", "a plan is being made; expected its end or ~/abort before a new goal"
        if not self._connected():
            return "nobody_listens", (
                f"nobody listens on {self._commands.topic_name}; expected a simulator or "
                "a controller"
            )
        return "", ""

    def _prepare(self, start: Vector, goal: Vector) -> Prepared:
        """Plan and sample; in the worker's thread, where it may take its time."""
        plan = self._planner(self._robot, start, goal)
        return prepared(self._robot, plan, self._values, self._tuning)

    def _on_prepared(self, result: Prepared | ManipDynError) -> None:
        if isinstance(result, ManipDynError):
            self._refuse("no_plan", result)
        elif self._executor is None:
            self._execute(result)
        else:
            # The held arm's last state is answered: a second command would be late by a period.
            self._prepared = result

    def _execute(self, result: Prepared) -> None:
        """Begin at the present state, which nothing has answered yet."""
        self._prepared = None
        stamp, plan = self._measured[0], result.executor.plan
        if result.executor.timed:
            stamp += round(1e9 * self._values["transport_delay"])
        self._plans.publish(messages.trajectory_from(self._robot, stamp, result.rows))
        self._told, self._executor = result.told, result.executor
        self._began_ns, self._returns = stamp, 0
        text = (
            f"executing: {self._values['method']}, {plan.status}, arrival at {plan.t_final:.6f} s"
        )
        self._set_status(diagnostics.OK, "executing", "", text)
        self._control()

    # --------------------------------------------------------------- execution
    def _since_begin(self) -> tuple[float, Vector, Vector]:
        stamp, q, v = self._measured
        return (stamp - self._began_ns) * 1e-9, q, v

    def _control(self) -> None:
        executor, (t, q, v) = self._executor, self._since_begin()
        segments = executor.segments(t, q, v)
        self._tell_progress()
        hold = self._values["hold_duration"]
        if hold and executor.arrived and t >= executor.arrival_time + hold:
            self._executor = None
            return
        self._publish_segments(segments)

    def _tell_progress(self) -> None:
        executor = self._executor
        if executor.returns > self._returns:
            self._returns = executor.returns
            text = "the plan no longer fits: a new motion leads to the goal"
            self._set_status(diagnostics.WARN, "executing", "off_plan", text)
        if executor.arrived and self._state == "executing":
            self._told |= {
                "arrival time [s]": executor.arrival_time,
                "extra time [s]": executor.extra_time,
                "returns": executor.returns,
            }
            text = (
                f"reached the goal after {executor.arrival_time:.6f} s, "
                f"{executor.extra_time:.6f} s beyond the plan; holding it"
            )
            self._set_status(diagnostics.OK, "reached", "", text)

    def _publish_segments(self, segments: list[Segment]) -> None:
        if self._values["switching"] == "sampled":
            self._send(mean_effort(segments, self._values["control_period"]))
        elif len(segments) == 1:
            self._send(segments[0].effort)
        else:
            stamp = self._measured[0]
            self._switches.publish(messages.trajectory_from(self._robot, stamp, segments))

    def _send(self, effort: Vector) -> None:
        self._commands.publish(Float64MultiArray(data=effort.tolist()))

    # ------------------------------------------------------------------ status
    def _refuse(self, code: str, error: ManipDynError) -> None:
        """Tell why; what goes on, goes on."""
        going_on = self._executor is not None and not self._executor.arrived
        state, rest = "refused", ""
        if going_on:
            state, rest = self._state, "; the motion goes on"
        elif self._worker.busy:
            state = "planning"
        self._set_status(diagnostics.WARN, state, code, f"refused: {error}{rest}")

    def _set_status(self, level: bytes, state: str, code: str, message: str) -> None:
        self._state = state
        values = {"state": state, "code": code, "dropped messages": self._dropped, **self._told}
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

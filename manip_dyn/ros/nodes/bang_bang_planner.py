"""The bang-bang planner node: plans a rest-to-rest motion and drives the arm through it."""

from __future__ import annotations

import sys
import time

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.messages import diagnostics, joints
from manip_dyn.ros.messages.efforts import trajectory_from
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import LATCHED, NEWEST_ONLY
from manip_dyn.ros.parameters.bang_bang_planner import (
    BangBangPlannerParameters,
    goal_from,
    planner_from,
    tuning_from,
)
from manip_dyn.ros.parameters.declare import declare
from manip_dyn.ros.parameters.robot import robot_from
from manip_dyn.ros.planner.effort_topics import EffortTopics
from manip_dyn.ros.planner.hindrance import Hindrance, hindrance
from manip_dyn.ros.planner.measured import Measured
from manip_dyn.ros.planner.planned_motion import PlannedMotion
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.runtime.run import run
from manip_dyn.ros.runtime.worker import Worker


class BangBangPlannerNode:
    """Plans on ~/goal and answers every joint state with a command while it executes."""

    name = "bang_bang_planner"

    def __init__(self, node: Node):
        """Declare parameters, load the robot and wait for joint states."""
        self.node = node
        self._parameters = parameters = declare(node, BangBangPlannerParameters)
        self._robot = robot_from(parameters, "inverse_dynamics", "mass_matrix")
        self._plan = planner_from(parameters)
        tuning_from(parameters)  # refuses what is bad at the start
        self._goal = goal_from(parameters, self._robot)
        self._awaiting_start = self._goal is not None and parameters.autostart
        self._motion: PlannedMotion | None = None
        self._prepared: PlannedMotion | None = None
        self._measured: Measured | None = None
        self._heard_at = time.monotonic()
        self._efforts = EffortTopics(node, self._robot, parameters)
        self._plans = node.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self._status = PlannerStatus(node, self._robot.name)
        self._status.tell(diagnostics.OK, "waiting", "no_joint_states", "no joint states yet")
        self._worker = Worker(node, self._on_prepared)
        # Lockstep sends no second state before the first is answered.
        node.create_subscription(JointState, "joint_states", self._on_joint_state, NEWEST_ONLY)
        node.create_subscription(JointState, "~/goal", self._on_goal, 10)
        node.create_service(Trigger, "~/plan", self._on_plan)
        node.create_service(Trigger, "~/abort", self._on_abort)
        diagnostics.publish_every_second(node, lambda: self._status.report, self._robot.name)
        node.create_timer(0.1, self._watch)

    def close(self) -> None:
        """Wait a little for the plan that is being made."""
        self._worker.close()

    # ------------------------------------------------------------------- input
    def _on_joint_state(self, message: JointState) -> None:
        try:
            q = joints.by_name(message, self._robot, "position")
            v = joints.by_name(message, self._robot, "velocity")
        except ManipDynError as error:
            self._status.drop(error)
            return
        measured = Measured(to_nanoseconds(message.header.stamp), q, v)
        self._heard_at = time.monotonic()
        before, self._measured = self._measured, measured
        if before is None:
            self._status.tell(diagnostics.OK, "idle", "", "waiting for a goal")
        elif measured.stamp_ns < before.stamp_ns:
            self._give_up("time_went_back", "time went back: the arm was reset")
        elif measured.stamp_ns == before.stamp_ns:
            # Repeated while time stands still: only a start can be waiting for it.
            self._start_when_connected()
            return
        if self._prepared is not None:
            self._execute(self._prepared, measured)
        elif self._motion is None:
            self._start_when_connected()
        else:
            self._control(self._motion, measured)

    def _watch(self) -> None:
        """Give up when the arm is not heard any more: its next state may be any."""
        silence = time.monotonic() - self._heard_at
        # While planning, compilation may have kept this node from listening.
        if silence > self._parameters.state_timeout > 0.0 and not self._worker.busy:
            self._give_up("silence", f"no joint states for {silence:.1f} s")

    def _give_up(self, code: str, reason: str) -> None:
        if self._motion is not None or self._worker.busy:
            self._motion = self._prepared = None
            self._worker.forget()
            self._status.tell(diagnostics.ERROR, "lost", code, f"gave up: {reason}")

    def _on_goal(self, message: JointState) -> None:
        if self._measured is None:
            sentence = "a goal came before any joint state; expected the arm to be heard"
            self._refuse("no_joint_states", sentence)
            return
        try:
            self._begin(joints.goal_from(message, self._robot, self._measured.q))
        except ManipDynError as error:
            self._refuse("bad_goal", error)

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        """Accept or refuse at once; ~/status tells what comes out."""
        if self._goal is None:
            self._refuse("bad_goal", "there is no goal; expected one on ~/goal before ~/plan")
        else:
            response.success = self._begin(self._goal)
        response.message = self._status.report.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        self._awaiting_start = False
        response.success = self._motion is not None or self._worker.busy
        if not response.success:
            response.message = "nothing is being executed"
            return response
        self._worker.forget()
        self._prepared = None
        response.message = "aborted: no plan is made any more"
        if self._motion is not None and self._measured is not None:
            self._motion.stop(self._measured)
            response.message = "aborted: stopping and holding"
        self._status.tell(diagnostics.WARN, "aborted", "aborted", response.message)
        return response

    # --------------------------------------------------------------- planning
    def _start_when_connected(self) -> None:
        if self._awaiting_start and self._goal is not None and self._efforts.connected():
            self._awaiting_start = False
            self._begin(self._goal)

    def _begin(self, goal: Vector) -> bool:
        """Begin to plan the motion to `goal` if it may begin at all; else say why not."""
        if self._measured is None:
            sentence = "no joint state was heard; expected the arm on joint_states"
            self._refuse("no_joint_states", sentence)
            return False
        hindered = self._hindrance(self._measured)
        if hindered is not None:
            self._refuse(*hindered)
            return False
        start, self._goal = self._measured.q, goal
        method = self._parameters.method
        self._status.tell(diagnostics.OK, "planning", "", f"planning: {method}")
        # In the worker's thread, where it may take its time.
        self._worker.start(
            lambda: PlannedMotion(
                self._robot, self._plan(self._robot, start, goal), self._parameters
            )
        )
        return True

    def _hindrance(self, measured: Measured) -> Hindrance | None:
        busy = self._worker.busy or self._prepared is not None
        rest_speed, efforts = self._parameters.rest_speed, self._efforts
        return hindrance(measured, rest_speed, busy, efforts.connected(), efforts.name)

    def _on_prepared(self, result: PlannedMotion | ManipDynError) -> None:
        if isinstance(result, ManipDynError):
            self._refuse("no_plan", result)
        elif self._motion is None and self._measured is not None:
            self._execute(result, self._measured)
        else:
            # The held arm's last state is answered: a second command would be late by a period.
            self._prepared = result

    # --------------------------------------------------------------- execution
    def _execute(self, motion: PlannedMotion, measured: Measured) -> None:
        """Begin at the present state, which nothing has answered yet."""
        self._prepared, self._motion = None, motion
        stamp = motion.begin(measured.stamp_ns)
        self._plans.publish(trajectory_from(self._robot, stamp, motion.rows))
        self._status.values = dict(motion.told)
        self._status.tell(diagnostics.OK, "executing", "", motion.beginning)
        self._control(motion, measured)

    def _control(self, motion: PlannedMotion, measured: Measured) -> None:
        segments = motion.segments(measured)
        if motion.returned():
            sentence = "the plan no longer fits: a new motion leads to the goal"
            self._status.tell(diagnostics.WARN, "executing", "off_plan", sentence)
        if motion.arrived and self._status.state == "executing":
            self._status.values |= motion.cost
            self._status.tell(diagnostics.OK, "reached", "", motion.end)
        if motion.is_over(measured):
            self._motion = None
        else:
            self._efforts.publish(measured.stamp_ns, segments)

    def _refuse(self, code: str, reason: object) -> None:
        """Tell why; what goes on, goes on."""
        state, rest = "refused", ""
        if self._motion is not None and not self._motion.arrived:
            state, rest = self._status.state, "; the motion goes on"
        elif self._worker.busy:
            state = "planning"
        self._status.tell(diagnostics.WARN, state, code, f"refused: {reason}{rest}")


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(BangBangPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())

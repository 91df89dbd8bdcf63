"""The bang-bang planner node: plans motions to goals and executes them on the arm."""

from __future__ import annotations

import sys
from collections.abc import Collection

from rclpy.node import Node
from std_srvs.srv import Trigger

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros import diagnostics
from manip_dyn.ros.diagnostics import joints_outside_limits
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory
from manip_dyn.ros.joint_states import estimate_values
from manip_dyn.ros.parameters.bang_bang_planner import (
    BangBangPlannerParameters,
    goal_from,
    planner_from,
    tuning_from,
)
from manip_dyn.ros.parameters.common import prepare, robot_from
from manip_dyn.ros.parameters.declaration import declare, on_change
from manip_dyn.ros.planner.arm_states import WATCH_PERIOD, ArmStates, Loss
from manip_dyn.ros.planner.commands import Commands
from manip_dyn.ros.planner.execution import Execution
from manip_dyn.ros.planner.goals import Goals
from manip_dyn.ros.planner.planning import Planning
from manip_dyn.ros.planner.planning_process.goal_postures import JointGoal
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.planner.trajectories import Trajectories
from manip_dyn.ros.recorded_topics import await_recorder
from manip_dyn.ros.robot_topics import with_description
from manip_dyn.ros.runtime.execution import announce, create_wall_timer, robot_summary, run


class BangBangPlannerNode:
    """Plans motions to goals. During a motion it publishes efforts for each joint state.

    Attributes:
        commands: Starts and stops motions to goals and along trajectories.
    """

    name = "bang_bang_planner"

    def __init__(self, node: Node):
        """Declare parameters, load the robot and wait for joint states."""
        self.node = node
        parameters = with_description(node, declare(node, BangBangPlannerParameters))
        self._robot = robot_from(parameters)
        rate = f"control at {1.0 / parameters.control_period:g} Hz"
        announce(node, robot_summary(self._robot), f"method {parameters.method}", rate)
        prepare(self._robot, "inverse_dynamics", "mass_matrix")
        tuning_from(parameters)  # raises for invalid parameters before the node starts
        planner_from(parameters)
        goal = goal_from(parameters, self._robot)
        self._status = PlannerStatus(node, self._robot.name)
        self._execution = Execution(
            node,
            self._robot,
            parameters,
            self._status,
            lambda: self._goals.show(),
            lambda: self._arm.valid_ns,
        )
        self._execution.goal = None if goal is None else JointGoal(goal)
        self._estimator = StateEstimator(self._robot, parameters.velocity_window)
        self._planning = Planning(
            node,
            self._robot,
            self._estimator,
            parameters,
            self._execution,
            self._status,
            lambda: self._arm.measured,
            self._reject,
        )
        self.commands = Commands(self._execution, self._planning, self._status, self._reject)
        self.commands.awaiting_start = goal is not None and parameters.autostart
        self._arm = ArmStates(
            node, self._robot, self._estimator, parameters, self._on_state, self._status.drop
        )
        self._status.enter("waiting", "no_joint_states", topic=self._arm.topic)
        begin = self.commands.begin
        self._goals = Goals(node, self._robot, self._positions, begin, self._reject)
        trajectories = Trajectories(self.commands, self._robot, parameters, self._estimator)
        self._trajectories = FollowJointTrajectory(node, self._robot, trajectories)
        node.create_service(Trigger, "~/plan", self._on_plan)
        node.create_service(Trigger, "~/abort", self._on_abort)
        diagnostics.publish_every_second(node, self._report, self._robot.name)
        create_wall_timer(node, WATCH_PERIOD, self._watch)
        on_change(node, parameters, self._planning.use, _invalid_combination)
        await_recorder(node, parameters.await_recorder)

    def close(self) -> None:
        """Release the arm; end planning and the action server."""
        self._execution.release()
        self._planning.close()
        self._trajectories.close()

    # ------------------------------------------------------------------- input
    def _positions(self) -> Vector | None:
        return None if self._arm.measured is None else self._arm.measured.q

    def _on_state(self, before: MeasuredState | None, measured: MeasuredState) -> None:
        if before is None:
            self._goals.show()
            if self._status.state == "waiting":
                self._status.enter("idle")
        elif measured.stamp_ns == before.stamp_ns:
            # Time stands still, but a motion may be waiting for subscribers.
            self.commands.start_when_connected()
            return
        else:
            self._give_up(self._arm.loss(before, measured))
            self._execution.hold(self._arm.gap_ns(before, measured))
        self._planning.begin_due(measured)
        if self._execution.motion is None:
            self.commands.start_when_connected()
        else:
            self._planning.answer(measured)

    def _watch(self) -> None:
        """Give up the motion if joint states are missing, because the arm may be in any state."""
        self._planning.watch()
        # During planning, compilation may have delayed the callbacks of joint states.
        silence = 0.0 if self._planning.busy else self._arm.silence()
        if silence:
            self._give_up(Loss("silence", f"no joint states for {silence:.1f} s"))
            if self._status.state != "lost":
                self._status.enter("waiting", "silence", silence=silence)

    def _give_up(self, loss: Loss | None) -> None:
        """Stop commanding the arm. A safe command, such as the simulator's brake, then stops it.

        The state becomes "lost" if a motion or planning was in progress.
        """
        if loss is None:
            return
        lost = self._planning.under_way or self._execution.under_way
        holding = self._execution.motion is not None
        self._execution.forget()
        self._planning.forget()
        self._status.values = {}
        self._goals.show()
        if lost:
            self._status.enter("lost", loss.code, reason=loss.reason)
        elif holding and self._arm.measured is not None:
            self._status.enter("idle", loss.code, reason=loss.reason)

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        """Accept or reject the goal without waiting for the plan; ~/status reports the plan."""
        goal = self._execution.goal
        if goal is None:
            self._reject("bad_goal", "there is no goal; publish one on ~/goal before ~/plan")
        else:
            response.success = self.commands.begin(goal)
        response.message = self._status.report.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.commands.halt()
        response.message = "nothing is being executed"
        if response.success:
            response.message = self._status.report.message
        return response

    def _reject(self, code: str, reason: object) -> None:
        """Report the rejection of a goal. A current motion or planning continues."""
        state, motion, text = "", self._execution.motion, str(reason)
        if motion is not None and not motion.arrived:
            state, text = self._status.state, f"{text.removesuffix('.')}; the motion continues"
        elif self._planning.busy:
            state = "planning"
        self._status.enter("refused", code, state, reason=text)

    def _report(self) -> diagnostics.Report:
        """Return the status, or a current problem that is at least as severe."""
        q, efforts = self._positions(), self._execution.efforts
        outside = "" if q is None else joints_outside_limits(self._robot, q)
        standing = self._arm.standing() if self._execution.motion is not None else 0.0
        report = self._status.overlaid(outside, efforts.others(), efforts.name, standing)
        return report._replace(values=report.values | estimate_values(self._estimator))


def _invalid_combination(parameters: BangBangPlannerParameters, _changed: Collection[str]) -> str:
    try:
        planner_from(parameters)
    except ManipDynError as error:
        return str(error)
    return ""


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(BangBangPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())

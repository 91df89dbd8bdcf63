"""The bang-bang planner node: plans motions to goals and executes them on the arm."""

from __future__ import annotations

import sys
from collections.abc import Collection

from rclpy.node import Node
from std_srvs.srv import Trigger

from manip_dyn.collision import Scene
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros import diagnostics
from manip_dyn.ros.diagnostics import joints_outside_limits
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory
from manip_dyn.ros.joint_states import estimate_values
from manip_dyn.ros.parameters.bang_bang_planner import (
    BangBangPlannerParameters,
    check_delay,
    goal_from,
    planner_from,
    tuning_from,
)
from manip_dyn.ros.parameters.common import prepare, robot_from, scene_from
from manip_dyn.ros.parameters.declaration import declare, on_change
from manip_dyn.ros.planner.arm_interface import WATCH_PERIOD
from manip_dyn.ros.planner.goals import Goals, Trajectories
from manip_dyn.ros.planner.planning_process.task import JointGoal
from manip_dyn.ros.planner.state_machine import PlannerStateMachine
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.recorded_topics import await_recorder
from manip_dyn.ros.robot_topics import with_description
from manip_dyn.ros.runtime.execution import announce, create_wall_timer, robot_summary, run
from manip_dyn.ros.runtime.subscriptions import REQUESTS
from manip_dyn.ros.scene_markers import SceneMarkers
from manip_dyn.ros.scene_topic import SceneTopic


class BangBangPlannerNode:
    """Plans motions to goals. During a motion it publishes efforts for each joint state.

    Attributes:
        machine: Starts, executes and stops motions to goals and along trajectories.
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
        check_delay(parameters)
        scene = scene_from(parameters)
        self._markers = scene and SceneMarkers(node, self._robot, scene, self._positions)
        goal = goal_from(parameters, self._robot)
        self._status = PlannerStatus(node, self._robot.name)
        self._estimator = StateEstimator(self._robot, parameters.velocity_window)
        self.machine = machine = PlannerStateMachine(
            node,
            self._robot,
            self._estimator,
            parameters,
            self._status,
            lambda: self._goals.show(),
        )
        machine.goal = None if goal is None else JointGoal(goal)
        machine.awaiting_start = goal is not None and parameters.autostart
        self._goals = Goals(node, self._robot, self._positions, machine.begin, machine.reject)
        machine.scene = scene
        self._scene_topic = scene and SceneTopic(
            node, self._robot, scene, self._positions, self.use_scene
        )
        trajectories = Trajectories(machine, self._robot, parameters, self._estimator)
        self._trajectories = FollowJointTrajectory(node, self._robot, trajectories)
        node.create_service(Trigger, "~/plan", self._on_plan, qos_profile=REQUESTS)
        node.create_service(Trigger, "~/abort", self._on_abort, qos_profile=REQUESTS)
        diagnostics.publish_every_second(node, self._report, self._robot.name)
        create_wall_timer(node, WATCH_PERIOD, machine.watch)
        if self._markers:
            self._markers.start()
        on_change(node, parameters, machine.use, _invalid_combination)
        await_recorder(node, parameters.await_recorder)

    def close(self) -> None:
        """Release the arm; end planning and the action server."""
        if self._markers:
            self._markers.close()
        self.machine.close()
        self._trajectories.close()

    def use_scene(self, scene: Scene) -> None:
        """Consider other objects around the arm from now on, and publish them."""
        self.machine.use_scene(scene)
        if self._markers:
            self._markers.use(scene)

    def _positions(self) -> Vector | None:
        measured = self.machine.measured
        return None if measured is None else measured.q

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        """Accept or reject the goal without waiting for the plan; ~/status reports the plan."""
        goal = self.machine.goal
        if goal is None:
            self.machine.reject(
                "bad_goal", "there is no goal; publish one on ~/goal before ~/plan"
            )
        else:
            response.success = self.machine.begin(goal)
        response.message = self._status.report.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.machine.halt()
        response.message = "nothing is being executed"
        if response.success:
            response.message = self._status.report.message
        return response

    def _report(self) -> diagnostics.Report:
        """Return the status, or a current problem that is at least as severe."""
        q, efforts = self._positions(), self.machine.efforts
        outside = "" if q is None else joints_outside_limits(self._robot, q)
        arm, moving = self.machine.arm, self.machine.moving
        self.machine.update_status()
        report = self._status.overlaid(
            outside=outside,
            others=efforts.others(),
            topic=efforts.name,
            standing=arm.standing() if moving else 0.0,
            delayed=arm.delayed() if moving else "",
        )
        measured = {"loop delay [s]": arm.loop_delay.seconds, "delay margin [s]": arm.margin}
        estimated = estimate_values(self._estimator)
        return report._replace(values=report.values | measured | estimated)


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

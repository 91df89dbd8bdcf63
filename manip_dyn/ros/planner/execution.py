"""Execution of motions: efforts are published for each joint state."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.trajectories import trajectory_from
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.braking_motion import BrakingMotion
from manip_dyn.ros.planner.effort_topics import EffortTopics
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planned_goal import PlannedGoal
from manip_dyn.ros.planner.planned_motion import PlannedMotion
from manip_dyn.ros.planner.planning_process.goal_postures import Goal, JointGoal
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.runtime.subscriptions import LATCHED

AnyMotion = PlannedMotion | FollowedMotion | BrakingMotion


class Execution:
    """Publishes efforts for every joint state while there is a motion.

    Attributes:
        motion: The current motion; None if the planner sends no commands.
        prepared: The motion that is executed next, or None.
        goal: The goal of the last executed plan. The node initializes it from the parameters.
        efforts: Publishers of the efforts.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        status: PlannerStatus,
        place_marker: Callable[[], None],
        valid_ns: Callable[[], int | None],
    ):
        """Create the publishers.

        Args:
            node: The node.
            robot: The arm.
            parameters: The planner's parameters.
            status: Reports the state of the planner.
            place_marker: Called when a motion has ended.
            valid_ns: Returns the time after the latest state at which its command ends, ns.
        """
        self._valid_ns = valid_ns
        self.motion: AnyMotion | None = None
        self.prepared: PlannedMotion | FollowedMotion | None = None
        self.goal: Goal | None = None
        self.efforts = EffortTopics(node, robot, parameters)
        self._plans = node.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self._robot, self._status, self._place_marker = robot, status, place_marker

    @property
    def under_way(self) -> bool:
        """Whether the arm has not arrived yet, or the next motion is prepared."""
        return self.prepared is not None or (self.motion is not None and not self.motion.arrived)

    def forget(self) -> None:
        """Stop sending commands."""
        self.motion = self.prepared = None

    def hold(self, duration_ns: int) -> None:
        """Delay the rest of the motion, if any, ns."""
        if self.motion is not None:
            self.motion.hold(duration_ns)

    def release(self) -> None:
        """Release the arm and stop sending commands, if a motion was in progress."""
        if self.motion is not None:
            self.forget()
            self.efforts.release()

    def begin(self, motion: PlannedMotion | FollowedMotion, measured: MeasuredState) -> None:
        """Begin a motion at the current state. The efforts are published by `answer`."""
        self.prepared, self.motion = None, motion
        stamp = motion.begin(measured)
        if isinstance(motion, PlannedMotion):
            self.goal = JointGoal(motion.goal)
            self._plans.publish(trajectory_from(self._robot, stamp, motion.rows))
        self._status.values = dict(motion.values)
        self._status.enter("executing", beginning=motion.beginning)

    def answer(
        self,
        measured: MeasuredState,
        goal: Goal | None,
        at_rest: Callable[[MeasuredState], None],
    ) -> None:
        """Publish the efforts of the motion for a state, and update the status.

        Args:
            measured: The state.
            goal: The goal of the current plan or motion.
            at_rest: Called with the state if the arm rests at the end of the motion.
        """
        motion = self.motion
        assert motion is not None
        segments = motion.segments(measured)
        if motion.arrived:
            at_rest(measured)
        if motion.returned() and self._status.code != "off_plan":
            self._status.enter(
                "executing", "off_plan"
            )  # once per plan; `returns` counts the motions
        if isinstance(motion, PlannedMotion) and motion.arrived:
            self._report_arrival(motion, goal)
        if isinstance(motion, PlannedMotion) and motion.missed:
            self._report_missed(motion)
        if isinstance(motion, FollowedMotion) and motion.outcome is not None:
            self._report_outcome(motion)
        if isinstance(motion, PlannedMotion) and isinstance(goal, PlannedGoal):
            goal.judge(motion, measured)
        awaited = isinstance(goal, PlannedGoal) and goal.outcome is None
        if motion.is_over(measured) and not awaited:
            self.motion = None
        else:
            self.efforts.publish(measured.stamp_ns, segments, self._valid_ns())

    def _report_outcome(self, motion: FollowedMotion) -> None:
        if self._status.state == "executing" and motion.outcome is not None:
            reason = motion.outcome.sentence
            if motion.reached:
                self._status.enter("reached", end=f"{reason} of the trajectory; holding it")
            else:
                self._status.enter("aborted", "aborted", reason=reason)
            self._place_marker()

    def _report_missed(self, motion: PlannedMotion) -> None:
        if self._status.state == "executing":
            self._status.enter("aborted", "not_reached", reason=motion.missed)
            self._place_marker()

    def _report_arrival(self, motion: PlannedMotion, goal: Goal | None) -> None:
        last = goal is None or goal is motion.purpose  # otherwise another motion follows
        if self._status.state == "executing" and last:
            self._status.values |= motion.cost
            self._status.enter("reached", end=motion.end)
            self._place_marker()

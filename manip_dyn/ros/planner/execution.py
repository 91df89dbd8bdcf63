"""Execution: one motion after another answers the arm's states with efforts."""

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
    """Answers every state while there is a motion.

    Attributes:
        motion: What is executed; without it nothing is commanded.
        prepared: What waits for its turn.
        goal: The goal of the last plan that was executed.
        efforts: Where efforts go.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        status: PlannerStatus,
        place_marker: Callable[[], None],
    ):
        """Make the publishers; the marker is placed when the arm has arrived."""
        self.motion: AnyMotion | None = None
        self.prepared: PlannedMotion | FollowedMotion | None = None
        self.goal: Goal | None = None
        self.efforts = EffortTopics(node, robot, parameters)
        self._plans = node.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self._robot, self._status, self._place_marker = robot, status, place_marker

    @property
    def under_way(self) -> bool:
        """Whether there is a motion that is not over, or one that waits."""
        return self.prepared is not None or (self.motion is not None and not self.motion.arrived)

    def forget(self) -> None:
        """Command no more."""
        self.motion = self.prepared = None

    def begin(self, motion: PlannedMotion | FollowedMotion, measured: MeasuredState) -> None:
        """Begin a motion at the present state, which is still to be answered."""
        self.prepared, self.motion = None, motion
        stamp = motion.begin(measured)
        if isinstance(motion, PlannedMotion):
            self.goal = JointGoal(motion.goal)
            self._plans.publish(trajectory_from(self._robot, stamp, motion.rows))
        self._status.values = dict(motion.told)
        self._status.tell("executing", beginning=motion.beginning)

    def answer(
        self,
        measured: MeasuredState,
        wanted: Goal | None,
        at_rest: Callable[[MeasuredState], None],
    ) -> None:
        """Answer a state by the motion.

        Args:
            measured: The state.
            wanted: What is planned for or led to.
            at_rest: Called if the motion has come to rest.
        """
        motion = self.motion
        assert motion is not None
        segments = motion.segments(measured)
        if motion.arrived:
            at_rest(measured)
        if motion.returned() and self._status.code != "off_plan":
            self._status.tell("executing", "off_plan")  # once; `returns` counts them
        if isinstance(motion, PlannedMotion) and motion.arrived:
            self._tell_arrival(motion, wanted)
        if isinstance(motion, PlannedMotion) and motion.missed:
            self._tell_missed(motion)
        if isinstance(motion, FollowedMotion) and motion.outcome is not None:
            self._tell_outcome(motion)
        if isinstance(motion, PlannedMotion) and isinstance(wanted, PlannedGoal):
            wanted.judge(motion, measured)
        awaited = isinstance(wanted, PlannedGoal) and wanted.outcome is None
        if motion.is_over(measured) and not awaited:
            self.motion = None
        else:
            self.efforts.publish(measured.stamp_ns, segments)

    def _tell_outcome(self, motion: FollowedMotion) -> None:
        if self._status.state == "executing" and motion.outcome is not None:
            reason = motion.outcome.sentence
            if motion.reached:
                self._status.tell("reached", end=f"{reason} of the trajectory; holding it")
            else:
                self._status.tell("aborted", "aborted", reason=reason)
            self._place_marker()

    def _tell_missed(self, motion: PlannedMotion) -> None:
        if self._status.state == "executing":
            self._status.tell("aborted", "not_reached", reason=motion.missed)
            self._place_marker()

    def _tell_arrival(self, motion: PlannedMotion, wanted: Goal | None) -> None:
        last = wanted is None or wanted is motion.purpose  # else another motion is to begin
        if self._status.state == "executing" and last:
            self._status.values |= motion.cost
            self._status.tell("reached", end=motion.end)
            self._place_marker()

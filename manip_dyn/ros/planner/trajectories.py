"""Joint trajectories for the planner: it follows several points, and plans to a single point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from manip_dyn.control.computed_torque import unstable_feedback
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_trajectory import Code, Outcome, RejectedTrajectoryError
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.robot import Robot
from manip_dyn.ros.follow_joint_trajectory import ActiveTrajectory, Progress
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planned_goal import Leader, PlannedGoal
from manip_dyn.ros.planner.planning_process.goal_postures import Goal


class Planner(Leader, Protocol):
    """Interface of the planner that trajectories use."""

    @property
    def motions(self) -> tuple[object, ...]:
        """The current motion and the prepared motion. Either may be None."""

    def trajectory_obstacle(self) -> str:
        """Return the reason why a trajectory cannot begin now, or ""."""

    def follow(self, motion: FollowedMotion) -> None:
        """Execute a trajectory in place of any other motion."""

    def plan_to(self, goal: Goal) -> None:
        """Plan a motion to a goal in place of any other motion."""


class FollowedTrajectory:
    """A trajectory that is followed without planning."""

    def __init__(self, planner: Planner, motion: FollowedMotion):
        """Store the planner and the motion."""
        self._planner, self._motion = planner, motion

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the trajectory; None before its end."""
        if self._motion not in self._planner.motions:
            self._motion.end(Outcome(Code.INVALID_GOAL, self._planner.message))
        return self._motion.outcome

    def stop(self, _outcome: Outcome) -> None:
        """Brake and hold the arm."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return the measured state and the reference, or None if either is unknown."""
        measured = self._planner.measured
        reference = None if measured is None else self._motion.reference(measured)
        if measured is None or reference is None:
            return None
        return Progress(measured.stamp_ns, *reference, measured.q, measured.v)


class Trajectories:
    """Starts trajectories on the planner; implements `TrajectoryFollower`."""

    def __init__(
        self,
        planner: Planner,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        estimator: StateEstimator,
    ):
        """Store the planner, its arm and the estimator of its states."""
        self._planner, self._robot, self._parameters = planner, robot, parameters
        self._estimator = estimator

    def check(self, goal: TrajectoryGoal, _info: Mapping[str, Any] | None = None) -> None:
        """Raise `RejectedTrajectoryError` if a trajectory may not begin now."""
        self._checked(goal)

    def begin(self, goal: TrajectoryGoal) -> ActiveTrajectory:
        """Follow a trajectory of several points, or plan a motion to its only point.

        Raises:
            RejectedTrajectoryError: If a trajectory may not begin now.
        """
        measured = self._checked(goal)
        if len(goal.waypoints) == 1:
            planned = PlannedGoal(self._planner, self._robot, goal, measured.stamp_ns)
            self._planner.plan_to(planned)
            return planned
        motion = FollowedMotion(self._robot, goal, self._parameters, self._estimator)
        self._planner.follow(motion)
        return FollowedTrajectory(self._planner, motion)

    def _checked(self, goal: TrajectoryGoal) -> MeasuredState:
        reason, measured = self._planner.trajectory_obstacle(), self._planner.measured
        gains = self._parameters.stiffness, self._parameters.damping
        reason = reason or unstable_feedback(*gains, self._parameters.control_period)
        if reason or measured is None:
            raise RejectedTrajectoryError(Code.INVALID_GOAL, reason)
        if len(goal.waypoints) == 1:
            goal.start_ns(measured.stamp_ns)
        else:
            goal.check_motion(self._robot, *measured)
        return measured

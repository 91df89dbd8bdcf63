"""Joint trajectories on the planner: followed as they are, or planned if they are one point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from manip_dyn.control.computed_torque import unstable_feedback
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_trajectory import Code, Outcome, RejectedTrajectoryError
from manip_dyn.robot import Robot
from manip_dyn.ros.follow_joint_trajectory import ActiveTrajectory, Progress
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planned_goal import Leader, PlannedGoal
from manip_dyn.ros.planner.planning_process.goal_postures import Goal


class Planner(Leader, Protocol):
    """What drives the arm."""

    @property
    def motions(self) -> tuple[object, ...]:
        """The motion that is executed, then the one that waits for its turn."""

    def in_the_way(self) -> str:
        """Return what keeps a trajectory from beginning now, or nothing."""

    def follow(self, motion: FollowedMotion) -> None:
        """Execute it from the next state on, whatever goes on."""

    def plan_to(self, goal: Goal) -> None:
        """Plan and go to a goal, after braking if the arm moves."""


class FollowedTrajectory:
    """A trajectory that is followed as it is."""

    def __init__(self, planner: Planner, motion: FollowedMotion):
        """Take its motion, which was begun."""
        self._planner, self._motion = planner, motion

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        if self._motion not in self._planner.motions:
            self._motion.end(Outcome(Code.INVALID_GOAL, self._planner.message))
        return self._motion.outcome

    def stop(self, _outcome: Outcome) -> None:
        """Brake and hold."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return where the arm is, if that is known."""
        measured = self._planner.measured
        found = None if measured is None else self._motion.wanted(measured)
        if measured is None or found is None:
            return None
        return Progress(measured.stamp_ns, *found, measured.q, measured.v)


class Trajectories:
    """Takes trajectories for a planner, see `Follows`."""

    def __init__(self, planner: Planner, robot: Robot, parameters: BangBangPlannerParameters):
        """Take the planner and its arm."""
        self._planner, self._robot, self._parameters = planner, robot, parameters

    def check(self, goal: TrajectoryGoal, _info: Mapping[str, Any] | None = None) -> None:
        """Raise `RejectedTrajectoryError` if it may not begin now."""
        self._checked(goal)

    def begin(self, goal: TrajectoryGoal) -> ActiveTrajectory:
        """Follow it from now on, or plan."""
        measured = self._checked(goal)
        if len(goal.waypoints) == 1:
            planned = PlannedGoal(self._planner, self._robot, goal, measured.stamp_ns)
            self._planner.plan_to(planned)
            return planned
        motion = FollowedMotion(self._robot, goal, self._parameters)
        self._planner.follow(motion)
        return FollowedTrajectory(self._planner, motion)

    def _checked(self, goal: TrajectoryGoal) -> MeasuredState:
        reason, measured = self._planner.in_the_way(), self._planner.measured
        gains = self._parameters.stiffness, self._parameters.damping
        reason = reason or unstable_feedback(*gains, self._parameters.control_period)
        if reason or measured is None:
            raise RejectedTrajectoryError(Code.INVALID_GOAL, reason)
        goal.start_ns(measured.stamp_ns)
        return measured

"""Joint trajectories on the planner: followed as they are, or planned if they are one point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from manip_dyn.clik.control.continuity import Stamped
from manip_dyn.control import JointMotion
from manip_dyn.control.computed_torque import unstable_feedback
from manip_dyn.control.joint_trajectory import Code, Outcome, RefusedTrajectoryError
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.follow_joint_trajectory import Followed, Progress
from manip_dyn.ros.messages.joint_trajectories import TrajectoryGoal
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planned_motion import PlannedMotion


class Planner(Protocol):
    """What drives the arm."""

    @property
    def measured(self) -> Stamped | None:
        """The newest state."""

    @property
    def motions(self) -> tuple[object, ...]:
        """The motion that is executed, then the one that waits for its turn."""

    @property
    def wanted(self) -> object:
        """The goal that is planned for or that the present motion leads to."""

    @property
    def message(self) -> str:
        """What was told last."""

    def in_the_way(self) -> str:
        """Return what keeps a trajectory from beginning now, or nothing."""

    def follow(self, motion: FollowedMotion) -> None:
        """Execute it from the next state on, whatever goes on."""

    def plan_to(self, goal: Callable[[Vector], Vector]) -> None:
        """Plan and go to a goal, after braking if the arm moves."""

    def halt(self) -> bool:
        """Stop and hold."""


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


class PlannedGoal:
    """The only point of a trajectory, to which the planner's method leads.

    Attributes:
        target: Where it is (n,), rad or m.
    """

    def __init__(self, planner: Planner, robot: Robot, goal: TrajectoryGoal, stamp_ns: int):
        """Take the goal, which `__call__` gives to the planner, and the stamp of now."""
        self._planner, self._robot, self._begun_ns = planner, robot, stamp_ns
        self._tolerances = goal.tolerances
        self.target = np.array(goal.waypoints[-1].positions)
        self._ended: Outcome | None = None

    def __call__(self, _here: Vector) -> Vector:
        """Return the target, as a goal of the planner."""
        return self.target

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        if self._ended is None and self._planner.wanted is not self:
            self._ended = Outcome(Code.INVALID_GOAL, self._planner.message)
        return self._ended

    def judge(self, motion: PlannedMotion, measured: Stamped) -> None:
        """Look whether the motion that was planned for it ends it; in every control period."""
        if self._ended is not None or motion.purpose is not self:
            return
        late = motion.late(measured)
        errors = self.target - measured.q, -measured.v
        found = self._tolerances.at_end(self._robot, late, *errors)
        if found is not None and found.code is not Code.SUCCESSFUL:
            self._ended = found
            self._planner.halt()
        elif motion.arrived or 0.0 < self._tolerances.goal_time < late:
            self._ended = found

    def stop(self, _outcome: Outcome) -> None:
        """Come to rest soonest and hold."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return where the arm is, if that is known; what is wanted is the target."""
        measured = self._planner.measured
        if measured is None:
            return None
        stamp, q, v = measured
        wanted = JointMotion(self.target, 0.0 * v, 0.0 * v)
        return Progress(stamp, 1e-9 * (stamp - self._begun_ns), wanted, q, v)


class Trajectories:
    """Takes trajectories for a planner, see `Follows`."""

    def __init__(self, planner: Planner, robot: Robot, parameters: BangBangPlannerParameters):
        """Take the planner and its arm."""
        self._planner, self._robot, self._parameters = planner, robot, parameters

    def check(self, goal: TrajectoryGoal, _info: Mapping[str, Any] | None = None) -> None:
        """Raise `RefusedTrajectoryError` if it may not begin now."""
        self._checked(goal)

    def begin(self, goal: TrajectoryGoal) -> Followed:
        """Follow it from now on, or plan."""
        measured = self._checked(goal)
        if len(goal.waypoints) == 1:
            planned = PlannedGoal(self._planner, self._robot, goal, measured.stamp_ns)
            self._planner.plan_to(planned)
            return planned
        motion = FollowedMotion(self._robot, goal, self._parameters)
        self._planner.follow(motion)
        return FollowedTrajectory(self._planner, motion)

    def _checked(self, goal: TrajectoryGoal) -> Stamped:
        reason, measured = self._planner.in_the_way(), self._planner.measured
        gains = self._parameters.stiffness, self._parameters.damping
        reason = reason or unstable_feedback(*gains, self._parameters.control_period)
        if reason or measured is None:
            raise RefusedTrajectoryError(Code.INVALID_GOAL, reason)
        goal.start_ns(measured.stamp_ns)
        return measured

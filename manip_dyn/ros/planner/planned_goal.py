"""Goal from a trajectory with a single point: target, tolerances and outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from manip_dyn.control import JointMotion
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_trajectory import Code, Outcome
from manip_dyn.robot import Robot
from manip_dyn.ros.follow_joint_trajectory import Progress
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.planner.planning_process.goal_postures import JointGoal

if TYPE_CHECKING:
    from manip_dyn.ros.planner.planned_motion import PlannedMotion


class Leader(Protocol):
    """Interface of the planner that a goal uses."""

    @property
    def measured(self) -> MeasuredState | None:
        """The latest state."""

    @property
    def active_goal(self) -> object:
        """The goal of the current plan or motion."""

    @property
    def message(self) -> str:
        """The latest status message."""

    def halt(self) -> bool:
        """Cancel planning, stop and hold the arm. Return False if there was nothing to stop."""


class PlannedGoal:
    """A trajectory with a single point, which the arm reaches by a planned motion.

    Attributes:
        target: Positions (n,), rad or m.
    """

    def __init__(self, planner: Leader, robot: Robot, goal: TrajectoryGoal, stamp_ns: int):
        """Store the goal and the stamp at which it was accepted, ns."""
        self._planner, self._robot, self._begun_ns = planner, robot, stamp_ns
        self._tolerances = goal.tolerances
        self.target = np.array(goal.waypoints[-1].positions)
        self._ended: Outcome | None = None

    @property
    def aim(self) -> JointGoal:
        """The target as a goal of the planner."""
        return JointGoal(self.target)

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the goal; None before its end."""
        if self._ended is None and self._planner.active_goal is not self:
            self._ended = Outcome(Code.INVALID_GOAL, self._planner.message)
        return self._ended

    def judge(self, motion: PlannedMotion, measured: MeasuredState) -> None:
        """Update the outcome once per period. A violated tolerance halts the planner."""
        if self._ended is not None or motion.purpose is not self:
            return
        delay = motion.late(measured)
        errors = self.target - measured.q, -measured.v
        outcome = self._tolerances.at_end(self._robot, delay, *errors)
        if outcome is not None and outcome.code is not Code.SUCCESSFUL:
            self._ended = outcome
            self._planner.halt()
        elif motion.arrived or 0.0 < self._tolerances.goal_time < delay:
            self._ended = outcome

    def stop(self, _outcome: Outcome) -> None:
        """Stop and hold the arm."""
        self._planner.halt()

    def progress(self) -> Progress | None:
        """Return the measured state and the target, or None before the first state."""
        measured = self._planner.measured
        if measured is None:
            return None
        stamp, q, v = measured
        target = JointMotion(self.target, 0.0 * v, 0.0 * v)
        return Progress(stamp, 1e-9 * (stamp - self._begun_ns), target, q, v)

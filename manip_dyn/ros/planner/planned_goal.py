"""A trajectory of one point: a goal of the planner with tolerances, and how it ended."""

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
    """What leads the arm to a goal."""

    @property
    def measured(self) -> MeasuredState | None:
        """The newest state."""

    @property
    def wanted(self) -> object:
        """The goal that is planned for or that the present motion leads to."""

    @property
    def message(self) -> str:
        """What was told last."""

    def halt(self) -> bool:
        """Stop and hold."""


class PlannedGoal:
    """The only point of a trajectory, to which the planner's method leads.

    Attributes:
        target: Where it is (n,), rad or m.
    """

    def __init__(self, planner: Leader, robot: Robot, goal: TrajectoryGoal, stamp_ns: int):
        """Take the goal, which `aim` gives to the planner, and the stamp of now."""
        self._planner, self._robot, self._begun_ns = planner, robot, stamp_ns
        self._tolerances = goal.tolerances
        self.target = np.array(goal.waypoints[-1].positions)
        self._ended: Outcome | None = None

    @property
    def aim(self) -> JointGoal:
        """The target, as a goal of the planner."""
        return JointGoal(self.target)

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        if self._ended is None and self._planner.wanted is not self:
            self._ended = Outcome(Code.INVALID_GOAL, self._planner.message)
        return self._ended

    def judge(self, motion: PlannedMotion, measured: MeasuredState) -> None:
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

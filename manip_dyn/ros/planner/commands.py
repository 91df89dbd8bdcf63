"""Commands to the planner: goals, trajectories and abort requests."""

from __future__ import annotations

from collections.abc import Callable

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.ros.planner.execution import Execution
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planning import Planning
from manip_dyn.ros.planner.planning_process.goal_postures import Goal
from manip_dyn.ros.planner.start_conditions import StartObstacle, start_obstacle
from manip_dyn.ros.planner.status import PlannerStatus

NO_JOINT_STATES = "no joint state has been received on joint_states"


class Commands:
    """Executes valid commands and rejects the others with a reason.

    Attributes:
        awaiting_start: Whether the goal from the parameters waits for subscribers of efforts.
    """

    def __init__(
        self,
        execution: Execution,
        planning: Planning,
        status: PlannerStatus,
        reject: Callable[[str, object], None],
    ):
        """Store the objects of the planner; `reject` is called with a code and a reason."""
        self._execution, self._planning = execution, planning
        self._status, self._reject = status, reject
        self.awaiting_start = False

    # ------------------------------------------------------------------------------------ goals
    def begin(self, goal: Goal) -> bool:
        """Start planning a motion to `goal`; return False if the goal is rejected."""
        measured = self.measured
        if measured is None:
            self._reject("no_joint_states", NO_JOINT_STATES)
            return False
        obstacle = self._obstacle(self._motion_obstacle(measured))
        if obstacle is not None:
            self._reject(*obstacle)
            return False
        idle = self._execution.motion is None
        self._planning.lead_to(goal, measured)
        if idle and self._execution.motion is not None:  # no efforts for this state yet
            self._planning.answer(measured)
        return True

    def start_when_connected(self) -> None:
        """If the goal from the parameters is waiting and the efforts have subscribers, plan."""
        goal = self._execution.goal
        if self.awaiting_start and goal is not None and self._execution.efforts.connected():
            self.awaiting_start = False
            self.begin(goal)

    def halt(self) -> bool:
        """Cancel planning, stop and hold the arm. Return False if there was nothing to stop."""
        self.awaiting_start = False
        execution, measured = self._execution, self.measured
        if execution.motion is None and execution.prepared is None and not self._planning.busy:
            return False
        self._planning.forget()
        execution.prepared = None
        reason = "planning stopped"
        if execution.motion is not None and measured is not None:
            execution.motion.stop(measured)
            reason = "stopping and holding"
        self._status.enter("aborted", "aborted", reason=reason)
        return True

    # ----------------------------------------------------------------------------- trajectories
    @property
    def measured(self) -> MeasuredState | None:
        """The latest state."""
        return self._planning.measured()

    @property
    def motions(self) -> tuple[object, ...]:
        """The current motion and the prepared motion. Either may be None."""
        return self._execution.motion, self._execution.prepared

    @property
    def active_goal(self) -> Goal | None:
        """The goal of the current plan or motion."""
        return self._planning.active_goal

    @property
    def message(self) -> str:
        """The latest status message."""
        return self._status.report.message

    def trajectory_obstacle(self) -> str:
        """Return the reason why a trajectory cannot begin now, or ""."""
        measured, motion = self.measured, self._execution.motion
        if measured is None:
            return NO_JOINT_STATES
        moves = self._planning.moves(measured) if motion is None else ""
        moving = f"the arm moves, {moves}; a trajectory requires it to rest" if moves else ""
        obstacle = self._obstacle(moving)
        return "" if obstacle is None else obstacle.sentence

    def follow(self, motion: FollowedMotion) -> None:
        """Execute a trajectory in place of any other motion."""
        self.awaiting_start = False
        self._planning.forget()
        self._planning.execute(motion)

    def plan_to(self, goal: Goal) -> None:
        """Plan a motion to a goal without checking for obstacles; see `Planning.lead_to`."""
        self.awaiting_start = False
        self._planning.forget()
        if self.measured is not None:
            self._planning.lead_to(goal, self.measured)

    # -------------------------------------------------------------------------------- obstacles
    def _motion_obstacle(self, measured: MeasuredState) -> str:
        """Return why a moving arm must not be stopped for a new goal, or "" if it may be."""
        moves = self._planning.moves(measured)
        if moves and self._execution.efforts.others():
            return f"the arm moves, {moves}; a new motion requires it to rest"
        if moves and isinstance(self._execution.motion, FollowedMotion):
            return "the arm follows a trajectory; wait for its end or call ~/abort"
        return ""

    def _obstacle(self, moving: str) -> StartObstacle | None:
        efforts = self._execution.efforts
        return start_obstacle(moving, efforts.connected(), efforts.name, efforts.others())

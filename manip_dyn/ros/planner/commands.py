"""What people and programs ask of a planner: goals, trajectories, a halt."""

from __future__ import annotations

from collections.abc import Callable

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.ros.planner.execution import Execution
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planning import Planning
from manip_dyn.ros.planner.planning_process.goal_postures import Goal
from manip_dyn.ros.planner.start_conditions import StartObstacle, start_obstacle
from manip_dyn.ros.planner.status import PlannerStatus

NO_JOINT_STATES = "no joint state was heard; expected the arm on joint_states"


class Commands:
    """Takes what may be begun, and refuses the rest with a reason.

    Attributes:
        awaiting_start: Whether the goal of the parameters is gone to once somebody listens.
    """

    def __init__(
        self,
        execution: Execution,
        planning: Planning,
        status: PlannerStatus,
        refuse: Callable[[str, object], None],
    ):
        """Take what executes, plans, and tells; `refuse` takes code and reason."""
        self._execution, self._planning = execution, planning
        self._status, self._refuse = status, refuse
        self.awaiting_start = False

    # ------------------------------------------------------------------------------------ goals
    def begin(self, goal: Goal) -> bool:
        """Begin to plan the motion to `goal` if it may begin at all; else say why not."""
        measured = self.measured
        if measured is None:
            self._refuse("no_joint_states", NO_JOINT_STATES)
            return False
        hindered = self._hindrance(self._led(measured))
        if hindered is not None:
            self._refuse(*hindered)
            return False
        idle = self._execution.motion is None
        self._planning.lead_to(goal, measured)
        if idle and self._execution.motion is not None:  # nothing else answered the state
            self._planning.answer(measured)
        return True

    def start_when_connected(self) -> None:
        """Go to the goal of the parameters once somebody listens."""
        goal = self._execution.goal
        if self.awaiting_start and goal is not None and self._execution.efforts.connected():
            self.awaiting_start = False
            self.begin(goal)

    def halt(self) -> bool:
        """Stop and hold; return whether there was anything to stop."""
        self.awaiting_start = False
        execution, measured = self._execution, self.measured
        if execution.motion is None and execution.prepared is None and not self._planning.busy:
            return False
        self._planning.forget()
        execution.prepared = None
        reason = "no plan is made any more"
        if execution.motion is not None and measured is not None:
            execution.motion.stop(measured)
            reason = "stopping and holding"
        self._status.tell("aborted", "aborted", reason=reason)
        return True

    # ----------------------------------------------------------------------------- trajectories
    @property
    def measured(self) -> MeasuredState | None:
        """The newest state."""
        return self._planning.measured()

    @property
    def motions(self) -> tuple[object, ...]:
        """The motion that is executed, then the one that waits for its turn."""
        return self._execution.motion, self._execution.prepared

    @property
    def wanted(self) -> Goal | None:
        """The goal that is planned for or that the present motion leads to."""
        return self._planning.wanted

    @property
    def message(self) -> str:
        """What was told last."""
        return self._status.report.message

    def in_the_way(self) -> str:
        """Return what keeps a trajectory from beginning now, or nothing."""
        measured, motion = self.measured, self._execution.motion
        if measured is None:
            return NO_JOINT_STATES
        moves = self._planning.moves(measured) if motion is None else ""
        led = f"the arm moves, {moves}; a trajectory expects it to rest" if moves else ""
        found = self._hindrance(led)
        return "" if found is None else found.sentence

    def follow(self, motion: FollowedMotion) -> None:
        """Execute it from the next state on, whatever goes on."""
        self.awaiting_start = False
        self._planning.forget()
        self._planning.take(motion)

    def plan_to(self, goal: Goal) -> None:
        """Plan and go to a goal, after braking if the arm moves."""
        self.awaiting_start = False
        self._planning.forget()
        if self.measured is not None:
            self._planning.lead_to(goal, self.measured)

    # -------------------------------------------------------------------------------- hindrance
    def _led(self, measured: MeasuredState) -> str:
        """Return why an arm that moves is not to be stopped for a goal; empty if it may."""
        moves = self._planning.moves(measured)
        if moves and self._execution.efforts.others():
            return f"the arm moves, {moves}; a new motion expects it to rest"
        if moves and isinstance(self._execution.motion, FollowedMotion):
            return "the arm follows a trajectory; expected its end or ~/abort before a new goal"
        return ""

    def _hindrance(self, led: str) -> StartObstacle | None:
        efforts = self._execution.efforts
        return start_obstacle(led, efforts.connected(), efforts.name, efforts.others())

"""Planning of motions to goals, from rest or from a point of the current motion."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import fastest_joint
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, planner_from
from manip_dyn.ros.planner.braking_motion import BrakingMotion
from manip_dyn.ros.planner.departure import Departure
from manip_dyn.ros.planner.execution import Execution
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.planned_motion import PlannedMotion
from manip_dyn.ros.planner.planning_process.goal_postures import Goal, OutOfReachError
from manip_dyn.ros.planner.planning_process.process import PlanningProcess
from manip_dyn.ros.planner.planning_process.task import PlanningTask
from manip_dyn.ros.planner.replanning_lead import ReplanningLead
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.runtime.threads import Worker

Result = PlannedMotion | FollowedMotion | ManipDynError


class Planning:
    """Plans motions to goals; a new goal replaces the previous one.

    Attributes:
        parameters: The planner's parameters. A change of the method applies to the next goal.
        active_goal: The goal of the current plan or motion.
        measured: Returns the latest state.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        estimator: StateEstimator,
        parameters: BangBangPlannerParameters,
        execution: Execution,
        status: PlannerStatus,
        measured: Callable[[], MeasuredState | None],
        reject: Callable[[str, object], None],
    ):
        """Check the parameters, and start the planning process if the method requires it.

        Args:
            node: The node.
            robot: The arm.
            estimator: Builds the states and estimates their noise.
            parameters: The planner's parameters.
            execution: Executes the motions.
            status: Reports the state of the planner.
            measured: Returns the latest state.
            reject: Called with a code and a reason.
        """
        self._robot, self._execution, self._status = robot, execution, status
        self._estimator = estimator
        self.measured, self._reject = measured, reject
        self._warn = node.get_logger().warning
        self._worker = Worker(node, self.execute)
        self._process: PlanningProcess | None = None
        self._lead, self._requested_ns = ReplanningLead(), 0
        self.active_goal: Goal | None = None
        self._pending: Goal | None = None  # the goal to plan for once the arm rests
        self.use(parameters)

    def use(self, parameters: BangBangPlannerParameters) -> None:
        """Use other parameters for the next goal. The current motion does not change."""
        planner_from(parameters)
        self.parameters = parameters
        if parameters.method == "minimum_time" and self._process is None:
            self._process = PlanningProcess(parameters, self._robot, self._warn)

    def close(self) -> None:
        """Cancel planning and end the planning process."""
        self._worker.forget()
        if self._process is not None:
            self._process.close()
        self._worker.close()

    def watch(self) -> None:
        """Restart the planning process if it has died."""
        if self._process is not None:
            self._process.watch()

    @property
    def busy(self) -> bool:
        """Whether a plan is being computed."""
        return self._worker.busy

    @property
    def under_way(self) -> bool:
        """Whether a plan is being computed, or a goal waits for the arm to rest."""
        return self._worker.busy or self._pending is not None

    def forget(self) -> None:
        """Cancel planning and discard the goal."""
        self._worker.forget()
        self._pending = self.active_goal = None

    def moves(self, measured: MeasuredState) -> str:
        """Describe the fastest joint of the latest state, or return "" if the arm is at rest."""
        rests = self._estimator.at_rest(measured.v, self.parameters.rest_speed)
        return "" if rests else fastest_joint(self._robot, measured.v)

    # ------------------------------------------------------------------------------------ goals
    def lead_to(self, goal: Goal, measured: MeasuredState) -> None:
        """Plan a motion to a goal: from the current position, a departure, or after braking."""
        execution, moves = self._execution, self.moves(measured)
        if self._departing is not None:
            lead = self._lead.seconds(self.parameters.replanning_lead)
            self._leave(self._departing, goal, measured, lead)
            return
        if not moves or self._leads_by_feedback:
            self._plan(goal, measured)
            return
        self._worker.forget()
        execution.prepared = None
        if isinstance(execution.motion, PlannedMotion):
            if self._status.state != "braking":
                execution.motion.stop(measured)
        elif not isinstance(execution.motion, BrakingMotion):
            execution.motion = BrakingMotion(self._robot, self.parameters, self._estimator)
        self._pending = self.active_goal = goal
        self._status.enter("braking", "arm_moves", fastest=moves)

    def at_rest(self, measured: MeasuredState) -> None:
        """Plan a motion to the pending goal, if any, because the arm is at rest."""
        if self._pending is not None:
            self._plan(self._pending, measured)

    def execute(self, result: Result) -> None:
        """Execute a motion as soon as it may begin; after an error, reject the goal.

        If the departure of the motion has passed, plan again.
        """
        measured, execution = self.measured(), self._execution
        departure = result.departure if isinstance(result, PlannedMotion) else None
        if measured is not None and departure is not None and departure.moving:
            self._lead.note(1e-9 * (measured.stamp_ns - self._requested_ns))
        else:
            self._lead.forget_one()
        if isinstance(result, ManipDynError):
            self.active_goal = None
            code = "out_of_reach" if isinstance(result, OutOfReachError) else "no_plan"
            self._reject(code, result)
        elif measured is None:
            execution.prepared = result
        elif isinstance(result, PlannedMotion) and result.is_late(measured):
            self._leave_later(result, measured)
        elif execution.motion is None:
            execution.begin(result, measured)
            self.answer(measured)
        else:
            # Efforts for the last state were published: new ones would act a period too late.
            execution.prepared = result

    def begin_due(self, measured: MeasuredState) -> None:
        """Begin the prepared motion if it is due at a state, or plan again if it is lost."""
        prepared = self._execution.prepared
        if isinstance(prepared, PlannedMotion) and prepared.is_lost:
            self._leave_later(prepared, measured)
        elif prepared is not None and prepared.is_due(measured):
            self._execution.begin(prepared, measured)

    def answer(self, measured: MeasuredState) -> None:
        """Publish the efforts of the current motion for a state; forget a goal that was missed."""
        self._execution.answer(measured, self.active_goal, self.at_rest)
        if self._status.code == "not_reached" and not self.under_way:
            self.active_goal = None

    @property
    def _departing(self) -> PlannedMotion | None:
        """The current motion if the next one may begin at a departure from it, else None."""
        motion, chosen = self._execution.motion, self.parameters
        may = chosen.method == "minimum_time" and chosen.replanning_lead > 0.0
        may = may and self._status.state == "executing"
        if may and isinstance(motion, PlannedMotion) and motion.goes_by_plan:
            return motion
        return None

    @property
    def _leads_by_feedback(self) -> bool:
        """Whether feedback alone drives the arm to a new goal, even while the arm moves."""
        own = isinstance(self._execution.motion, PlannedMotion)
        return own and self.parameters.method == "pd"

    def _leave(
        self, motion: PlannedMotion, goal: Goal, measured: MeasuredState, lead: float
    ) -> None:
        """Plan a motion to a goal from a departure `lead` seconds after the state."""
        self._execution.prepared = self._pending = None
        self.active_goal, departure = goal, motion.departing(measured, lead)
        if departure.moving:
            self._status.enter("executing", "new_goal", lead=lead)
        else:
            self._status.enter("executing", "next_goal")
        v = departure.v if departure.moving else None
        task = PlanningTask(self.parameters, goal.aim, departure.q, v)
        self._start(task, goal, departure, measured)

    def _leave_later(self, late: PlannedMotion, measured: MeasuredState) -> None:
        """Plan again, with a longer lead, if the departure of a planned motion has passed."""
        if self._departing is not None and late.departure is not None:
            lead = self._lead.seconds(2.0 * late.departure.lead)
            self._leave(self._departing, late.purpose, measured, lead)
        else:
            self.lead_to(late.purpose, measured)

    def _plan(self, goal: Goal, measured: MeasuredState) -> None:
        again = "new_goal" if self._worker.busy else ""
        self._execution.prepared = self._pending = None
        self._status.values = {}
        self.active_goal = goal
        self._status.enter("planning", again, method=self.parameters.method)
        task = PlanningTask(self.parameters, goal.aim, measured.q)
        self._start(task, goal, None, measured)

    def _start(
        self, task: PlanningTask, goal: Goal, departure: Departure | None, measured: MeasuredState
    ) -> None:
        self._requested_ns = measured.stamp_ns
        by_process = task.parameters.method == "minimum_time"

        def job(is_needed: Callable[[], bool]) -> PlannedMotion:
            # Runs in the worker's thread, which may block.
            if by_process and self._process is not None:
                prepared = self._process.solved(task, is_needed)
            else:
                prepared = task.solved(self._robot)
            noise = self._estimator.noise()
            return PlannedMotion(self._robot, prepared, task.parameters, goal, departure, noise)

        self._worker.start(job)

"""Planning: from a goal to a motion, from where the arm rests, or from its motion on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node

from manip_dyn.control.continuity import MeasuredState
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
    """Leads an arm to goals, of which the last counts.

    Attributes:
        parameters: The planner's; a method is used from the next goal on.
        wanted: What is planned for or led to.
        measured: Returns the newest state.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        execution: Execution,
        status: PlannerStatus,
        measured: Callable[[], MeasuredState | None],
        refuse: Callable[[str, object], None],
    ):
        """Refuse bad parameters.

        Args:
            node: The node.
            robot: The arm.
            parameters: The planner's.
            execution: Takes the motions.
            status: Told what is done.
            measured: Returns the newest state.
            refuse: Takes code and reason.
        """
        self._robot, self._execution, self._status = robot, execution, status
        self.measured, self._refuse = measured, refuse
        self._warn = node.get_logger().warning
        self._worker = Worker(node, self.take)
        self._process: PlanningProcess | None = None
        self._lead, self._asked_ns = ReplanningLead(), 0
        self.wanted: Goal | None = None
        self._pending: Goal | None = None  # what is planned once the arm rests
        self.use(parameters)

    def use(self, parameters: BangBangPlannerParameters) -> None:
        """Plan by another method from the next goal on; a motion that goes on is not changed."""
        planner_from(parameters)
        self.parameters = parameters
        if parameters.method == "minimum_time" and self._process is None:
            self._process = PlanningProcess(parameters, self._robot, self._warn)

    def close(self) -> None:
        """End the plan that is being made."""
        self._worker.forget()
        if self._process is not None:
            self._process.close()
        self._worker.close()

    def watch(self) -> None:
        """Look after the planning process."""
        if self._process is not None:
            self._process.watch()

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._worker.busy

    @property
    def under_way(self) -> bool:
        """Whether a plan is being made, or will be."""
        return self._worker.busy or self._pending is not None

    def forget(self) -> None:
        """Forget what is planned for."""
        self._worker.forget()
        self._pending = self.wanted = None

    def moves(self, measured: MeasuredState) -> str:
        """Return which joint is the fastest if the arm does not rest."""
        rests = float(np.abs(measured.v).max()) <= self.parameters.rest_speed
        return "" if rests else fastest_joint(self._robot, measured.v)

    # ------------------------------------------------------------------------------- to a goal
    def lead_to(self, goal: Goal, measured: MeasuredState) -> None:
        """Plan for the goal: from where the arm is, from its motion on, or after braking it."""
        execution, moves = self._execution, self.moves(measured)
        if self._left is not None:
            lead = self._lead.seconds(self.parameters.replanning_lead)
            self._leave(self._left, goal, measured, lead)
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
            execution.motion = BrakingMotion(self._robot, self.parameters)
        self._pending = self.wanted = goal
        self._status.tell("braking", "arm_moves", fastest=moves)

    def at_rest(self, measured: MeasuredState) -> None:
        """Plan for the goal that waited until the arm rests."""
        if self._pending is not None:
            self._plan(self._pending, measured)

    def take(self, result: Result) -> None:
        """Execute a motion as soon as it may begin, or tell why there is none."""
        measured, execution = self.measured(), self._execution
        departure = result.departure if isinstance(result, PlannedMotion) else None
        if measured is not None and departure is not None and departure.moving:
            self._lead.note(1e-9 * (measured.stamp_ns - self._asked_ns))
        else:
            self._lead.forget_one()
        if isinstance(result, ManipDynError):
            self.wanted = None
            code = "out_of_reach" if isinstance(result, OutOfReachError) else "no_plan"
            self._refuse(code, result)
        elif measured is None:
            execution.prepared = result
        elif isinstance(result, PlannedMotion) and result.is_late(measured):
            self._leave_later(result, measured)
        elif execution.motion is None:
            execution.begin(result, measured)
            self.answer(measured)
        else:
            # The held arm's last state is answered: a second command would be late by a period.
            execution.prepared = result

    def begin_due(self, measured: MeasuredState) -> None:
        """Begin the motion that waits, if it may begin at a state, or plan once more for it."""
        prepared = self._execution.prepared
        if isinstance(prepared, PlannedMotion) and prepared.is_lost:
            self._leave_later(prepared, measured)
        elif prepared is not None and prepared.is_due(measured):
            self._execution.begin(prepared, measured)

    def answer(self, measured: MeasuredState) -> None:
        """Answer a state by the motion that is executed."""
        self._execution.answer(measured, self.wanted, self.at_rest)
        if self._status.code == "not_reached" and not self.under_way:
            self.wanted = None

    @property
    def _left(self) -> PlannedMotion | None:
        """The motion that goes on, if one to another goal may begin on its way."""
        motion, chosen = self._execution.motion, self.parameters
        may = chosen.method == "minimum_time" and chosen.replanning_lead > 0.0
        may = may and self._status.state == "executing"
        if may and isinstance(motion, PlannedMotion) and motion.goes_by_plan:
            return motion
        return None

    @property
    def _leads_by_feedback(self) -> bool:
        """Whether a motion of this planner gives way to feedback alone, at any speed."""
        own = isinstance(self._execution.motion, PlannedMotion)
        return own and self.parameters.method == "pd"

    def _leave(
        self, motion: PlannedMotion, goal: Goal, measured: MeasuredState, lead: float
    ) -> None:
        """Plan for the goal from a state on that the motion will have `lead` s later."""
        self._execution.prepared = self._pending = None
        self.wanted, departure = goal, motion.departing(measured, lead)
        if departure.moving:
            self._status.tell("executing", "new_goal", lead=lead)
        else:
            self._status.tell("executing", "next_goal")
        v = departure.v if departure.moving else None
        task = PlanningTask(self.parameters, goal.aim, departure.q, v)
        self._start(task, goal, departure, measured)

    def _leave_later(self, late: PlannedMotion, measured: MeasuredState) -> None:
        """Plan once more for the goal of a motion whose beginning is past, from further ahead."""
        if self._left is not None and late.departure is not None:
            lead = self._lead.seconds(2.0 * late.departure.lead)
            self._leave(self._left, late.purpose, measured, lead)
        else:
            self.lead_to(late.purpose, measured)

    def _plan(self, goal: Goal, measured: MeasuredState) -> None:
        again = "new_goal" if self._worker.busy else ""
        self._execution.prepared = self._pending = None
        self._status.values = {}
        self.wanted = goal
        self._status.tell("planning", again, method=self.parameters.method)
        task = PlanningTask(self.parameters, goal.aim, measured.q)
        self._start(task, goal, None, measured)

    def _start(
        self, task: PlanningTask, goal: Goal, departure: Departure | None, measured: MeasuredState
    ) -> None:
        self._asked_ns = measured.stamp_ns
        by_process = task.parameters.method == "minimum_time"

        def job(wanted: Callable[[], bool]) -> PlannedMotion:
            # In the worker's thread, where it may take its time.
            if by_process and self._process is not None:
                prepared = self._process.solved(task, wanted)
            else:
                prepared = task.solved(self._robot)
            return PlannedMotion(self._robot, prepared, task.parameters, goal, departure)

        self._worker.start(job)

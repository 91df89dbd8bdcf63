"""State machine of the planner: events, and the transitions that they cause.

The states are `PLANNER_STATES`. `PlannerStateMachine` alone changes them, together with the
current motion, the prepared motion and the goals. Its events are joint states, silence, goals,
trajectories, abort requests and the end of a computation.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.collision import Scene
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import fastest_joint
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, planner_from
from manip_dyn.ros.planner.arm_interface import ArmStates, EffortTopics, Loss
from manip_dyn.ros.planner.goals import PlannedGoal
from manip_dyn.ros.planner.motions import BrakingMotion, FollowedMotion
from manip_dyn.ros.planner.planned_motion import Departure, PlannedMotion, ReplanningLead
from manip_dyn.ros.planner.planning_process.process import PlanningProcess
from manip_dyn.ros.planner.planning_process.task import (
    CollisionError,
    Goal,
    JointGoal,
    OutOfReachError,
    PlanningTask,
)
from manip_dyn.ros.planner.status import NOT_ALONE, PlannerStatus
from manip_dyn.ros.runtime.subscriptions import LATCHED
from manip_dyn.ros.runtime.threads import Worker

Motion = PlannedMotion | FollowedMotion | BrakingMotion
Result = PlannedMotion | FollowedMotion | ManipDynError

NO_JOINT_STATES = "no joint state has been received on joint_states"
LONGEST_BRAKE = 10.0
"""Time after which a brake that does not stop the arm ends with a report, s."""
CODES = {OutOfReachError: "out_of_reach", CollisionError: "collision"}
"""Codes of failed plans by type of the error; `no_plan` for others."""


class PlannerStateMachine:
    """Moves an arm to goals and along trajectories.

    Attributes:
        arm: Joint states of the arm.
        efforts: Publishers of the efforts.
        goal: The goal of the last executed plan, initially of the parameters, or None.
        active_goal: The goal of the current plan or motion, or None.
        awaiting_start: Whether the goal from the parameters waits for subscribers of efforts.
        scene: Objects around the arm, or None if collisions are not considered.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        estimator: StateEstimator,
        parameters: BangBangPlannerParameters,
        status: PlannerStatus,
        place_marker: Callable[[], None],
    ):
        """Check the parameters and connect the arm.

        Args:
            node: The node.
            robot: The arm.
            estimator: Builds the states and estimates their noise.
            parameters: The planner's parameters.
            status: Reports the state.
            place_marker: Called when the arm is at rest or lost, to move the marker to the tool.
        """
        self._robot, self._estimator, self._status = robot, estimator, status
        self._place_marker = place_marker
        self._warn = node.get_logger().warning
        self.goal: Goal | None = None
        self.active_goal: Goal | None = None
        self.awaiting_start = False
        self.scene: Scene | None = None
        self._motion: Motion | None = None  # None while no commands are sent
        self._prepared: PlannedMotion | FollowedMotion | None = None  # the next motion
        self._pending: Goal | None = None  # the goal to plan for once the arm rests
        self._braking_since_ns = 0
        self._worker = Worker(node, self._on_result)
        self._process: PlanningProcess | None = None
        self._lead, self._requested_ns = ReplanningLead(), 0
        self._rehearsed = False
        self._unpublished: PlannedMotion | None = None  # its plan is to be published
        self.use(parameters)
        self._plans = node.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self.efforts = EffortTopics(node, robot, parameters)
        self.arm = ArmStates(node, robot, estimator, parameters, self._on_state, status.drop)
        status.enter("waiting", "no_joint_states", topic=self.arm.topic)

    def use(self, parameters: BangBangPlannerParameters) -> None:
        """Use other parameters for the next goal. The current motion does not change."""
        planner_from(parameters)
        self._parameters = parameters
        if parameters.method == "minimum_time" and self._process is None:
            self._process = PlanningProcess(parameters, self._robot, self._warn)

    def use_scene(self, scene: Scene) -> None:
        """Use another scene for the next motion, also if it is already planned."""
        self.scene = scene
        planned = self._worker.busy or isinstance(self._prepared, PlannedMotion)
        if planned and self.active_goal is not None and self.measured is not None:
            self._lead_to(self.active_goal, self.measured)

    def close(self) -> None:
        """Release the arm if a motion is in progress; end planning and the planning process."""
        if self._motion is not None:
            self._motion = self._prepared = None
            self.efforts.release()
        self._worker.forget()
        if self._process is not None:
            self._process.close()
        self._worker.close()

    # ------------------------------------------------------------------------------ properties
    @property
    def measured(self) -> MeasuredState | None:
        """The latest state."""
        return self.arm.measured

    @property
    def parameters(self) -> BangBangPlannerParameters:
        """The parameters, with the measured delay in place of "auto"."""
        return self._parameters.with_delay(self.arm.loop_delay.seconds or 0.0)

    @property
    def motions(self) -> tuple[object, ...]:
        """The current motion and the prepared motion. Either may be None."""
        return self._motion, self._prepared

    @property
    def message(self) -> str:
        """The latest status message."""
        return self._status.report.message

    def update_status(self) -> None:
        """Update the speed in the status message of a braking arm."""
        if self.measured is not None and self._pending is not None:
            self._status.update("braking", fastest=fastest_joint(self._robot, self.measured.v))

    @property
    def moving(self) -> bool:
        """Whether a motion is in progress, including one that holds the arm."""
        return self._motion is not None

    # --------------------------------------------------------------------------- events: the arm
    def _on_state(self, before: MeasuredState | None, measured: MeasuredState) -> None:
        if before is None:
            self._place_marker()
            if self._status.state == "waiting":
                self._status.enter("idle")
        elif measured.stamp_ns == before.stamp_ns:
            # Time stands still, but a motion may be waiting for subscribers.
            self._start_when_connected()
            return
        else:
            self._give_up(self.arm.loss(before, measured, self.moving))
            if self._motion is not None:
                self._motion.hold(self.arm.gap_ns(before, measured))
        self._begin_due(measured)
        if self._motion is None:
            self._start_when_connected()
        else:
            self._answer(measured)

    def watch(self) -> None:
        """Give up the motion if joint states are missing, because the arm may be in any state.

        Call this method every `WATCH_PERIOD`.
        """
        if self._process is not None:
            self._process.watch()
        # During planning, compilation may have delayed the callbacks of joint states.
        silence = 0.0 if self._worker.busy else self.arm.silence()
        if silence:
            self._give_up(Loss("silence", f"no joint states for {silence:.1f} s"))
            if self._status.state != "lost":
                self._status.enter("waiting", "silence", silence=silence)

    def _give_up(self, loss: Loss | None) -> None:
        """Stop commanding the arm. A safe command, such as the simulator's brake, then stops it.

        The state becomes "lost" if a motion or planning was in progress.
        """
        if loss is None:
            return
        holding = self._motion is not None
        arrived = self._motion is None or self._motion.arrived
        under_way = self._worker.busy or bool(self._pending or self._prepared)
        self._motion = self._prepared = None
        if loss.code == "late":
            self.efforts.release()
            self.arm.loop_delay.restart()
        self._forget_plan()
        self._status.values = {}
        self._place_marker()
        if under_way or not arrived:
            self._status.enter("lost", loss.code, reason=loss.reason)
        elif holding and self.measured is not None:
            self._status.enter("idle", loss.code, reason=loss.reason)

    # -------------------------------------------------------------------------- events: commands
    def begin(self, goal: Goal) -> bool:
        """Start planning a motion to `goal`; return False if the goal is rejected."""
        measured = self.measured
        if measured is None:
            self.reject("no_joint_states", NO_JOINT_STATES)
            return False
        code, obstacle = self._obstacle(self._motion_obstacle(measured))
        if code:
            self.reject(code, obstacle)
            return False
        idle = self._motion is None
        self._lead_to(goal, measured)
        if idle and self._motion is not None:  # no efforts for this state yet
            self._answer(measured)
        return True

    def halt(self) -> bool:
        """Cancel planning, stop and hold the arm. Return False if there was nothing to stop."""
        self.awaiting_start = False
        if self._motion is None and self._prepared is None and not self._worker.busy:
            return False
        self._forget_plan()
        self._prepared = None
        reason = "planning stopped"
        if self._motion is not None and self.measured is not None:
            self._brake(self._motion, self.measured)
            reason = "stopping and holding"
        self._status.enter("aborted", "aborted", reason=reason)
        return True

    def follow(self, motion: FollowedMotion) -> None:
        """Execute a trajectory in place of any other motion."""
        self.awaiting_start = False
        self._forget_plan()
        self._on_result(motion)

    def plan_to(self, goal: Goal) -> None:
        """Plan a motion to a goal in place of any other motion, without checking obstacles."""
        self.awaiting_start = False
        self._forget_plan()
        if self.measured is not None:
            self._lead_to(goal, self.measured)

    def reject(self, code: str, reason: object) -> None:
        """Report the rejection of a goal. A current motion or planning continues."""
        state, text = "", str(reason)
        if self._motion is not None and not self._motion.arrived:
            state, text = self._status.state, f"{text.removesuffix('.')}; the motion continues"
        elif self._worker.busy:
            state = "planning"
        self._status.enter("refused", code, state, reason=text)

    def trajectory_obstacle(self) -> str:
        """Return the reason why a trajectory cannot begin now, or ""."""
        measured = self.measured
        if measured is None:
            return NO_JOINT_STATES
        moves = self._moves(measured) if self._motion is None else ""
        return self._obstacle(
            f"the arm moves, {moves}; a trajectory requires it to rest" if moves else ""
        )[1]

    def _start_when_connected(self) -> None:
        if self.awaiting_start and self.goal is not None and self.efforts.connected():
            self.awaiting_start = False
            self.begin(self.goal)

    def _motion_obstacle(self, measured: MeasuredState) -> str:
        """Return why a moving arm must not be stopped for a new goal, or "" if it may be."""
        moves = self._moves(measured)
        if moves and self.efforts.others():
            return f"the arm moves, {moves}; a new motion requires it to rest"
        if moves and isinstance(self._motion, FollowedMotion):
            return "the arm follows a trajectory; wait for its end or call ~/abort"
        return ""

    def _obstacle(self, moving: str) -> tuple[str, str]:
        """Return code and message of the first obstacle to a new motion, or empty strings.

        Args:
            moving: Why a moving arm must not be stopped, or "".
        """
        topic, others = self.efforts.name, self.efforts.others()
        if moving:
            return "arm_moves", moving
        if others:
            return "not_alone", NOT_ALONE.format(topic=topic, others=others)
        if not self.efforts.connected():
            sentence = f"{topic} has no subscriber; start a simulator or a controller"
            return "nobody_listens", sentence
        return "", ""

    def _moves(self, measured: MeasuredState) -> str:
        """Describe the fastest joint of the latest state, or return "" if the arm is at rest."""
        rests = self._estimator.at_rest(measured.v, self._parameters.rest_speed)
        return "" if rests else fastest_joint(self._robot, measured.v)

    # ------------------------------------------------------------------------------------ planning
    def _forget_plan(self) -> None:
        """Cancel planning and discard the goal."""
        self._worker.forget()
        self._pending = self.active_goal = None

    def _lead_to(self, goal: Goal, measured: MeasuredState) -> None:
        """Plan a motion to a goal: from the current position, a departure, or after braking."""
        moves, departing = self._moves(measured), self._departing
        if departing is not None:
            lead = self._lead.seconds(self._parameters.replanning_lead)
            self._leave(departing, goal, measured, lead)
            return
        if not moves or self._leads_by_feedback:
            self._plan(goal, measured)
            return
        self._worker.forget()
        self._prepared = None
        self._brake(self._motion, measured)
        if self._status.state != "braking":
            self._braking_since_ns = measured.stamp_ns
        self._pending = self.active_goal = goal
        self._status.enter("braking", "arm_moves", fastest=moves)

    def _brake(self, motion: Motion | None, measured: MeasuredState) -> None:
        """Stop the arm in place of a motion, and hold it where it comes to rest.

        The executor of a plan would respond to deviations by further motions.
        """
        if not isinstance(motion, BrakingMotion):
            load = motion.load(measured) if isinstance(motion, PlannedMotion) else None
            self._motion = BrakingMotion(self._robot, self.parameters, self._estimator, load=load)

    def _end_brake(self, goal: Goal, motion: Motion, measured: MeasuredState) -> None:
        """Plan for the pending goal once the arm rests; reject it if the arm does not rest."""
        duration = 1e-9 * (measured.stamp_ns - self._braking_since_ns)
        if motion.arrived:
            self._plan(goal, measured)
        elif duration > LONGEST_BRAKE:
            self._forget_plan()
            fastest = fastest_joint(self._robot, measured.v)
            reason = f"the arm does not come to rest, {fastest}; check its load, or 'rest_speed'"
            self._status.enter("aborted", "not_reached", reason=reason)

    @property
    def _departing(self) -> PlannedMotion | None:
        """The current motion if the next one may begin at a departure from it, else None."""
        motion, chosen = self._motion, self._parameters
        may = chosen.method == "minimum_time" and chosen.replanning_lead > 0.0
        may = may and self._status.state == "executing"
        if may and isinstance(motion, PlannedMotion) and motion.goes_by_plan:
            return motion
        return None

    @property
    def _leads_by_feedback(self) -> bool:
        """Whether feedback alone drives the arm to a new goal, even while the arm moves."""
        own = isinstance(self._motion, PlannedMotion)
        return own and self._parameters.method == "pd"

    def _leave(
        self, motion: PlannedMotion, goal: Goal, measured: MeasuredState, lead: float
    ) -> None:
        """Plan a motion to a goal from a departure `lead` seconds after the state."""
        self._prepared = self._pending = None
        self.active_goal, departure = goal, motion.departing(measured, lead)
        if departure.moving:
            self._status.enter("executing", "new_goal", lead=lead)
        else:
            self._status.enter("executing", "next_goal")
        v = departure.v if departure.moving else None
        parameters = self._parameters.with_delay(motion.delay)
        task = PlanningTask(parameters, goal.aim, departure.q, v, self.scene)
        self._start(task, goal, departure, measured)

    def _leave_later(self, late: PlannedMotion, measured: MeasuredState) -> None:
        """Plan again for the goal of `late`, a motion whose departure has passed or was lost.

        The lead is twice as long if the motion can still depart from the current one. Otherwise
        the motion is planned as for a new goal.
        """
        departing = self._departing
        if departing is not None and late.departure is not None:
            lead = self._lead.seconds(2.0 * late.departure.lead)
            self._leave(departing, late.purpose, measured, lead)
        else:
            self._lead_to(late.purpose, measured)

    def _plan(self, goal: Goal, measured: MeasuredState) -> None:
        again = "new_goal" if self._worker.busy else ""
        self._prepared = self._pending = None
        self._status.values = {}
        self.active_goal = goal
        self._status.enter("planning", again, method=self._parameters.method)
        task = PlanningTask(self.parameters, goal.aim, measured.q, scene=self.scene)
        self._start(task, goal, None, measured)

    def _start(
        self, task: PlanningTask, goal: Goal, departure: Departure | None, measured: MeasuredState
    ) -> None:
        self._requested_ns = measured.stamp_ns
        by_process = task.parameters.method == "minimum_time"

        def job(is_needed: Callable[[], bool]) -> PlannedMotion:
            # Runs in the worker's thread, which may block.
            if by_process and self._process is not None:
                prepared = self._process.solved(task, is_needed, self._status.note_progress)
            else:
                prepared = task.solved(self._robot)
            noise = self._estimator.noise()
            motion = PlannedMotion(self._robot, prepared, task.parameters, goal, departure, noise)
            if not self._rehearsed:
                motion.rehearse()
                gc.freeze()  # scanning what was loaded would stall the first motion by 9 ms
                self._rehearsed = True
            return motion

        self._worker.start(job)

    def _on_result(self, result: Result) -> None:
        """Execute a motion as soon as it may begin; after an error, reject the goal.

        If the departure of the motion has passed, plan again.
        """
        measured = self.measured
        departure = result.departure if isinstance(result, PlannedMotion) else None
        if measured is not None and departure is not None and departure.moving:
            self._lead.note(1e-9 * (measured.stamp_ns - self._requested_ns))
        else:
            self._lead.forget_one()
        if isinstance(result, ManipDynError):
            self.active_goal = None
            self.reject(CODES.get(type(result), "no_plan"), result)
        elif measured is None:
            self._prepared = result
        elif isinstance(result, PlannedMotion) and result.is_late(measured):
            self._leave_later(result, measured)
        elif self._motion is None:
            self._execute(result, measured)
            self._answer(measured)
        else:
            # Efforts for the last state were published: new ones would act a period too late.
            self._prepared = result

    # ----------------------------------------------------------------------------------- execution
    def _begin_due(self, measured: MeasuredState) -> None:
        """Begin the prepared motion if it is due at a state, or plan again if it is lost."""
        prepared = self._prepared
        if isinstance(prepared, PlannedMotion) and prepared.is_lost:
            self._leave_later(prepared, measured)
        elif prepared is not None and prepared.is_due(measured):
            self._execute(prepared, measured)

    def _execute(self, motion: PlannedMotion | FollowedMotion, measured: MeasuredState) -> None:
        """Begin a motion at the current state. The efforts are published by `_answer`."""
        self._prepared, self._motion = None, motion
        motion.begin(measured)
        if isinstance(motion, PlannedMotion):
            self.goal = JointGoal(motion.goal)
            self._unpublished = motion
        self._status.values = dict(motion.values)
        self._status.enter("executing", beginning=motion.beginning)

    def _answer(self, measured: MeasuredState) -> None:
        """Publish the efforts of the motion for a state, and update the status."""
        motion, goal = self._motion, self.active_goal
        assert motion is not None
        if isinstance(motion, PlannedMotion) and self.arm.loop_delay.ineffective:  # a brake acts
            motion.interrupt()
        segments = motion.segments(measured, 1e-9 * (self.arm.valid_ns or 0))
        if self._pending is not None:
            self._end_brake(self._pending, motion, measured)
        leads = self._status.state in ("executing", "reached", "refused")
        if motion.returned() and leads and self._status.code != "off_plan":
            # Once per plan; `returns` counts the motions.
            self._status.enter("executing", "off_plan")
        if isinstance(motion, PlannedMotion):
            self._report_plan(motion, goal)
        if isinstance(motion, FollowedMotion) and motion.outcome is not None:
            self._report_trajectory(motion)
        if isinstance(motion, PlannedMotion) and isinstance(goal, PlannedGoal):
            goal.judge(motion, measured)
        awaited = isinstance(goal, PlannedGoal) and goal.outcome is None
        if self._motion is motion and motion.is_over(measured) and not awaited:
            self._motion = None
        else:
            stamp = measured.stamp_ns
            validity = self.arm.validity(stamp)
            lead = motion.lead if isinstance(motion, PlannedMotion) else 0.0
            efforts = self.efforts.publish(stamp, segments, validity, lead)
            self.arm.loop_delay.sent(stamp, efforts)
        if self._unpublished is not None:  # long plans take milliseconds: efforts come first
            self._plans.publish(self._unpublished.message)
            self._unpublished = None
        if self._status.code == "not_reached" and not self._worker.busy and not self._pending:
            self.active_goal = None

    def _report_trajectory(self, motion: FollowedMotion) -> None:
        if self._status.state == "executing" and motion.outcome is not None:
            reason = motion.outcome.sentence
            if motion.reached:
                self._status.enter("reached", end=f"{reason} of the trajectory; holding it")
            else:
                self._status.enter("aborted", "aborted", reason=reason)
            self._place_marker()

    def _report_plan(self, motion: PlannedMotion, goal: Goal | None) -> None:
        """Report the arrival of a plan after which no other motion follows, or its failure."""
        last = goal is None or goal is motion.purpose
        if motion.arrived and last and self._status.state == "executing":
            self._status.values |= motion.cost
            self._status.enter("reached", end=motion.end)
            self._place_marker()
        if motion.missed and self._status.state == "executing":
            self._status.enter("aborted", "not_reached", reason=motion.missed)
            self._place_marker()

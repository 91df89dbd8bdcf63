"""The bang-bang planner node: plans a rest-to-rest motion and drives the arm through it."""

from __future__ import annotations

import sys
from collections.abc import Collection

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.clik.control.continuity import Stamped
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory
from manip_dyn.ros.joint_sentences import brought_within, fastest, outside_limits
from manip_dyn.ros.messages import diagnostics
from manip_dyn.ros.messages.efforts import trajectory_from
from manip_dyn.ros.messages.robot_description import heard
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.ros.parameters.bang_bang_planner import (
    BangBangPlannerParameters,
    goal_from,
    planner_from,
    tuning_from,
)
from manip_dyn.ros.parameters.declare import declare, on_change
from manip_dyn.ros.parameters.robot import prepare, robot_from
from manip_dyn.ros.planner.braking_motion import BrakingMotion
from manip_dyn.ros.planner.effort_topics import EffortTopics
from manip_dyn.ros.planner.followed_motion import FollowedMotion
from manip_dyn.ros.planner.goals import Goal, Goals, OutOfReachError
from manip_dyn.ros.planner.heard_arm import WATCH_PERIOD, HeardArm, Loss
from manip_dyn.ros.planner.hindrance import Hindrance, hindrance
from manip_dyn.ros.planner.planned_motion import PlannedMotion
from manip_dyn.ros.planner.status import PlannerStatus
from manip_dyn.ros.planner.trajectories import PlannedGoal, Trajectories
from manip_dyn.ros.recording.await_recorder import await_recorder
from manip_dyn.ros.runtime.introduction import described, introduce
from manip_dyn.ros.runtime.run import run
from manip_dyn.ros.runtime.wall_timer import every
from manip_dyn.ros.runtime.worker import Worker

NOT_HEARD = "no joint state was heard; expected the arm on joint_states"
AnyMotion = PlannedMotion | FollowedMotion | BrakingMotion


class BangBangPlannerNode:
    """Plans on ~/goal and answers every joint state with a command while it executes."""

    name = "bang_bang_planner"

    def __init__(self, node: Node):
        """Declare parameters, load the robot and wait for joint states."""
        self.node = node
        self._parameters = parameters = declare(node, BangBangPlannerParameters)
        self._robot = robot_from(heard(node, parameters))
        rate = f"control at {1.0 / parameters.control_period:g} Hz"
        introduce(node, described(self._robot), f"method {parameters.method}", rate)
        prepare(self._robot, "inverse_dynamics", "mass_matrix")
        self._plan = planner_from(parameters)
        tuning_from(parameters)  # refuses what is bad at the start
        self._goal = goal_from(parameters, self._robot)
        self._awaiting_start = self._goal is not None and parameters.autostart
        self._motion: AnyMotion | None = None
        self._prepared: PlannedMotion | FollowedMotion | None = None
        self.wanted: Goal | None = None  # what is planned for or led to
        self._pending: Goal | None = None  # what is planned once the arm rests
        self._efforts = EffortTopics(node, self._robot, parameters)
        self._plans = node.create_publisher(JointTrajectory, "~/plan", LATCHED)
        self._status = PlannerStatus(node, self._robot.name)
        self._worker = Worker(node, self._on_prepared)
        self._arm = HeardArm(node, self._robot, parameters, self._hear, self._status.drop)
        self._status.tell("waiting", "no_joint_states", topic=self._arm.topic)
        self._goals = Goals(node, self._robot, self._positions, self._begin, self._refuse)
        trajectories = Trajectories(self, self._robot, parameters)
        self._trajectories = FollowJointTrajectory(node, self._robot, trajectories)
        node.create_service(Trigger, "~/plan", self._on_plan)
        node.create_service(Trigger, "~/abort", self._on_abort)
        diagnostics.publish_every_second(node, self._report, self._robot.name)
        every(node, WATCH_PERIOD, self._watch)
        on_change(node, parameters, self._use, _refused_together)
        await_recorder(node, parameters.await_recorder)

    def close(self) -> None:
        """Wait a little for the plan that is being made."""
        self._worker.close()
        self._trajectories.close()

    def _use(self, parameters: BangBangPlannerParameters) -> None:
        """Plan by another method from the next goal on; a motion that goes on is not changed."""
        self._parameters, self._plan = parameters, planner_from(parameters)

    # ------------------------------------------------------------------- input
    def _positions(self) -> Vector | None:
        return None if self._arm.measured is None else self._arm.measured.q

    def _hear(self, before: Stamped | None, measured: Stamped) -> None:
        if before is None:
            self._goals.show()
            if self._status.state == "waiting":
                self._status.tell("idle")
        elif measured.stamp_ns == before.stamp_ns:
            # Repeated while time stands still: only a start can be waiting for it.
            self._start_when_connected()
            return
        else:
            self._give_up(self._arm.loss(before, measured))
        if self._prepared is not None and self._prepared.is_due(measured):
            self._execute(self._prepared, measured)
        elif self._motion is None:
            self._start_when_connected()
        else:
            self._control(self._motion, measured)

    def _watch(self) -> None:
        """Give up when the arm is not heard any more: its next state may be any."""
        # While planning, compilation may have kept this node from listening.
        silence = 0.0 if self._worker.busy else self._arm.silence()
        if silence:
            self._give_up(Loss("silence", f"no joint states for {silence:.1f} s"))
            if self._status.state != "lost":
                self._status.tell("waiting", "silence", silence=silence)

    def _give_up(self, loss: Loss | None) -> None:
        """Command no more: whoever holds the arm then, such as the simulator's brake, does.

        A motion that was not over, or a plan for one, is lost.
        """
        if loss is None:
            return
        lost = self._worker.busy or self._prepared is not None or self._pending is not None
        lost |= self._motion is not None and not self._motion.arrived
        held = self._motion is not None
        self._motion = self._prepared = None
        self._forget()
        self._status.values = {}
        self._goals.show()
        if lost:
            self._status.tell("lost", loss.code, reason=loss.reason)
        elif held and self._arm.measured is not None:
            self._status.tell("idle", loss.code, reason=loss.reason)

    def _on_plan(self, _request, response: Trigger.Response) -> Trigger.Response:
        """Accept or refuse at once; ~/status tells what comes out."""
        if self._goal is None:
            self._refuse("bad_goal", "there is no goal; expected one on ~/goal before ~/plan")
        else:
            goal = self._goal
            response.success = self._begin(lambda _: goal)
        response.message = self._status.report.message
        return response

    def _on_abort(self, _request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.halt()
        response.message = "nothing is being executed"
        if response.success:
            response.message = self.message
        return response

    # ----------------------------------------------------------- trajectories
    @property
    def measured(self) -> Stamped | None:
        """The newest state."""
        return self._arm.measured

    @property
    def motions(self) -> tuple[object, ...]:
        """The motion that is executed, then the one that waits for its turn."""
        return self._motion, self._prepared

    @property
    def message(self) -> str:
        """What was told last."""
        return self._status.report.message

    def in_the_way(self) -> str:
        """Return what keeps a trajectory from beginning now, or nothing."""
        if self._arm.measured is None:
            return NOT_HEARD
        moves, listened = self._moves(self._arm.measured), self._efforts.connected()
        topic, others = self._efforts.name, self._efforts.others()
        found = hindrance(moves, self._motion is None, False, listened, topic, others)
        return "" if found is None else found.sentence

    def follow(self, motion: FollowedMotion) -> None:
        """Execute it from the next state on, whatever goes on."""
        self._awaiting_start = False
        self._forget()
        self._on_prepared(motion)

    def plan_to(self, goal: Goal) -> None:
        """Plan and go to a goal, after braking if the arm moves."""
        self._awaiting_start = False
        self._forget()
        if self._arm.measured is None:
            return
        self._lead_to(goal, self._arm.measured)

    def halt(self) -> bool:
        """Stop and hold; return whether there was anything to stop."""
        self._awaiting_start = False
        if self._motion is None and self._prepared is None and not self._worker.busy:
            return False
        self._forget()
        self._prepared = None
        reason = "no plan is made any more"
        if self._motion is not None and self._arm.measured is not None:
            self._motion.stop(self._arm.measured)
            reason = "stopping and holding"
        self._status.tell("aborted", "aborted", reason=reason)
        return True

    def _forget(self) -> None:
        """Forget what is planned for."""
        self._worker.forget()
        self._pending = self.wanted = None

    # --------------------------------------------------------------- planning
    def _start_when_connected(self) -> None:
        if self._awaiting_start and self._goal is not None and self._efforts.connected():
            self._awaiting_start, goal = False, self._goal
            self._begin(lambda _: goal)

    def _begin(self, goal: Goal) -> bool:
        """Begin to plan the motion to `goal` if it may begin at all; else say why not."""
        if self._arm.measured is None:
            self._refuse("no_joint_states", NOT_HEARD)
            return False
        measured = self._arm.measured
        hindered = self._hindrance(measured)
        if hindered is not None:
            self._refuse(*hindered)
            return False
        self._lead_to(goal, measured)
        if isinstance(self._motion, BrakingMotion):  # nothing else has answered the state
            self._control(self._motion, measured)
        return True

    def _lead_to(self, goal: Goal, measured: Stamped) -> None:
        """Plan for the goal: from where the arm is, from its motion on, or after braking it."""
        moves = self._moves(measured)
        if self._left is not None:
            self._leave(self._left, goal, measured, self._parameters.replanning_lead)
        elif moves:
            self._motion = BrakingMotion(self._robot, self._parameters)
            self._pending = self.wanted = goal
            self._status.tell("braking", "arm_moves", fastest=moves)
        else:
            self._make_plan(goal, measured.q)

    @property
    def _left(self) -> PlannedMotion | None:
        """The motion that goes on, if one to another goal may begin on its way."""
        motion, chosen = self._motion, self._parameters
        may = chosen.method == "minimum_time" and chosen.replanning_lead > 0.0
        if may and self._status.state == "executing" and isinstance(motion, PlannedMotion):
            return motion
        return None

    def _leave(self, motion: PlannedMotion, goal: Goal, measured: Stamped, lead: float) -> None:
        """Plan for the goal from a state on that the motion will have `lead` s later."""
        self._prepared = self._pending = None
        self.wanted, departure = goal, motion.departing(measured, lead)
        if departure is None:
            self._pending = goal
            self._status.tell("executing", "next_goal")
            return
        self._status.tell("executing", "new_goal", lead=lead)

        def job() -> PlannedMotion:
            plan = self._plan(self._robot, departure.q, goal(departure.q), v0=departure.v)
            return PlannedMotion(self._robot, plan, self._parameters, goal, departure)

        self._worker.start(job)

    def _leave_later(self, late: PlannedMotion, measured: Stamped) -> None:
        """Plan once more for the goal of a motion whose beginning is past, from further ahead."""
        if self._left is not None and late.departure is not None:
            self._leave(self._left, late.purpose, measured, 2.0 * late.departure.lead)
        else:
            self._begin(late.purpose)

    def _make_plan(self, goal: Goal, start: Vector) -> None:
        self._pending, self._status.values = None, {}
        self.wanted = goal
        self._status.tell("planning", method=self._parameters.method)

        def job() -> PlannedMotion:
            # In the worker's thread, where it may take its time.
            plan = self._plan(self._robot, brought_within(self._robot, start), goal(start))
            return PlannedMotion(self._robot, plan, self._parameters, goal)

        self._worker.start(job)

    def _moves(self, measured: Stamped) -> str:
        """Return which joint is the fastest if the arm does not rest."""
        rests = float(np.abs(measured.v).max()) <= self._parameters.rest_speed
        return "" if rests else fastest(self._robot, measured.v)

    def _hindrance(self, measured: Stamped) -> Hindrance | None:
        waiting = self._prepared is not None or self._pending is not None or self._worker.busy
        own = isinstance(self._motion, (PlannedMotion, FollowedMotion))
        may_leave = self._left is not None
        others = self._efforts.others()
        return hindrance(
            self._moves(measured),
            (own and not may_leave) or bool(others),
            waiting and not may_leave,
            self._efforts.connected(),
            self._efforts.name,
            others,
        )

    def _on_prepared(self, result: PlannedMotion | FollowedMotion | ManipDynError) -> None:
        measured = self._arm.measured
        if isinstance(result, ManipDynError):
            self.wanted = None
            code = "out_of_reach" if isinstance(result, OutOfReachError) else "no_plan"
            self._refuse(code, result)
        elif measured is None:
            self._prepared = result
        elif isinstance(result, PlannedMotion) and result.is_late(measured):
            self._leave_later(result, measured)
        elif self._motion is None:
            self._execute(result, measured)
        else:
            # The held arm's last state is answered: a second command would be late by a period.
            self._prepared = result

    # --------------------------------------------------------------- execution
    def _execute(self, motion: PlannedMotion | FollowedMotion, measured: Stamped) -> None:
        """Begin at the present state, which nothing has answered yet."""
        before, self._prepared, self._motion = self._motion, None, motion
        stamp = motion.begin(measured)
        if isinstance(motion, PlannedMotion) and isinstance(before, PlannedMotion):
            motion.goes_on_from(before)
        if isinstance(motion, PlannedMotion):
            self._goal = motion.goal
            self._plans.publish(trajectory_from(self._robot, stamp, motion.rows))
        self._status.values = dict(motion.told)
        self._status.tell("executing", beginning=motion.beginning)
        self._control(motion, measured)

    def _control(self, motion: AnyMotion, measured: Stamped) -> None:
        segments = motion.segments(measured)
        if self._pending is not None and motion.arrived:
            self._make_plan(self._pending, measured.q)
        if motion.returned() and self._status.code != "off_plan":
            self._status.tell("executing", "off_plan")  # once; `returns` counts them
        if isinstance(motion, PlannedMotion) and motion.arrived:
            self._tell_arrival(motion, measured)
        if isinstance(motion, FollowedMotion) and motion.outcome is not None:
            self._tell_outcome(motion)
        asked = self.wanted
        if isinstance(motion, PlannedMotion) and isinstance(asked, PlannedGoal):
            asked.judge(motion, measured)
        awaited = isinstance(asked, PlannedGoal) and asked.outcome is None
        if motion.is_over(measured) and not awaited:
            self._motion = None
        else:
            self._efforts.publish(measured.stamp_ns, segments)

    def _tell_outcome(self, motion: FollowedMotion) -> None:
        if self._status.state == "executing" and motion.outcome is not None:
            reason = motion.outcome.sentence
            if motion.reached:
                self._status.tell("reached", end=f"{reason} of the trajectory; holding it")
            else:
                self._status.tell("aborted", "aborted", reason=reason)
            self._goals.show()

    def _tell_arrival(self, motion: PlannedMotion, measured: Stamped) -> None:
        if self._status.state == "executing":
            self._status.values |= motion.cost
            self._status.tell("reached", end=motion.end)
            self._goals.show()

    def _refuse(self, code: str, reason: object) -> None:
        """Tell why; what goes on, goes on."""
        state, rest = "", ""
        if self._motion is not None and not self._motion.arrived:
            state, rest = self._status.state, "; the motion goes on"
        elif self._worker.busy:
            state = "planning"
        self._status.tell("refused", code, state, reason=f"{reason}{rest}")

    def _report(self) -> diagnostics.Report:
        """Return the status, or what is wrong now beside it."""
        q = self._positions()
        outside = "" if q is None else outside_limits(self._robot, q)
        return self._status.overlaid(outside, self._efforts.others(), self._efforts.name)


def _refused_together(parameters: BangBangPlannerParameters, _changed: Collection[str]) -> str:
    try:
        planner_from(parameters)
    except ManipDynError as error:
        return str(error)
    return ""


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(BangBangPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())

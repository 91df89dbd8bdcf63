"""Motions of the planner without a plan: a brake, and a trajectory."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control import JointMotion
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_drives import Brake
from manip_dyn.control.joint_trajectory import Code, JointSplines, Outcome
from manip_dyn.control.state_estimation import SIGMAS, StateEstimator
from manip_dyn.control.trajectory_follower import TrajectoryFollower
from manip_dyn.core.checks import Vector
from manip_dyn.planning import Segment
from manip_dyn.planning.execution.feedback import Ahead, Feedback
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from

SLOW = 0.5
"""Joint speed (rad/s or m/s) from which feedback stops the arm within about 0.01 rad or m."""
RESTING = 3
"""Number of consecutive states at rest that end a brake."""


class BrakingMotion:
    """Slows the arm down from any speed by `Brake`, then holds it in place by feedback.

    Attributes:
        arrived: Whether the arm is at rest.
    """

    def __init__(
        self,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        estimator: StateEstimator,
        held: Vector | None = None,
        load: Vector | None = None,
    ):
        """Create the brake and the feedback.

        Args:
            robot: The arm.
            parameters: The planner's parameters, with the delay of the commands.
            estimator: Estimates the noise of the states, which must not prevent rest.
            held: Positions (n,) to hold without braking, rad or m. Default: brake, then hold the
                positions at which the joints come to rest. Friction may stop them anywhere.
            load: Efforts (n,) that hold the arm in addition to those of the model. Default: none.
        """
        self._brake = Brake(customize(robot), period=parameters.control_period)
        self._feedback = Feedback(robot, tuning_from(parameters))
        self._rest_speed, self._estimator = parameters.rest_speed, estimator
        self._zero, self._most = np.zeros(robot.n), robot.tau_max
        self._period, self._delay = parameters.control_period, parameters.delay
        self._load = self._zero if load is None else load
        self._before: MeasuredState | None = None
        self._held, self._resting = held, 0
        self._brakes = np.full(robot.n, held is None)  # joints that have not come to rest yet
        self.arrived = False

    def segments(self, measured: MeasuredState, until: float = 0.0) -> list[Segment]:
        """Return the efforts for a measured state."""
        if self._held is None and not self._can_hold(measured):
            return [Segment(0.0, self._brake.effort(measured.stamp_ns, measured.q, measured.v))]
        if self._held is None:
            self._held = measured.q.copy()
        rests = self._estimator.at_rest(measured.v, self._rest_speed)
        self._resting = self._resting + 1 if rests else 0
        self.arrived = self._resting >= RESTING
        noise = SIGMAS * self._estimator.noise().velocity
        stopped = self._brakes & (np.abs(measured.v) <= np.maximum(self._rest_speed, noise))
        self._held = np.where(stopped, measured.q, self._held)
        self._brakes &= ~stopped
        return [Segment(0.0, self._holding(measured, self._held))]

    def _can_hold(self, measured: MeasuredState) -> bool:
        """Return whether feedback can hold the current positions within the effort limits.

        Saturated joints would not stop, and would disturb the others.
        """
        _, q, v = measured
        ahead = Ahead(v, self._period, self._delay)
        efforts = self._feedback.correction(q, v, q, self._zero, ahead) + self._feedback.hold(q)
        return bool(np.abs(v).max() <= SLOW and np.all(np.abs(efforts + self._load) <= self._most))

    def _holding(self, measured: MeasuredState, held: Vector) -> Vector:
        before, v = self._before, measured.v
        if before is not None and measured.stamp_ns > before.stamp_ns:
            duration = 1e-9 * (measured.stamp_ns - before.stamp_ns)
            self._feedback.integrate(held - measured.q, duration)
            v = v + self._delay / duration * (v - before.v)  # earlier commands accelerate the arm
        self._before = measured
        ahead = Ahead(v, self._period, self._delay)
        correction = self._feedback.correction(measured.q, measured.v, held, self._zero, ahead)
        weight = self._feedback.hold(held) + self._load
        return self._feedback.limited(measured.q, weight + correction)

    def hold(self, _duration_ns: int) -> None:
        """Do nothing: this motion does not depend on time."""

    def is_over(self, _measured: MeasuredState) -> bool:
        """Return False: the arm is held until another motion begins."""
        return False

    def returned(self) -> bool:
        """Return False: there is no plan that the arm could leave."""
        return False


class FollowedMotion:
    """Follows a trajectory and holds its last point.

    After a violated tolerance, it brakes and holds the arm.

    Attributes:
        outcome: Outcome of the trajectory; None before its end.
        arrived: Whether the arm rests at the held position.
        values: Named values for the status; always empty.
    """

    def __init__(
        self,
        robot: Robot,
        goal: TrajectoryGoal,
        parameters: BangBangPlannerParameters,
        estimator: StateEstimator,
    ):
        """Store the trajectory and the estimator of the states; `begin` starts the motion."""
        self._robot, self._goal, self._parameters = robot, goal, parameters
        self._estimator = estimator
        self._follower: TrajectoryFollower | None = None
        self._after: BrakingMotion | None = None
        self._start_ns = self._ended_ns = 0
        self.outcome: Outcome | None = None
        self.values: dict[str, object] = {}

    def begin(self, measured: MeasuredState) -> int:
        """Begin at a state; return the stamp at which the trajectory begins, ns.

        Raises:
            ManipDynError: If the feedback is unstable at the planner's control period.
        """
        stamp, q, v = measured
        self._start_ns = self._goal.stamp_ns or stamp
        weight = customize(self._robot).unchecked.inverse_dynamics(q, 0.0 * q, 0.0 * q)
        begun = 1e-9 * (stamp - self._start_ns)
        self._follower = TrajectoryFollower(
            self._robot,
            JointSplines(self._robot, self._goal.waypoints, begun, q, v, weight),
            self._goal.tolerances,
            self._parameters.control_period,
            self._parameters.stiffness,
            self._parameters.damping,
        )
        return self._start_ns

    def is_due(self, _measured: MeasuredState) -> bool:
        """Return True: a trajectory may begin at any state."""
        return True

    def segments(self, measured: MeasuredState, until: float = 0.0) -> list[Segment]:
        """Return the efforts for a measured state."""
        stamp, q, v = measured
        t = 1e-9 * (stamp - self._start_ns)
        if self.outcome is None:
            self._judge(t, measured)
        if self._after is not None:
            return self._after.segments(measured)
        return [Segment(0.0, self._following.effort(t, q, v))]

    def reference(self, measured: MeasuredState) -> tuple[float, JointMotion] | None:
        """Return the time since the start (s) and the reference, or None before `begin`."""
        if self._follower is None:
            return None
        t = 1e-9 * (measured.stamp_ns - self._start_ns)
        return t, self._follower.splines.motion(t)

    def hold(self, duration_ns: int) -> None:
        """Delay the rest of the trajectory by a time in which the arm has not followed it, ns."""
        self._start_ns += duration_ns

    def end(self, outcome: Outcome) -> None:
        """Set the outcome, unless it is already set."""
        self.outcome = self.outcome or outcome

    def is_over(self, measured: MeasuredState) -> bool:
        """Return whether the last point has been held for the hold duration."""
        hold = round(1e9 * self._parameters.hold_duration)
        return bool(hold and self.reached and measured.stamp_ns >= self._ended_ns + hold)

    @property
    def reached(self) -> bool:
        """Whether the arm reached the last point."""
        return self.outcome is not None and self.outcome.code is Code.SUCCESSFUL

    @property
    def arrived(self) -> bool:
        """Whether the arm rests at the held position."""
        return self.outcome is not None and self._after is not None and self._after.arrived

    def returned(self) -> bool:
        """Return False: there is no plan that the arm could leave."""
        return False

    @property
    def beginning(self) -> str:
        """Status message at the start of the motion."""
        count = len(self._goal.waypoints)
        end = 1e-9 * self._goal.waypoints[-1].time_ns
        return f"executing: a trajectory of {count} points, which ends at {end:.6f} s"

    @property
    def _following(self) -> TrajectoryFollower:
        assert self._follower is not None
        return self._follower

    def _braking(self, held: Vector | None = None) -> BrakingMotion:
        return BrakingMotion(self._robot, self._parameters, self._estimator, held)

    def _judge(self, t: float, measured: MeasuredState) -> None:
        splines = self._following.splines
        if self._after is None and t >= splines.t_final:  # hold the end with an integral
            self._after = self._braking(np.array(splines.goal))
        self.outcome = self._following.outcome(t, measured.q, measured.v)
        self._ended_ns = measured.stamp_ns
        if self.outcome is not None and not self.reached:
            self._after = self._braking()

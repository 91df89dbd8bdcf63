"""Execution of a plan that begins at rest or at a departure from another plan."""

from __future__ import annotations

import math
from typing import Any

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import Noise
from manip_dyn.core.checks import Vector
from manip_dyn.planning import PlanExecutor, Segment
from manip_dyn.planning.execution.sampled_motion import SAME
from manip_dyn.planning.execution.time_scaling import Pace
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from
from manip_dyn.ros.planner.departure import Departure
from manip_dyn.ros.planner.planning_process.task import PreparedPlan

ON_TIME = 5e-7
"""Bound of the delay for which an arrival is reported to be as planned, s."""


class PlannedMotion:
    """Executes a plan.

    Attributes:
        purpose: The goal of the plan.
        departure: Departure at which the plan begins; None for a start at rest, and once the plan
            has begun.
        rows: Times (s) and efforts (n,) to publish. Efforts are constant between the times.
        values: Named values for the status.
    """

    def __init__(
        self,
        robot: Robot,
        prepared: PreparedPlan,
        parameters: BangBangPlannerParameters,
        purpose: Any = None,
        departure: Departure | None = None,
        noise: Noise | None = None,
    ):
        """Prepare the execution of a plan.

        Args:
            robot: The arm.
            prepared: The plan.
            parameters: The planner's parameters.
            purpose: The goal of the plan.
            departure: Departure at which the plan begins. Default: at rest, at the next state.
            noise: Noise of the measured states. Default: none.
        """
        self.purpose, self.departure = purpose, departure
        self._plan, self._parameters = prepared.plan, parameters
        plan = self._plan
        period = parameters.control_period
        horizon = period + parameters.transport_delay
        self._executor = PlanExecutor(
            robot,
            plan,
            horizon,
            tuning_from(parameters, noise),
            period,
            reference=prepared.reference,
        )
        self._began_ns = self._returns = 0
        self.rows = prepared.rows
        switches = [[round(t, 9) for t in times] for times in plan.switch_times]
        self.values: dict[str, object] = {
            "plan": plan.status,
            "plan reason": plan.reason,
            "switch times [s]": dict(zip(robot.joint_names, switches, strict=True)),
            "final time [s]": plan.t_final,
        }
        if prepared.net_work is not None:
            self.values["net work [J]"] = prepared.net_work

    def is_due(self, measured: MeasuredState) -> bool:
        """Return whether the motion may begin at this state or before the next one."""
        if self.departure is None:
            return True
        stamp, period = self.departure.stamp_ns, round(1e9 * self._parameters.control_period)
        return stamp is not None and stamp < measured.stamp_ns + period

    @property
    def is_lost(self) -> bool:
        """Whether the arm has left the plan that contains the departure."""
        return self.departure is not None and self.departure.stamp_ns is None

    def is_late(self, measured: MeasuredState) -> bool:
        """Return whether the departure is lost, or the arm has passed it in motion."""
        if self.departure is None:
            return False
        stamp = self.departure.stamp_ns
        return stamp is None or (self.departure.moving and stamp < measured.stamp_ns)

    def begin(self, measured: MeasuredState) -> int:
        """Begin at a state; return the stamp of plan time zero, ns."""
        stamp, departure = measured.stamp_ns, self.departure
        if departure is not None and departure.moving:
            stamp = departure.stamp_ns or stamp
            self._executor.begin_at(departure.motion.pace)
        elif departure is not None:
            stamp = max(departure.stamp_ns or stamp, stamp)
        self._began_ns = stamp + self._delay_ns
        return self._began_ns

    def departing(self, measured: MeasuredState, lead: float) -> Departure:
        """Return the departure from this plan that is `lead` seconds after a state.

        The lead is rounded up to whole control periods. The departure is not later than the end
        of the plan.
        """
        periods = max(math.ceil(lead / self._parameters.control_period - 1e-9), 1)
        stamp = measured.stamp_ns + round(1e9 * periods * self._parameters.control_period)
        t = 1e-9 * (stamp + self._delay_ns - self._began_ns)
        time = min(self._executor.plan_time(t), self._plan.t_final)
        return Departure(self, time, *self._plan.state(time), lead)

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp (ns) of a plan time (s), or None if the arm has left the plan."""
        if not self._executor.goes_by_plan:
            return None
        return self._began_ns + round(1e9 * self._executor.time_of(time)) - self._delay_ns

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts for a measured state, see `PlanExecutor.segments`."""
        t = self._time(measured)
        if t >= 0.0 or self.departure is None:
            self.departure = None
            return self._executor.segments(t, measured.q, measured.v)
        # Assume that the tracking error at the departure equals the current one.
        before, departure = self.departure.motion, self.departure
        q, v = before.planned(measured)
        there = departure.q + measured.q - q, before.pace.rate * departure.v + measured.v - v
        after = self._executor.segments(0.0, *there)
        begun = [segment._replace(offset=segment.offset - t) for segment in after]
        previous = before.segments(measured)
        return [segment for segment in previous if segment.offset < -t - SAME] + begun

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""
        t = self._time(measured)
        return self._executor.expected(t) or self._plan.state(t)

    def stop(self, measured: MeasuredState) -> None:
        """Stop the arm as soon as possible and hold it there."""
        self._executor.stop(self._time(measured), measured.q, measured.v)

    def hold(self, duration_ns: int) -> None:
        """Delay the rest of the motion, ns: the arm has not followed it in this time."""
        self._began_ns += duration_ns

    def is_over(self, measured: MeasuredState) -> bool:
        """Return whether the goal has been held for the hold duration."""
        hold, arrival = self._parameters.hold_duration, self._executor.arrival_time
        if not hold or arrival is None:
            return False
        return self._time(measured) >= arrival + hold

    def late(self, measured: MeasuredState) -> float:
        """Return the time since the end of the plan, s; negative before it."""
        return self._time(measured) - self._plan.t_final

    @property
    def goal(self) -> Vector:
        """Final positions of the plan (n,)."""
        return self._plan.qf

    @property
    def arrived(self) -> bool:
        """Whether the arm rests at the goal."""
        return self._executor.arrived

    @property
    def pace(self) -> Pace:
        """Time rate and mass ratio at which the arm follows the plan."""
        return self._executor.pace

    @property
    def goes_by_plan(self) -> bool:
        """Whether the arm follows the plan instead of a return or braking motion."""
        return self._executor.goes_by_plan

    @property
    def missed(self) -> str:
        """Why the arm was stopped before it reached its goal, or ""."""
        return self._executor.missed

    def returned(self) -> bool:
        """Return whether the arm has left its plan since the last call."""
        before, self._returns = self._returns, self._executor.returns
        return self._returns > before

    @property
    def cost(self) -> dict[str, object]:
        """Named values about the arrival, for the status."""
        return {
            "arrival time [s]": self._executor.arrival_time,
            "extra time [s]": self._executor.extra_time,
            "returns": self._executor.returns,
            "rate": self._executor.pace.rate,
        }

    @property
    def beginning(self) -> str:
        """Status message at the start of the motion."""
        method, plan = self._parameters.method, self._plan
        if method == "pd":
            return "executing: pd, feedback drives the arm to the goal"
        return f"executing: {method}, {plan.status}, arrival at {plan.t_final:.6f} s"

    @property
    def end(self) -> str:
        """Status message on arrival."""
        if self._plan.t_final == 0.0 and not self._executor.returns:
            after = self._executor.arrival_time or 0.0
            if after < self._parameters.control_period:
                return "the arm is at the goal already; holding it"
            return f"reached the goal after {after:.6f} s by feedback; holding it"
        late = self._executor.extra_time or 0.0
        how = "as planned" if abs(late) < ON_TIME else f"{late:.6f} s later than planned"
        return f"reached the goal after {self._executor.arrival_time:.6f} s, {how}; holding it"

    @property
    def _delay_ns(self) -> int:
        return round(1e9 * self._parameters.transport_delay) if self._executor.timed else 0

    def _time(self, measured: MeasuredState) -> float:
        return (measured.stamp_ns - self._began_ns) * 1e-9

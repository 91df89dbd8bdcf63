"""Planned motion: the execution of a plan from a stamp on."""

from __future__ import annotations

import math
from typing import Any

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.core.checks import Vector
from manip_dyn.planning import PlanExecutor, Segment
from manip_dyn.planning.execution.sampled_motion import SAME
from manip_dyn.planning.execution.time_scaling import Pace
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from
from manip_dyn.ros.planner.departure import Departure
from manip_dyn.ros.planner.planning_process.task import PreparedPlan

ON_TIME = 5e-7
"""Largest delay of an arrival that is reported as planned, s."""


class PlannedMotion:
    """Executes a plan.

    Attributes:
        purpose: The goal of the plan.
        departure: Departure at which the plan begins; None at rest and after the begin.
        rows: Times, s, and efforts (n,), each held until the next, to publish.
        values: Named values for the status.
    """

    def __init__(
        self,
        robot: Robot,
        prepared: PreparedPlan,
        parameters: BangBangPlannerParameters,
        purpose: Any = None,
        departure: Departure | None = None,
    ):
        """Prepare the execution of a plan.

        Args:
            robot: The arm.
            prepared: The plan.
            parameters: The planner's parameters.
            purpose: The goal of the plan.
            departure: Departure at which the plan begins; default: at rest, at the next state.
        """
        self.purpose, self.departure = purpose, departure
        self._plan, self._parameters = prepared.plan, parameters
        plan = self._plan
        period = parameters.control_period
        horizon = period + parameters.transport_delay
        self._executor = PlanExecutor(
            robot, plan, horizon, tuning_from(parameters), period, reference=prepared.reference
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
        """Return whether it may begin before the state after this one."""
        if self.departure is None:
            return True
        stamp, period = self.departure.stamp_ns, round(1e9 * self._parameters.control_period)
        return stamp is not None and stamp < measured.stamp_ns + period

    @property
    def is_lost(self) -> bool:
        """Whether the arm can no longer reach the departure."""
        return self.departure is not None and self.departure.stamp_ns is None

    def is_late(self, measured: MeasuredState) -> bool:
        """Return whether the departure is lost or has passed."""
        if self.departure is None:
            return False
        stamp = self.departure.stamp_ns
        return stamp is None or (self.departure.moving and stamp < measured.stamp_ns)

    def begin(self, measured: MeasuredState) -> int:
        """Begin at a state; return the stamp at the plan's time 0."""
        stamp, departure = measured.stamp_ns, self.departure
        if departure is not None and departure.moving:
            stamp = departure.stamp_ns or stamp
            self._executor.begin_at(departure.motion.pace)
        elif departure is not None:
            stamp = max(departure.stamp_ns or stamp, stamp)
        self._began_ns = stamp + self._delay_ns
        return self._began_ns

    def departing(self, measured: MeasuredState, lead: float) -> Departure:
        """Return the departure from this plan `lead` s after a state.

        It coincides with a future control period, or with the end of the plan if that is earlier.
        """
        periods = max(math.ceil(lead / self._parameters.control_period - 1e-9), 1)
        stamp = measured.stamp_ns + round(1e9 * periods * self._parameters.control_period)
        t = 1e-9 * (stamp + self._delay_ns - self._began_ns)
        time = min(self._executor.plan_time(t), self._plan.t_final)
        return Departure(self, time, *self._plan.state(time), lead)

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp at a time of the plan, s; None if the arm does not follow the plan."""
        if not self._executor.goes_by_plan:
            return None
        return self._began_ns + round(1e9 * self._executor.time_of(time)) - self._delay_ns

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts for a measured state, see `PlanExecutor.segments`."""
        t = self._time(measured)
        if t >= 0.0 or self.departure is None:
            self.departure = None
            return self._executor.segments(t, measured.q, measured.v)
        # The error at the departure is the current error of the previous motion.
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
        """Come to rest as soon as possible, and stay there."""
        self._executor.stop(self._time(measured), measured.q, measured.v)

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
        """Rate and mass ratio with which the plan is followed."""
        return self._executor.pace

    @property
    def goes_by_plan(self) -> bool:
        """Whether the arm follows the plan, and not another motion."""
        return self._executor.goes_by_plan

    @property
    def missed(self) -> str:
        """Reason why the arm was stopped before its goal, or ""."""
        return self._executor.missed

    def returned(self) -> bool:
        """Return whether a return motion has begun since the last call."""
        before, self._returns = self._returns, self._executor.returns
        return self._returns > before

    @property
    def cost(self) -> dict[str, object]:
        """Named values of the arrival."""
        return {
            "arrival time [s]": self._executor.arrival_time,
            "extra time [s]": self._executor.extra_time,
            "returns": self._executor.returns,
            "rate": self._executor.pace.rate,
        }

    @property
    def beginning(self) -> str:
        """Status message at the begin."""
        method, plan = self._parameters.method, self._plan
        if method == "pd":
            return "executing: pd, feedback drives the arm to the goal"
        return f"executing: {method}, {plan.status}, arrival at {plan.t_final:.6f} s"

    @property
    def end(self) -> str:
        """Status message at the arrival."""
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

"""Motion of a plan, and the departure from it to the next plan."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import Noise
from manip_dyn.core.checks import Vector
from manip_dyn.planning import PlanExecutor, Segment
from manip_dyn.planning.execution.executor import Pace
from manip_dyn.planning.execution.sampled_motion import SAME
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_time
from manip_dyn.ros.messages.trajectories import trajectory_from
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from
from manip_dyn.ros.planner.planning_process.task import PreparedPlan


class DepartingMotion(Protocol):
    """The motion before a departure."""

    @property
    def pace(self) -> Pace:
        """Time rate at which the arm follows its plan, and the identified arm."""

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp (ns) of a plan time (s), or None if the arm has left the plan."""

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""

    def segments(self, measured: MeasuredState, until: float = 0.0) -> list[Segment]:
        """Return the efforts for a measured state, until a time (s) after it."""

    def load(self, measured: MeasuredState) -> Vector:
        """Return the efforts (n,) that hold the arm in addition to the model."""

    def interrupt(self) -> None:
        """Exclude the period after the next state from the identification of the arm."""

    def hold(self, duration_ns: int) -> None:
        """Delay the rest of the motion by a time in which the arm has not followed it, ns."""


@dataclass(frozen=True, eq=False)
class Departure:
    """A point on the plan of a motion. An arm that executes the plan more slowly reaches it later.

    Attributes:
        motion: The motion.
        time: Time on its plan, s.
        q: Positions (n,) of the plan at this time, rad or m.
        v: Velocities (n,) of the plan at this time, rad/s or m/s. An arm that follows the plan
            at another time rate has `v` times this rate, also at the start of the next motion.
        lead: Requested time from the goal to the departure, s.
    """

    motion: DepartingMotion
    time: float
    q: Vector
    v: Vector
    lead: float

    @property
    def moving(self) -> bool:
        """Whether the arm moves at the departure. An arm at rest can wait for the next motion."""
        return bool(np.any(self.v))

    @property
    def stamp_ns(self) -> int | None:
        """Stamp of the departure at the current pace, ns; None if the arm has left the plan."""
        return self.motion.stamp_at(self.time)


REMEMBERED = 4
"""Number of recent planning times."""
MARGIN = 1.5
"""Ratio of the lead to the longest recent planning time."""


class ReplanningLead:
    """Computes the lead time of a departure from recent planning times, measured by stamps."""

    def __init__(self) -> None:
        """Start without recent planning times."""
        self._took: deque[float] = deque(maxlen=REMEMBERED)

    def note(self, took: float) -> None:
        """Record the time from a goal to its plan, s."""
        self._took.append(took)

    def forget_one(self) -> None:
        """Remove the oldest planning time. Call this after a result without a moving departure."""
        if self._took:
            self._took.popleft()

    def seconds(self, least: float) -> float:
        """Return the lead of the next plan (s), which is at least `least`."""
        return max(least, MARGIN * max(self._took, default=0.0))


ON_TIME = 5e-7
"""Bound of the delay for which an arrival is reported to be as planned, s."""
AHEAD = 0.02
"""Longest time from the first command of a motion to its start, s."""


class PlannedMotion:
    """Executes a plan.

    Attributes:
        purpose: The goal of the plan.
        departure: Departure at which the plan begins; None for a start at rest, and once the plan
            has begun.
        message: Efforts of the plan, to publish. Its stamp is zero until the motion begins.
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
        horizon = period + parameters.delay
        self._executor = PlanExecutor(
            robot,
            plan,
            horizon,
            tuning_from(parameters),
            period,
            reference=prepared.reference,
            noise=None if noise is None else np.array(noise),
        )
        self._executor.prepare()
        self._began_ns = self._returns = 0
        self.message = trajectory_from(robot, 0, prepared.rows)
        switches = [[round(t, 9) for t in times] for times in plan.switch_times]
        self.values: dict[str, object] = {
            "plan": plan.status,
            "plan reason": plan.reason,
            "switch times [s]": dict(zip(robot.joint_names, switches, strict=True)),
            "final time [s]": plan.t_final,
            "transport delay [s]": parameters.delay,
        }
        if prepared.net_work is not None:
            self.values["net work [J]"] = prepared.net_work

    def rehearse(self) -> None:
        """Load the compiled functions of executions, see `PlanExecutor.rehearse`."""
        self._executor.rehearse()

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
        """Begin at a state; return the stamp of plan time zero, ns.

        A motion from rest starts several periods later. The commands before its start contain its
        first efforts, so that a late command does not delay the start.
        """
        stamp, departure = measured.stamp_ns + self._ahead_ns, self.departure
        if departure is not None and departure.moving:
            stamp = departure.stamp_ns or stamp
            self._executor.begin_at(departure.motion.pace)
        elif departure is not None:
            stamp = max(departure.stamp_ns or stamp, stamp)
        self._began_ns = stamp + self._delay_ns
        self.message.header.stamp = to_time(self._began_ns)
        return self._began_ns

    def departing(self, measured: MeasuredState, lead: float) -> Departure:
        """Return the departure from this plan that is `lead` seconds after a state.

        The lead is rounded up to whole control periods. The departure is not later than the end
        of the plan.
        """
        periods = max(math.ceil(lead / self._parameters.control_period - 1e-9), 1)
        stamp = measured.stamp_ns + round(1e9 * periods * self._parameters.control_period)
        t = 1e-9 * (stamp + self._delay_ns - self._began_ns)
        time = max(self._executor.plan_time(t), self._parameters.control_period)
        time = min(time, self._plan.t_final)
        return Departure(self, time, *self._plan.state(time), lead)

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp (ns) of a plan time (s), or None if the arm has left the plan."""
        if not self._executor.goes_by_plan:
            return None
        return self._began_ns + round(1e9 * self._executor.time_of(time)) - self._delay_ns

    def segments(self, measured: MeasuredState, until: float = 0.0) -> list[Segment]:
        """Return the efforts for a measured state, see `PlanExecutor.segments`."""
        t = self._time(measured)
        if t >= 0.0 or self.departure is None:
            self.departure = None
            return self._executor.segments(t, measured.q, measured.v, until)
        # Assume that the tracking error at the departure equals the current one.
        before, departure = self.departure.motion, self.departure
        q, v = before.planned(measured)
        there = departure.q + measured.q - q, before.pace.rate * departure.v + measured.v - v
        after = self._executor.segments(0.0, *there, until + t)
        begun = [segment._replace(offset=segment.offset - t) for segment in after]
        previous = before.segments(measured, until)
        return [segment for segment in previous if segment.offset < -t - SAME] + begun

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""
        t = self._time(measured)
        return self._executor.expected(t) or self._plan.state(t)

    def interrupt(self) -> None:
        """Exclude the period after the next state from the identification of the arm."""
        if self.departure is not None:
            self.departure.motion.interrupt()
        self._executor.interrupt()

    def load(self, measured: MeasuredState) -> Vector:
        """Return the efforts (n,) that hold the arm in addition to the model."""
        if self.departure is not None:
            return self.departure.motion.load(measured)
        return self._executor.load(measured.q)

    def hold(self, duration_ns: int) -> None:
        """Delay the rest of the motion by a time in which the arm has not followed it, ns."""
        if self.departure is not None:
            self.departure.motion.hold(duration_ns)
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
    def delay(self) -> float:
        """Delay from a command to its effect that was assumed at the start, s."""
        return self._parameters.delay

    @property
    def lead(self) -> float:
        """Delay from a command to its effect that is assumed now, s."""
        return self._executor.delay

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
        """Time rate at which the arm follows the plan, and the identified arm."""
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
        order = "later" if late > 0.0 else "earlier"
        how = "as planned" if abs(late) < ON_TIME else f"{abs(late):.6f} s {order} than planned"
        return f"reached the goal after {self._executor.arrival_time:.6f} s, {how}; holding it"

    @property
    def _delay_ns(self) -> int:
        return round(1e9 * self._parameters.delay)

    @property
    def _ahead_ns(self) -> int:
        """Time from the first command to the start, ns: whole periods in which it is valid.

        It is 0 if commands contain the efforts of one period only.
        """
        period, valid = self._parameters.control_period, self._parameters.command_periods
        periods = min(math.floor(AHEAD / period + 1e-9), max(valid - 1, 0))
        if self._parameters.switching == "sampled":
            periods = 0
        return round(1e9 * period * periods)

    def _time(self, measured: MeasuredState) -> float:
        return (measured.stamp_ns - self._began_ns) * 1e-9

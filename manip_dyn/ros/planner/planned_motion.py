"""A motion of the planner: its plan made ready, and what becomes of it from a stamp on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from manip_dyn.clik.control.continuity import Stamped
from manip_dyn.core.checks import Vector
from manip_dyn.planning import PlanExecutor, Segment
from manip_dyn.planning.execution.sampled_motion import SAME
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from
from manip_dyn.ros.planner.planning_process.task import PreparedPlan

ON_TIME = 5e-7
"""How much later than planned an arrival is that the sentence for people calls planned, s."""


class Departure(NamedTuple):
    """Where a motion that goes on can give way to another.

    Attributes:
        stamp_ns: Of the state there.
        q: Positions (n,), rad or m.
        v: Velocities (n,), rad/s or m/s.
        lead: How long before this was asked for, s.
    """

    stamp_ns: int
    q: Vector
    v: Vector
    lead: float


class PlannedMotion:
    """Executes a plan.

    Attributes:
        purpose: The goal that it was planned for.
        departure: What the plan begins at, if the arm moves there.
        rows: Times, s, and efforts (n,), each held until the next, to be published.
        told: Named values for people.
    """

    def __init__(
        self,
        robot: Robot,
        prepared: PreparedPlan,
        parameters: BangBangPlannerParameters,
        purpose: Any = None,
        departure: Departure | None = None,
    ):
        """Take a plan that is to be executed.

        Args:
            robot: The arm.
            prepared: The plan.
            parameters: The planner's.
            purpose: The goal that it was planned for.
            departure: What the plan begins at; default: at rest, at the first state that comes.
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
        self._before: PlannedMotion | None = None
        self.rows = prepared.rows
        switches = [[round(t, 9) for t in times] for times in plan.switch_times]
        self.told: dict[str, object] = {
            "plan": plan.status,
            "plan reason": plan.reason,
            "switch times [s]": dict(zip(robot.joint_names, switches, strict=True)),
            "final time [s]": plan.t_final,
            "net work [J]": prepared.net_work,
        }

    def is_due(self, measured: Stamped) -> bool:
        """Whether it may begin at a state."""
        return self.departure is None or measured.stamp_ns >= self.departure.stamp_ns

    def is_late(self, measured: Stamped) -> bool:
        """Whether the state that it was to begin at is past."""
        return self.departure is not None and measured.stamp_ns > self.departure.stamp_ns

    def begin(self, measured: Stamped) -> int:
        """Begin at a state; return the stamp at the plan's time 0."""
        stamp = measured.stamp_ns if self.departure is None else self.departure.stamp_ns
        self._began_ns = stamp + self._delay_ns
        return self._began_ns

    def departing(self, measured: Stamped, lead: float) -> Departure | None:
        """Return where it can give way `lead` s after a state; None where it is over by then.

        It is one of the states to come, by the control period, and on the plan: None if the arm
        does not go by the plan any more.
        """
        periods = max(math.ceil(lead / self._parameters.control_period - 1e-9), 1)
        stamp = measured.stamp_ns + round(1e9 * periods * self._parameters.control_period)
        there = self._executor.expected(1e-9 * (stamp + self._delay_ns - self._began_ns))
        return None if there is None else Departure(stamp, *there, lead)

    def segments(self, measured: Stamped) -> list[Segment]:
        """Return the efforts that answer a state, see `PlanExecutor.segments`."""
        t = self._time(measured)
        if t >= 0.0 or self._before is None or self.departure is None:
            return self._executor.segments(t, measured.q, measured.v)
        # The arm is as far from where it departs as it is from the motion before now.
        q, v = self._before.planned(measured)
        there = self.departure.q + measured.q - q, self.departure.v + measured.v - v
        after = self._executor.segments(0.0, *there)
        begun = [each._replace(offset=each.offset - t) for each in after]
        going = self._before.segments(measured)
        return [each for each in going if each.offset < -t - SAME] + begun

    def planned(self, measured: Stamped) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""
        t = self._time(measured)
        return self._executor.expected(t) or self._plan.state(t)

    def goes_on_from(self, before: PlannedMotion) -> None:
        """Keep the efforts of the motion before until the plan's time 0, if it departs from it."""
        self._before = None if self.departure is None else before

    def stop(self, measured: Stamped) -> None:
        """Come to rest soonest instead, and stay there."""
        self._executor.stop(self._time(measured), measured.q, measured.v)

    def is_over(self, measured: Stamped) -> bool:
        """Whether the goal has been held for as long as it is to be."""
        hold, arrival = self._parameters.hold_duration, self._executor.arrival_time
        if not hold or arrival is None:
            return False
        return self._time(measured) >= arrival + hold

    def late(self, measured: Stamped) -> float:
        """Return the time since the end of the plan, s; negative before it."""
        return self._time(measured) - self._plan.t_final

    @property
    def goal(self) -> Vector:
        """Where the plan leads to (n,)."""
        return self._plan.qf

    @property
    def arrived(self) -> bool:
        """Whether the arm rests at the goal."""
        return self._executor.arrived

    @property
    def rate(self) -> float:
        """At which the plan is followed, as a share of its own; below 1 by a heavier arm."""
        return self._executor.rate

    def returned(self) -> bool:
        """Whether a new motion to the goal was begun since this was asked last."""
        before, self._returns = self._returns, self._executor.returns
        return self._returns > before

    @property
    def cost(self) -> dict[str, object]:
        """What the arrival took, by name."""
        return {
            "arrival time [s]": self._executor.arrival_time,
            "extra time [s]": self._executor.extra_time,
            "returns": self._executor.returns,
            "rate": self._executor.rate,
        }

    @property
    def beginning(self) -> str:
        """What is to be done, in a sentence."""
        method, plan = self._parameters.method, self._plan
        if method == "pd":
            return "executing: pd, feedback alone leads to the goal"
        return f"executing: {method}, {plan.status}, arrival at {plan.t_final:.6f} s"

    @property
    def end(self) -> str:
        """What was done, in a sentence."""
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

    def _time(self, measured: Stamped) -> float:
        return (measured.stamp_ns - self._began_ns) * 1e-9

"""Planning tasks and their results, which can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning import Plan
from manip_dyn.planning.execution.executor import spacing
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.plan import Samples
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import clipped_to_limits
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, planner_from
from manip_dyn.ros.planner.planning_process.goal_postures import Aim


class PreparedPlan(NamedTuple):
    """A plan with the data for its execution.

    Attributes:
        plan: The plan.
        reference: Motion of the plan, sampled for `PlanExecutor`.
        rows: Times (s) and efforts (n,). Efforts are constant between the times.
        net_work: Largest magnitude of the net work of a link, J; None for a moving start.
    """

    plan: Plan
    reference: SampledMotion
    rows: Samples
    net_work: float | None

    @classmethod
    def of(cls, plan: Plan, parameters: BangBangPlannerParameters) -> PreparedPlan:
        """Prepare a plan for execution. May be slow."""
        period = parameters.control_period
        return cls(
            plan,
            SampledMotion.of(plan, spacing(period + parameters.transport_delay, period)),
            plan.samples(period),
            float(np.abs(plan.net_work).max()) if plan.v0 is None else None,
        )

    def portable(self) -> PreparedPlan:
        """Return the plan without certificates and with a tabulated motion, for pickling."""
        motion = None if self.plan.motion is None else TabulatedMotion(self.reference, self.rows)
        return self._replace(
            plan=replace(self.plan, motion=motion, certificate=None, extremal=None)
        )


@dataclass(frozen=True, eq=False)
class TabulatedMotion:
    """Motion of a plan, represented by samples."""

    reference: SampledMotion
    rows: Samples

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""
        return self.reference.times

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        return self.reference.state(t)

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) immediately after time `t`, s."""
        return self.reference.efforts[self.reference.cell(t)]

    def samples(self, _period: float) -> Samples:
        """Return the stored times (s) and efforts (n,), independent of the period."""
        return self.rows


@dataclass(frozen=True, eq=False)
class PlanningTask:
    """Input of the planner.

    Attributes:
        parameters: The planner's parameters, with the method.
        aim: Target of the goal.
        q: Initial positions (n,), rad or m.
        v: Initial velocities (n,), rad/s or m/s; None for a start at rest.
    """

    parameters: BangBangPlannerParameters
    aim: Aim
    q: Vector
    v: Vector | None = None

    def solved(self, robot: Robot) -> PreparedPlan:
        """Plan the motion. May be slow.

        Raises:
            ManipDynError: If no plan was found.
        """
        plan = planner_from(self.parameters)
        goal = self.aim.posture(robot, self.q)
        if self.v is None:
            solution = plan(robot, clipped_to_limits(robot, self.q), goal)
        else:
            solution = plan(robot, self.q, goal, v0=self.v)
        return PreparedPlan.of(solution, self.parameters)

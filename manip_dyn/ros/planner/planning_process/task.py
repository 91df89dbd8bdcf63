"""Planning tasks, their goals and their results, which can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from manip_dyn import clik
from manip_dyn.collision import Scene, check_motion
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan, Progress
from manip_dyn.planning.execution.motion_scheduler import spacing
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.slow_start import with_slow_start
from manip_dyn.planning.plan import Samples
from manip_dyn.robot import Robot
from manip_dyn.robot.pinocchio_model import Oracle
from manip_dyn.ros.diagnostics import clipped_to_limits
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, planner_from

SAMPLES = 20
"""Number of postures at which the directions of tool motion are computed."""


class OutOfReachError(ManipDynError):
    """No posture was found for a tool pose."""


class CollisionError(ManipDynError):
    """A planned motion is not proved to be free of collisions."""


class Aim(Protocol):
    """Interface of the target of a goal. It can be sent to another process."""

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return the goal posture (n,) of an arm at the positions `here` (n,). May be slow."""


class Goal(Protocol):
    """Interface of a request to move the arm."""

    @property
    def aim(self) -> Aim:
        """The target."""


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Joint positions `q` (n,), rad or m."""

    q: Vector

    @property
    def aim(self) -> JointGoal:
        """The goal itself."""
        return self

    def posture(self, _robot: Robot, _here: Vector) -> Vector:
        """Return the joint positions of the goal (n,)."""
        return self.q


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A pose of the tool in the base frame."""

    pose: clik.Pose

    @property
    def aim(self) -> PoseGoal:
        """The goal itself."""
        return self

    def posture(self, robot: Robot, here: Vector) -> Vector:
        """Return the posture (n,) near `here` (n,) with the tool at the pose.

        For arms with fewer than six joints, only the position is used, along the axes in which
        the tool can move.

        Raises:
            OutOfReachError: If no posture was found.
        """
        try:
            return clik.posture_for(robot, self.pose, here, controlled=controllable(robot))
        except ManipDynError as error:
            raise OutOfReachError(str(error)) from error


def controllable(robot: Robot) -> list[bool]:
    """Return flags (6,) of the pose components to reach: x, y, z, and rotations about the axes.

    An arm with at least six joints must reach all components. With fewer joints, only the
    positions along the axes in which the tool can move are reached.
    """
    if robot.n >= 6:
        return [True] * 6
    rng, kinematics = np.random.default_rng(0), Oracle(robot)
    postures = rng.uniform(-1.0, 1.0, (SAMPLES, robot.n))
    motion = np.max([np.abs(kinematics.jacobian(q)[:3]).max(axis=1) for q in postures], axis=0)
    return [*(motion > 1e-9).tolist(), False, False, False]


class PreparedPlan(NamedTuple):
    """A plan with the data for its execution.

    Attributes:
        plan: The plan, with a slow start if it would be too fast.
        reference: Motion of the plan, sampled for `PlanExecutor`.
        rows: Times (s) and efforts (n,), N m or N. Efforts are held constant between these times.
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
        horizon = period + parameters.delay
        plan = with_slow_start(plan, horizon)
        return cls(
            plan,
            SampledMotion.of(plan, spacing(horizon, period)),
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
    """Motion of a plan, represented by samples, which another process can receive.

    Attributes:
        reference: States and efforts in cells.
        rows: Samples of the efforts.
    """

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

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        efforts = self.reference.efforts
        cells = self.reference.times.searchsorted(times, side="right") - 1
        return *self.reference.states(times), efforts[np.clip(cells, 0, len(efforts) - 1)]

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
        scene: Objects around the arm, or None if collisions are not considered.
    """

    parameters: BangBangPlannerParameters
    aim: Aim
    q: Vector
    v: Vector | None = None
    scene: Scene | None = None

    def solved(
        self, robot: Robot, report: Callable[[Progress], object] | None = None
    ) -> PreparedPlan:
        """Plan the motion. May be slow.

        Args:
            robot: The arm.
            report: Function that is called with the progress of the method minimum_time.

        Raises:
            CollisionError: If the motion is not proved to be free of collisions.
            ManipDynError: If no plan was found.
        """
        plan = planner_from(self.parameters)
        goal = self.aim.posture(robot, self.q)
        options = {"progress": report} if self.parameters.method == "minimum_time" else {}
        if self.v is None:
            solution = plan(robot, clipped_to_limits(robot, self.q), goal, **options)
        else:
            solution = plan(robot, self.q, goal, v0=self.v, **options)
        if self.scene is not None:
            check = check_motion(robot, solution, self.scene)
            if not check.clear:
                raise CollisionError(f"the plan is not clear: {check.reason}")
        return PreparedPlan.of(solution, self.parameters)

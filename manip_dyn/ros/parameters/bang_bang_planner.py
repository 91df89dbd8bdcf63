"""Parameters of the planner, and functions that create its objects from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Tuning, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.execution.feedback import REPLAN
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.common import (
    CommandParameters,
    JointStateParameters,
    RecordedParameters,
    RobotParameters,
    SceneParameters,
    excessive_delay,
)
from manip_dyn.ros.parameters.declaration import NumberOrWord, Numbers, parameter


def plan_none(robot: Robot, _q0: Vector, qf: Vector):
    """Return a plan of zero duration at the goal `qf` (n,). Feedback drives the arm there."""
    return plan_zero_net_work(robot, qf, qf)


PLANNERS: dict[str, Callable[..., Any]] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
    "pd": plan_none,
}


@dataclass(frozen=True)
class BangBangPlannerParameters(
    CommandParameters,
    RecordedParameters,
    JointStateParameters,
    SceneParameters,
    RobotParameters,
):
    """Parameters of the bang-bang planner node."""

    method: str = parameter(
        "zero_net_work",
        "Planning method; pd: no plan, feedback drives the arm to the goal",
        choices=tuple(PLANNERS),
        dynamic=True,
    )
    goal: Numbers = parameter(
        (), "Goal of all joints, in joint order; not set: wait for ~/goal", "rad or m"
    )
    autostart: bool = parameter(
        True,
        "Whether to start the motion to the parameter goal once joint states arrive and the "
        "efforts have subscribers",
    )
    replanning_lead: float = parameter(
        0.5,
        "For minimum_time: smallest time from a new goal to the departure from the current "
        "motion, in which the new motion is planned; 0: the arm is stopped first",
        "s",
        0.0,
        10.0,
        dynamic=True,
    )
    control_period: float = parameter(1e-3, "Time between joint states", "s", 1e-6, 10.0)
    transport_delay: NumberOrWord = parameter(
        "auto",
        "Delay from a command to its effect, used in predictions; auto: the loop delay measured "
        "before the motion, or 0 before the first measurement",
        "s",
        0.0,
        1.0,
        choices=("auto",),
    )
    switching: str = parameter(
        "exact",
        "exact: publish a switch within a period with its exact time on the effort trajectory "
        "topic; sampled: publish the mean effort of the period on the command topic",
        choices=("exact", "sampled"),
    )
    slew_rate: float = parameter(
        0.0,
        "Largest rate of change of the efforts, for zero_net_work; 0: unlimited",
        "N m/s or N/s",
        0.0,
        1e12,
    )
    planning_budget: float = parameter(
        0.0,
        "CPU time to plan a motion with minimum_time; 0: 1 s for up to two joints, 3 s for more",
        "s",
        0.0,
        1e6,
    )
    stiffness: float = parameter(
        Tuning.stiffness, "Acceleration per position error", "1/s^2", 0.0, 1e6
    )
    damping: float = parameter(Tuning.damping, "Acceleration per velocity error", "1/s", 0.0, 1e6)
    integral: float = parameter(
        Tuning.integral,
        "Rate of the acceleration per position error, used after the end of the planned motion",
        "1/s^3",
        0.0,
        1e9,
    )
    off_plan: float = parameter(
        Tuning.off_plan,
        "Position error of a joint above which the arm has left its plan, see replan; 0: never",
        "rad or m",
        0.0,
        1e6,
    )
    replan: str = parameter(
        Tuning.replan,
        "Response of an arm that has left its plan; stop: stop and hold the position; resume: "
        "stop and follow the rest of the path; new_motion: move straight to the goal",
        choices=REPLAN,
    )
    max_deviation: float = parameter(
        Tuning.max_deviation,
        "Largest distance of a joint from the path with which the arm brakes along the path; "
        "farther away, it brakes all joints at once",
        "rad or m",
        1e-9,
        1e6,
    )
    arrival_tolerance: float = parameter(
        Tuning.tolerance,
        "Largest position error with which the arm has arrived at its goal; its largest speed "
        "there is ten times this value, in rad/s or m/s",
        "rad or m",
        1e-12,
        1.0,
    )
    state_timeout: float = parameter(
        1.0,
        "Wall time without joint states after which the planner gives up a motion; 0: never",
        "s",
        0.0,
        1e6,
    )
    hold_duration: float = parameter(
        0.0,
        "Time after arrival for which feedback holds the goal; 0: unlimited",
        "s",
        0.0,
        1e6,
    )
    rest_speed: float = parameter(
        1e-3,
        "Largest joint speed of an arm at rest; noise of the measured speeds is added",
        "rad/s or m/s",
        0.0,
        10.0,
    )
    command_topic: str = parameter("simulator/commands", "Topic of effort commands")
    effort_trajectory_topic: str = parameter(
        "simulator/effort_trajectory", "Topic for switches within a period"
    )

    @property
    def delay(self) -> float:
        """The number `transport_delay`, s; 0 for "auto", see `with_delay`."""
        return 0.0 if isinstance(self.transport_delay, str) else self.transport_delay

    def with_delay(self, measured: float) -> BangBangPlannerParameters:
        """Return parameters with the measured delay (s) in place of "auto"."""
        automatic = isinstance(self.transport_delay, str)
        return replace(self, transport_delay=measured) if automatic else self


def planner_from(parameters: BangBangPlannerParameters) -> Callable[..., Any]:
    """Return a function that plans a motion of a robot from a start (n,) to a goal (n,).

    Only zero_net_work limits the slew rate. Only minimum_time accepts initial velocities `v0`, and
    a function `progress`.

    Raises:
        ManipDynError: If a slew rate or a planning budget is set for another method, or a scene is
            set for the method pd.
    """
    method, slew_rate = parameters.method, parameters.slew_rate
    if slew_rate and method != "zero_net_work":
        raise ManipDynError(
            f"parameter 'slew_rate' must be 0 with the method '{method}', got {slew_rate:g}. Only "
            "'zero_net_work' limits the slew rate."
        )
    if parameters.scene and method == "pd":
        raise ManipDynError(
            "parameter 'scene' must be empty with the method 'pd', which has no plan to check, "
            f"got '{parameters.scene}'."
        )
    if parameters.planning_budget and method != "minimum_time":
        raise ManipDynError(
            f"parameter 'planning_budget' must be 0 with the method '{method}', got "
            f"{parameters.planning_budget:g}. Only 'minimum_time' has a budget."
        )
    options = {"slew_rate": slew_rate, "budget": parameters.planning_budget}
    options = {name: value for name, value in options.items() if value}

    def plan(robot: Robot, q0: Vector, qf: Vector, **others: Any) -> Any:
        return PLANNERS[method](robot, q0, qf, **options, **others)

    return plan


def tuning_from(parameters: BangBangPlannerParameters) -> Tuning:
    """Return the gains and thresholds of the executor. The method pd ignores `off_plan`."""
    limited = parameters.off_plan and parameters.method != "pd"
    return Tuning(
        parameters.stiffness,
        parameters.damping,
        parameters.integral,
        parameters.off_plan if limited else math.inf,
        parameters.arrival_tolerance,
        parameters.max_deviation,
        parameters.replan,
    )


def check_delay(parameters: BangBangPlannerParameters) -> None:
    """Raise `ManipDynError` if `transport_delay` exceeds the delay margin of the feedback."""
    names = "stiffness", "damping", "integral"
    gains = {name: getattr(parameters, name) for name in names}
    problem = excessive_delay(parameters.transport_delay, gains, parameters.control_period)
    if problem:
        raise ManipDynError(problem)


def goal_from(parameters: BangBangPlannerParameters, robot: Robot) -> Vector | None:
    """Return the goal (n,) from the parameters, or None if it is not set.

    Raises:
        ManipDynError: If the goal has the wrong length or exceeds a limit.
    """
    if not parameters.goal:
        return None
    goal = finite_vector("parameter 'goal'", parameters.goal, robot.n)
    robot.check_within_limits("goal", goal)
    return goal

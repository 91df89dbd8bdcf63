"""Tasks of sweep files: plan, simulate, track, and execution.

A task imports its planner or simulator on first use, so a worker loads only the modules it needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from manip_dyn.core.checks import Vector, finite, finite_vector, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.robot import Robot, load_robot

if TYPE_CHECKING:
    from manip_dyn.planning import Plan

Settings = Mapping[str, Any]
PLANNERS = ("zero_net_work", "minimum_time")
FEEDBACK_ALONE = "pd"
CONDITIONS = tuple(item.name for item in fields(Conditions))
GAINS = ("stiffness", "damping", "integral", "off_plan")
INTEGRATION = ("step", "method", "rtol", "atol", "order", "taylor_order", "stop_at_limits")
CIRCLE, CLIK = ("ramp", "follow_tangent"), ("gain", "inverse", "orientation_error")
AXES = {"normal": (0.0, 0.0, 1.0), "first": (1.0, 0.0, 0.0), "rpy": (0.0, 0.0, 0.0)}


def plan_case(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return duration, number of switches, first switch and largest net work of a plan."""
    method = _choice("method", settings["method"], PLANNERS)
    start, goal = (_posture(robot, settings, name) for name in ("start", "goal"))
    plan = _planner(method)(robot, start, goal, **_subset(settings, "slew_rate"))
    return {
        "t_final": plan.t_final,
        "switches": sum(len(times) for times in plan.switch_times),
        "t_switch": plan.t_switch,
        "net_work": float(np.abs(plan.net_work).max()),
        **_outcome(plan),
    }


def simulate_case(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return the final state under constant efforts, the energy balance, and step counts."""
    from manip_dyn.simulation import simulate

    q0, v0, tau = (_posture(robot, settings, name) for name in ("start", "velocity", "effort"))
    duration = positive("duration", settings["duration"], "s")
    options = _subset(settings, *INTEGRATION)
    result = simulate(robot, q0, v0, tau, duration, sample_period=duration, **options)
    return {
        "time": float(result.t[-1]),
        "q": result.q[-1],
        "v": result.v[-1],
        "energy_residual": float(np.abs(result.energy[:, 3]).max()),
        "saturated": bool(result.saturated.any()),
        "steps": result.statistics.steps,
        "evaluations": result.statistics.evaluations,
        **_outcome(result),
    }


def track_case(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return the largest errors along a tracked circle and the smallest singular value."""
    from scipy.spatial.transform import Rotation

    from manip_dyn.clik import Circle, ClikSettings, middle_posture, posture_for, track

    center = finite_vector("center", settings["center"], 3)
    normal, first, rpy = (finite_vector(k, settings.get(k, v), 3) for k, v in AXES.items())
    tool = Rotation.from_euler("xyz", rpy).as_matrix()
    speed, rate = settings.get("speed", 0.1), settings.get("rate", 0.2)
    circle = Circle(center, normal, first, tool, speed, rate, **_subset(settings, *CIRCLE))
    guess = _posture(robot, settings, "start") if "start" in settings else middle_posture(robot)
    law = ClikSettings(**_subset(settings, *CLIK))
    q0 = posture_for(robot, circle.pose(0.0), guess)
    options = _subset(settings, "method", "step", "duration")
    result = track(robot, circle, q0=q0, settings=law, **options)
    return {
        "time": float(result.t[-1]),
        "position_error": float(result.position_error.max()),
        "orientation_error_max": float(result.orientation_error.max()),
        "smallest_singular_value": float(result.smallest_singular_value.min()),
        "smallest_speed_scale": float(result.scale.min()),
        **_outcome(result),
    }


def execute_case(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return arrival time, overshoot and final error of a plan executed under `Conditions`."""
    from manip_dyn.ensembles.sweeps.closed_loop.execution import execute
    from manip_dyn.planning import Tuning

    method = _choice("method", settings["method"], (*PLANNERS, FEEDBACK_ALONE))
    start, goal = (_posture(robot, settings, name) for name in ("start", "goal"))
    gains = _subset(settings, *GAINS)
    if method == FEEDBACK_ALONE:
        hold = _cached_plan(robot, "zero_net_work", tuple(goal.tolist()), tuple(goal.tolist()))
        plan, gains["off_plan"] = replace(hold, q0=start), math.inf
        robot.check_within_limits("start", start)
    else:
        plan = _cached_plan(robot, method, tuple(start.tolist()), tuple(goal.tolist()))
    conditions = Conditions(**_subset(settings, *CONDITIONS))
    result = execute(plan, conditions, Tuning(**gains))
    arrived = not math.isnan(result.arrival_time)
    direction = np.sign(plan.qf - plan.q0)
    return {
        "planned_time": plan.t_final,
        "arrival_time": result.arrival_time if arrived else None,
        "final_error": float(np.abs(result.q[-1] - goal).max()),
        "overshoot": float(np.maximum(direction * (result.q - plan.qf), 0.0).max()),
        "returns": result.returns,
        **_outcome(result),
    }


@dataclass(frozen=True)
class TaskType:
    """A kind of task: its function, its settings and the columns of its results.

    Attributes:
        run: Function that returns the results of a case from a robot and its settings.
        settings: Names of all settings.
        required: Names of settings without a default.
        vectors: Names of settings with one number per joint.
        strings: Names of settings that are strings.
        columns: Kinds of the columns of the results.
    """

    run: Callable[[Robot, Settings], dict[str, Any]]
    settings: tuple[str, ...]
    required: tuple[str, ...]
    vectors: tuple[str, ...]
    strings: tuple[str, ...]
    columns: Mapping[str, str]


TASKS = {
    "plan": TaskType(
        plan_case,
        settings=("method", "start", "goal", "slew_rate"),
        required=("method", "goal"),
        vectors=("start", "goal"),
        strings=("method",),
        columns={
            "t_final": "number",
            "switches": "whole",
            "t_switch": "number",
            "net_work": "number",
        },
    ),
    "simulate": TaskType(
        simulate_case,
        settings=("start", "velocity", "effort", "duration", *INTEGRATION),
        required=("duration",),
        vectors=("start", "velocity", "effort"),
        strings=("method",),
        columns={
            "time": "number",
            "q": "numbers",
            "v": "numbers",
            "energy_residual": "number",
            "saturated": "yes",
            "steps": "whole",
            "evaluations": "whole",
        },
    ),
    "track": TaskType(
        track_case,
        settings=(
            *("center", "normal", "first", "rpy", "speed", "rate", "start"),
            *CIRCLE,
            *CLIK,
            *("method", "step", "duration"),
        ),
        required=("center",),
        vectors=("start",),
        strings=("inverse", "orientation_error", "method"),
        columns={
            "time": "number",
            "position_error": "number",
            "orientation_error_max": "number",
            "smallest_singular_value": "number",
            "smallest_speed_scale": "number",
        },
    ),
    "execution": TaskType(
        execute_case,
        settings=("method", "start", "goal", *CONDITIONS, *GAINS),
        required=("method", "goal"),
        vectors=("start", "goal", "disturbance", "friction"),
        strings=("method",),
        columns={
            "planned_time": "number",
            "arrival_time": "number",
            "final_error": "number",
            "overshoot": "number",
            "returns": "whole",
        },
    ),
}


@dataclass(frozen=True)
class Task:
    """A task with its robot and fixed settings, callable with the values of a case.

    Attributes:
        name: One of `TASKS`.
        robot: Keyword arguments of `load_robot`.
        fixed: Settings shared by all cases.
    """

    name: str
    robot: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the name of the task, and that robot and settings can be stored as JSON."""
        if not isinstance(self.name, str) or self.name not in TASKS:
            hint = closest(str(self.name), TASKS)
            raise ManipDynError(f"task must be the name of a task, got '{self.name}'{hint}")
        for what, settings in (("robot", self.robot), ("fixed", self.fixed)):
            try:
                json.dumps(dict(settings))
            except (TypeError, ValueError, RecursionError) as error:
                raise ManipDynError(
                    f"{what} must map names to numbers, strings or lists, got "
                    f"{str(settings)[:80]}."
                ) from error

    def __call__(self, **case: Any) -> dict[str, Any]:
        """Return the results of a case."""
        robot = self._load_robot()
        settings = {**self.fixed, **case}
        for name, (vector, joint) in self._components(robot).items():
            if name in settings:
                values = _posture(robot, settings, vector).tolist()
                values[joint] = finite(name, settings.pop(name))
                settings[vector] = values
        return self._type.run(robot, settings)

    def check(self, varied: tuple[str, ...]) -> None:
        """Check the names of fixed and varied settings.

        Raises:
            ManipDynError: If a setting is unknown, missing, or both fixed and varied, or if the
                robot cannot be loaded.
        """
        components = self._components(self._load_robot())
        names = (*self._type.settings, *components)
        for name in (*self.fixed, *varied):
            if name not in names:
                hint = closest(name, names)
                raise ManipDynError(
                    f"setting must be a setting of task '{self.name}', got '{name}'{hint}"
                )
        for name in varied:
            if name in self.fixed:
                raise ManipDynError(f"'{name}' must be either fixed or varied, got both.")
        settings = {*self.fixed, *varied}
        settings |= {vector for name, (vector, _) in components.items() if name in settings}
        for name in self._type.required:
            if name not in settings:
                raise ManipDynError(f"task '{self.name}' requires the setting '{name}'.")

    def _load_robot(self) -> Robot:
        """Load the robot once per process."""
        return _cached_robot(json.dumps(self.robot, sort_keys=True))

    def _components(self, robot: Robot) -> dict[str, tuple[str, int]]:
        """Return vector and joint index for each setting of one joint, such as ``goal_elbow``."""
        return {
            f"{vector}_{joint}": (vector, i)
            for vector in self._type.vectors
            for i, joint in enumerate(robot.joint_names)
        }

    @property
    def columns(self) -> dict[str, str]:
        """Kinds of the columns of the results."""
        return dict(self._type.columns)

    @property
    def strings(self) -> tuple[str, ...]:
        """Names of settings that are strings; others are numbers, booleans or lists."""
        return self._type.strings

    @property
    def identity(self) -> str:
        """Unique description of task, robot and fixed settings."""
        return json.dumps([self.name, dict(self.robot), dict(self.fixed)], sort_keys=True)

    @property
    def _type(self) -> TaskType:
        return TASKS[self.name]


@lru_cache(maxsize=16)
def _cached_robot(keywords: str) -> Robot:
    return load_robot(**json.loads(keywords))


@lru_cache(maxsize=8)
def _cached_plan(
    robot: Robot, method: str, start: tuple[float, ...], goal: tuple[float, ...]
) -> Plan:
    ends = (finite_vector("start", start, robot.n), finite_vector("goal", goal, robot.n))
    return _planner(method)(robot, *ends)


def _planner(method: str) -> Callable[..., Plan]:
    from manip_dyn.planning import plan_minimum_time, plan_zero_net_work

    if method == "zero_net_work":
        return plan_zero_net_work
    return partial(plan_minimum_time, budget=None)  # independent of the machine's speed


def _posture(robot: Robot, settings: Settings, name: str) -> Vector:
    """Return a setting with one number per joint (n,). Default: zeros."""
    return finite_vector(name, settings.get(name, np.zeros(robot.n)), robot.n)


def _subset(settings: Settings, *names: str) -> dict[str, Any]:
    """Return the settings with these names, without those that are not set."""
    return {name: settings[name] for name in names if name in settings}


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ManipDynError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
    return str(value)


def _outcome(result: Any) -> dict[str, Any]:
    """Return success, status and reason of a result by name."""
    status = getattr(result.status, "name", result.status)
    return {"success": result.success, "status": str(status).lower(), "reason": result.reason}

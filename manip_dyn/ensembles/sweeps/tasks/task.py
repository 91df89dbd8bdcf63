"""A task with its robot and what all cases have in common: a function of the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from manip_dyn.core.checks import finite
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.ensembles.sweeps.tasks.problem import posture, robot_of
from manip_dyn.robot import Robot

TASKS = ("plan", "simulate", "track", "execution")
"""Modules of this folder.

Each has the names of its `SETTINGS`, those that are `NEEDED`, those that are `TEXTS`, those that
are `VECTORS` with a part for each joint, the kinds of its `COLUMNS`, and `run`.
"""


@dataclass(frozen=True)
class Task:
    """Calls a task by the values of a case.

    Attributes:
        name: One of `TASKS`.
        robot: Keywords of `load_robot`.
        fixed: Settings that all cases have.
    """

    name: str
    robot: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the name and the settings."""
        if self.name not in TASKS:
            raise ManipDynError(f"task is '{self.name}'{closest(str(self.name), TASKS)}")
        for what, given in (("robot", self.robot), ("fixed", self.fixed)):
            try:
                json.dumps(dict(given))
            except (TypeError, ValueError, RecursionError) as error:
                raise ManipDynError(
                    f"{what} is {str(given)[:80]}; expected names with numbers, texts and lists"
                ) from error

    def __call__(self, **case: Any) -> dict[str, Any]:
        """Return the results of a case."""
        robot = robot_of(self.robot)
        joined = {**self.fixed, **case}
        for name, (vector, joint) in self._parts(robot).items():
            if name in joined:
                whole = posture(robot, joined, vector).tolist()
                whole[joint] = finite(name, joined.pop(name))
                joined[vector] = whole
        return self._module.run(robot, joined)

    def check(self, varied: tuple[str, ...]) -> None:
        """Refuse settings that the task has not, or that are missing or given twice.

        Raises:
            ManipDynError: If there are any, or the robot cannot be loaded.
        """
        parts = self._parts(robot_of(self.robot))
        known = (*self._module.SETTINGS, *parts)
        for name in (*self.fixed, *varied):
            if name not in known:
                hint = closest(name, known)
                raise ManipDynError(f"task '{self.name}' has no setting '{name}'{hint}")
        for name in varied:
            if name in self.fixed:
                raise ManipDynError(f"'{name}' is fixed and varied; expected one of both")
        given = {*self.fixed, *varied}
        given |= {vector for part, (vector, _) in parts.items() if part in given}
        for name in self._module.NEEDED:
            if name not in given:
                raise ManipDynError(f"task '{self.name}' has no '{name}'; expected it, too")

    def _parts(self, robot: Robot) -> dict[str, tuple[str, int]]:
        """Return settings that are one joint's part of a vector, such as ``goal_elbow``."""
        return {
            f"{vector}_{joint}": (vector, i)
            for vector in self._module.VECTORS
            for i, joint in enumerate(robot.joint_names)
        }

    @property
    def columns(self) -> dict[str, str]:
        """Kinds of the columns of its results."""
        return dict(self._module.COLUMNS)

    @property
    def texts(self) -> tuple[str, ...]:
        """Settings that are texts; others are numbers, truth values or lists."""
        return self._module.TEXTS

    @property
    def identity(self) -> str:
        """What tells it from others."""
        return json.dumps([self.name, dict(self.robot), dict(self.fixed)], sort_keys=True)

    @property
    def _module(self) -> Any:
        return import_module(f"manip_dyn.ensembles.sweeps.tasks.{self.name}")

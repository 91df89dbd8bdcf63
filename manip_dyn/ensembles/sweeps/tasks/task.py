"""A task with its robot and what all cases have in common: a function of the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.ensembles.sweeps.tasks.problem import robot_of

TASKS = ("plan", "simulate", "track", "execution")
"""Modules of this folder, each with `SETTINGS`, `NEEDED`, `COLUMNS` and `run`."""


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

    def __call__(self, **case: Any) -> dict[str, Any]:
        """Return the results of a case."""
        return self._module.run(robot_of(self.robot), {**self.fixed, **case})

    def check(self, varied: tuple[str, ...]) -> None:
        """Refuse settings that the task has not, or that are missing or given twice.

        Raises:
            ManipDynError: If there are any, or the robot cannot be loaded.
        """
        for name in (*self.fixed, *varied):
            if name not in self._module.SETTINGS:
                hint = closest(name, self._module.SETTINGS)
                raise ManipDynError(f"task '{self.name}' has no setting '{name}'{hint}")
        for name in varied:
            if name in self.fixed:
                raise ManipDynError(f"'{name}' is fixed and varied; expected one of both")
        for name in self._module.NEEDED:
            if name not in (*self.fixed, *varied):
                raise ManipDynError(f"task '{self.name}' has no '{name}'; expected it, too")
        robot_of(self.robot)

    @property
    def columns(self) -> dict[str, str]:
        """Kinds of the columns of its results."""
        return dict(self._module.COLUMNS)

    @property
    def identity(self) -> str:
        """What tells it from others."""
        return json.dumps([self.name, dict(self.robot), dict(self.fixed)], sort_keys=True)

    @property
    def _module(self) -> Any:
        return import_module(f"manip_dyn.ensembles.sweeps.tasks.{self.name}")

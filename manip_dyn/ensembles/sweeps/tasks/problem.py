"""What the tasks share: a robot, and settings that are checked by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot, load_robot

Settings = Mapping[str, Any]


def robot_of(given: Mapping[str, Any]) -> Robot:
    """Return the robot of keywords of `load_robot`, loaded once in a process."""
    return _loaded(json.dumps(given, sort_keys=True))


@lru_cache(maxsize=16)
def _loaded(given: str) -> Robot:
    return load_robot(**json.loads(given))


def posture(robot: Robot, settings: Settings, name: str) -> Vector:
    """Return positions (n,); zeros where nothing is said."""
    return finite_vector(name, settings.get(name, np.zeros(robot.n)), robot.n)


def some(settings: Settings, *names: str) -> dict[str, Any]:
    """Return those of the settings that are given."""
    return {name: settings[name] for name in names if name in settings}


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """Return a value that is one of the known ones."""
    if value not in known:
        raise ManipDynError(f"{name} is {value!r}; expected one of {', '.join(known)}")
    return str(value)

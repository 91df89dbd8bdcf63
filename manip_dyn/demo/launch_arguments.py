"""Checks of launch arguments, and the robot that they select."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import read_yaml
from manip_dyn.demo.scenarios import Scenario
from manip_dyn.robot import load_robot, lock_from, xacro_arguments_from

OF_ROBOTS = ("urdf", "tip", "xacro_arguments")
OF_SIMULATORS = ("mass_scale", "disturbance_duration")


def check_arguments(
    scenario: Scenario,
    values: Mapping[str, str],
    argv: Sequence[str],
    command: Sequence[str],
    files: Collection[str],
) -> None:
    """Raise if a launch argument is unknown or has no effect in the scenario.

    Args:
        scenario: The scenario.
        values: The value of every known launch argument.
        argv: The words after the launch file on the command line, as ``NAME:=VALUE``.
        command: The whole command line. If it starts a launch file of another package that
            includes one of ours, unknown arguments are not checked.
        files: Names of the launch files of this package.

    Raises:
        ManipDynError: At the first invalid argument.
    """
    for name, value in check_known(values, argv, command, files).items():
        if values[name] != value:
            raise ManipDynError(
                f"launch argument '{name}' must be '{values[name]}' in this launch file, "
                f"got '{value}'; use scenario.launch.py"
            )
    for names, node in ((OF_ROBOTS, "arm"), (OF_SIMULATORS, "simulator")):
        has = node in scenario.nodes or (node == "arm" and "mechanism" not in scenario.nodes)
        useless = next((name for name in names if values[name]), None)
        if useless and not has:
            raise ManipDynError(
                f"launch argument '{useless}' must be omitted for scenario '{scenario.name}', "
                f"which has no {node}, got '{values[useless]}'"
            )
    if not Path(values["params_file"]).is_file():
        raise ManipDynError(f"params_file must be an existing file, got '{values['params_file']}'")


def check_known(
    names: Collection[str], argv: Sequence[str], command: Sequence[str], files: Collection[str]
) -> dict[str, str]:
    """Return the launch arguments on the command line as {name: value}.

    See `check_arguments` for the arguments.

    Raises:
        ManipDynError: If one of them is unknown.
    """
    if not any(Path(word).name in files for word in command):
        return {}
    arguments = dict(word.split(":=", 1) for word in argv if ":=" in word)
    for name in arguments:
        if name not in names:
            raise ManipDynError(f"launch argument '{name}' is unknown{closest(name, names)}")
    return arguments


def description_of(values: Mapping[str, str]) -> tuple[str, str]:
    """Return the URDF and the root link of the robot that the nodes move.

    Args:
        values: The launch arguments; empty ones are read from the parameters file.
    """
    settings = read_yaml(Path(values["params_file"]), _first_robot)
    source = values["urdf"] or settings.get("robot", "pa10")
    tip = values["tip"] or ("" if values["urdf"] else settings.get("tip", ""))
    lock = lock_from(settings.get("lock", ""))
    arguments = values["xacro_arguments"] or settings.get("xacro_arguments", "")
    robot = load_robot(source, lock, tip or None, xacro_args=xacro_arguments_from(arguments))
    return robot.urdf, robot.base


def check_installed(argument: str, *packages: str) -> None:
    """Raise if a package is missing that only a ROS installation provides."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    for package in packages:
        if not any(Path(prefix, "share", package).is_dir() for prefix in prefixes if prefix):
            raise ManipDynError(
                f"{argument} requires package '{package}', which is not installed: "
                f"apt install ros-jazzy-{package.replace('_', '-')}"
            )


def _first_robot(content: Any) -> dict[str, Any]:
    """Return the parameters of the first node with a parameter `robot`."""
    nodes = [node.get("ros__parameters", {}) for node in content.values()]
    return next((node for node in nodes if "robot" in node), {})

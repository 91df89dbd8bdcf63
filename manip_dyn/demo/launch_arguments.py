"""Arguments of the launch files: checked, and the robot that they select."""

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
    """Refuse launch arguments that nobody knows, or that would change nothing.

    Args:
        scenario: The scenario.
        values: What holds, for every argument that is known.
        argv: What stood behind the launch file on the command line, as ``NAME:=VALUE``.
        command: The whole command line: where another package's launch file was started, which
            includes ours, its own arguments are none of our business.
        files: Names of our launch files.

    Raises:
        ManipDynError: With the first that is refused.
    """
    for name, value in check_known(values, argv, command, files).items():
        if values[name] != value:
            raise ManipDynError(
                f"launch argument '{name}' is '{value}', but this launch file sets it to "
                f"'{values[name]}'; expected it to be left out, or scenario.launch.py"
            )
    for names, node in ((OF_ROBOTS, "arm"), (OF_SIMULATORS, "simulator")):
        has = node in scenario.nodes or (node == "arm" and "mechanism" not in scenario.nodes)
        useless = next((name for name in names if values[name]), None)
        if useless and not has:
            raise ManipDynError(
                f"launch argument '{useless}' is '{values[useless]}', but scenario "
                f"'{scenario.name}' has no {node}; expected it to be left out"
            )
    if not Path(values["params_file"]).is_file():
        raise ManipDynError(f"params_file is '{values['params_file']}': no such file")


def check_known(
    names: Collection[str], argv: Sequence[str], command: Sequence[str], files: Collection[str]
) -> dict[str, str]:
    """Return the arguments that our launch files were given; refuse unknown ones.

    What it takes is described at `check_arguments`.
    """
    if not any(Path(word).name in files for word in command):
        return {}
    given = dict(word.split(":=", 1) for word in argv if ":=" in word)
    for name in given:
        if name not in names:
            raise ManipDynError(f"launch argument '{name}' is unknown{closest(name, names)}")
    return given


def description_of(values: Mapping[str, str]) -> tuple[str, str]:
    """Return the URDF and the root link of the robot that the nodes move.

    Args:
        values: The launch arguments; what they leave empty is what their params_file says.
    """
    told = read_yaml(Path(values["params_file"]), _first_robot)
    source = values["urdf"] or told.get("robot", "pa10")
    tip = values["tip"] or ("" if values["urdf"] else told.get("tip", ""))
    lock = lock_from(told.get("lock", ""))
    arguments = values["xacro_arguments"] or told.get("xacro_arguments", "")
    robot = load_robot(source, lock, tip or None, xacro_args=xacro_arguments_from(arguments))
    return robot.urdf, robot.base


def check_installed(what: str, *packages: str) -> None:
    """Refuse to begin without packages that only a ROS installation has."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    for package in packages:
        if not any(Path(each, "share", package).is_dir() for each in prefixes if each):
            raise ManipDynError(
                f"{what} needs package '{package}', which is not installed; expected it from a "
                f"ROS installation: apt install ros-jazzy-{package.replace('_', '-')}"
            )


def _first_robot(content: Any) -> dict[str, Any]:
    """Return the parameters of the first node that has any about a robot."""
    nodes = [node.get("ros__parameters", {}) for node in content.values()]
    return next((each for each in nodes if "robot" in each), {})

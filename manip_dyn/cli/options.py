"""What the commands of `manip_dyn` share: robots and numbers from options, printed results."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

import numpy as np

from manip_dyn.cli.parser import completed_by, examples
from manip_dyn.cli.terminal import print_table
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.share import shipped_robots
from manip_dyn.robot import Robot, load_robot, xacro_arguments_from

__all__ = ["DONE", "FAILED", "add_robot", "add_robot_options", "examples", "loading", "numbers"]
__all__ += ["print_content", "robot_of"]

DONE, FAILED = 0, 1
"""Exit codes; `main` has those of bad input and of Ctrl-C."""
DIGITS = 9
"""Significant digits of numbers for people; --json has all."""


def add_robot(command: argparse.ArgumentParser, **how: Any) -> None:
    """Add which robot to a command, see `argparse.ArgumentParser.add_argument` for `how`."""
    action = command.add_argument(
        "robot", help="shipped robot, see manip_dyn robots, or path of a URDF or xacro file", **how
    )
    completed_by(action, shipped_robots)


def add_robot_options(command: argparse.ArgumentParser) -> None:
    """Add what loading a robot takes to a command."""
    command.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT=POSITION",
        help="hold a joint fixed there, rad or m; may be repeated",
    )
    command.add_argument(
        "--tip", help="link whose frame is the tool (default: tool0, or the last one)"
    )
    command.add_argument(
        "--xacro",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="argument of a xacro file; may be repeated",
    )


def robot_of(options: argparse.Namespace) -> Robot:
    """Return the robot that the options name."""
    return load_robot(options.robot, **loading(options))


def loading(options: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_robot_options` added, as `load_robot` takes it."""
    lock = {}
    for entry in options.lock:
        joint, _, position = entry.partition("=")
        lock[joint] = float(numbers(f"--lock {joint}", position)[0])
    arguments = xacro_arguments_from(shlex.join(options.xacro))
    return {"lock": lock, "tip": options.tip, "xacro_args": arguments}


def numbers(name: str, text: str | None, robot: Robot | None = None) -> np.ndarray:
    """Return the numbers of an option's text; without text zeros for the joints of `robot`."""
    if text is None and robot is not None:
        return np.zeros(robot.n)
    try:
        found = np.array([float(word) for word in str(text).split(",")])
    except ValueError as error:
        raise ManipDynError(f"{name} is '{text}'; expected numbers with commas") from error
    if robot is not None and found.size != robot.n:
        joints = ", ".join(robot.joint_names)
        raise ManipDynError(
            f"{name} is '{text}'; expected a number for each joint, with commas: {joints}"
        )
    return found


def shown(value: object) -> str:
    """Return a value as people read it: numbers with `DIGITS`, lists and groups without quotes."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(each)}" for name, each in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def print_content(content: dict, as_json: bool) -> None:
    """Print a line per entry, with `DIGITS`, or one JSON object with all digits."""
    if as_json:
        print(json.dumps(content, indent=2))
        return
    rows = [(key, shown(value)) for key, value in content.items()]
    print_table(("", ""), rows, lambda: "".join(f"{key:<28} {value}\n" for key, value in rows))

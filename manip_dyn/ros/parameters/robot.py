"""The parameters that choose a robot, shared by every node that has an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot, load_robot
from manip_dyn.ros.parameters.rows import parameter


@dataclass(frozen=True)
class RobotParameters:
    """Which arm."""

    robot: str = parameter("pa10", "Name of a shipped robot or path of a URDF")
    lock: str = parameter(
        "", "Joints to hold fixed, as JOINT=POSITION, comma separated", "rad or m"
    )
    tip: str = parameter("", "Link whose frame is the tool; empty: tool0 or the last link")


def robot_from(parameters: RobotParameters, *kernels: str, mass_scale: float = 1.0) -> Robot:
    """Return the robot that the parameters name; compile some of its kernels."""
    lock = _lock_from(parameters.lock)
    robot = load_robot(parameters.robot, lock, parameters.tip or None, mass_scale)
    prepare(robot, *kernels)
    return robot


def prepare(robot: Robot, *kernels: str) -> None:
    """Compile some kernels of a robot."""
    if kernels:  # without names, all of them would be compiled
        customize(robot).in_place.compile(*kernels)


def joint_array(name: str, numbers: Sequence[float], robot: Robot) -> Vector:
    """Return a parameter's list as (n,), zeros where it is not set."""
    return finite_vector(name, numbers, robot.n) if numbers else np.zeros(robot.n)


def _lock_from(text: str) -> dict[str, float]:
    lock = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        joint, _, position = entry.partition("=")
        try:
            lock[joint.strip()] = float(position)
        except ValueError as error:
            raise ManipDynError(
                f"parameter 'lock' has the entry '{entry}'; expected JOINT=POSITION"
            ) from error
    return lock

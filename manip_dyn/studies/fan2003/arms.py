"""The arms of Fan (2003): shipped robots with the numbers of other parameter sets."""

from __future__ import annotations

from manip_dyn.bench.changed_robot import changed_robot
from manip_dyn.robot import Robot
from manip_dyn.studies.fan2003.settings import Arm


def build_arm(name: str, arm: Arm) -> Robot:
    """Return the robot: the shipped one if nothing is changed."""
    return changed_robot(name, arm.robot, arm.links, arm.joints, arm.load)

"""Robots from URDF: the frozen `Robot`, its loader and the pinocchio reference."""

from manip_dyn.robot.bodies import Body, Frame
from manip_dyn.robot.checks import check_inertia_tensor
from manip_dyn.robot.load import load_robot
from manip_dyn.robot.model import Robot
from manip_dyn.robot.oracle import Oracle
from manip_dyn.robot.written import lock_from, xacro_arguments_from

__all__ = [
    "Body",
    "Frame",
    "Oracle",
    "Robot",
    "check_inertia_tensor",
    "load_robot",
    "lock_from",
    "xacro_arguments_from",
]

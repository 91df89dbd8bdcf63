"""Robots from URDF: the frozen `Robot`, its loader and the pinocchio reference."""

from manip_dyn.robot.load import load_robot
from manip_dyn.robot.model import Body, Frame, Robot
from manip_dyn.robot.pinocchio_model import Oracle
from manip_dyn.robot.source import lock_from, xacro_arguments_from
from manip_dyn.robot.urdf import check_inertia_tensor

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

"""Dynamics, kinematics and time-optimal control of robot manipulators."""

from manip_dyn.clik import (
    Circle,
    ClikSettings,
    Line,
    Lissajous,
    Path,
    Target,
    Tracker,
    Tracking,
    VelocitySolver,
    Waypoints,
    path_from_csv,
    posture_for,
    track,
)
from manip_dyn.codegen import Kernels, customize
from manip_dyn.errors import ManipDynError
from manip_dyn.integrate import METHODS, Events, Jacobian, Series, Solution, Status, integrate
from manip_dyn.planning import BangBangPlan, Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import Schedule, Trajectory, simulate

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "BangBangPlan",
    "Circle",
    "ClikSettings",
    "Events",
    "Jacobian",
    "Kernels",
    "Line",
    "Lissajous",
    "ManipDynError",
    "Path",
    "Plan",
    "Robot",
    "Schedule",
    "Series",
    "Solution",
    "Status",
    "Target",
    "Tracker",
    "Tracking",
    "Trajectory",
    "VelocitySolver",
    "Waypoints",
    "customize",
    "integrate",
    "load_robot",
    "plan_minimum_time",
    "path_from_csv",
    "plan_zero_net_work",
    "posture_for",
    "simulate",
    "track",
]

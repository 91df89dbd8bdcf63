"""Dynamics, kinematics and time-optimal control of robot manipulators."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from manip_dyn.core.on_demand import on_demand
from manip_dyn.errors import ManipDynError

if TYPE_CHECKING:
    from manip_dyn import multibody as multibody
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
    from manip_dyn.integrate import (
        METHODS,
        Events,
        Jacobian,
        Sampling,
        Series,
        Solution,
        Status,
        StepControl,
        integrate,
    )
    from manip_dyn.planning import BangBangPlan, Plan, plan_minimum_time, plan_zero_net_work
    from manip_dyn.robot import Robot, load_robot
    from manip_dyn.simulation import Schedule, Trajectory, simulate
else:
    # Each folder is loaded when one of its names is first used.
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "clik": (
                *("Circle", "ClikSettings", "Line", "Lissajous", "Path", "Target", "Tracker"),
                *("Tracking", "VelocitySolver", "Waypoints", "path_from_csv", "posture_for"),
                "track",
            ),
            "codegen": ("Kernels", "customize"),
            "integrate": (
                *("METHODS", "Events", "Jacobian", "Sampling", "Series", "Solution", "Status"),
                *("StepControl", "integrate"),
            ),
            "multibody": (),
            "planning": ("BangBangPlan", "Plan", "plan_minimum_time", "plan_zero_net_work"),
            "robot": ("Robot", "load_robot"),
            "simulation": ("Schedule", "Trajectory", "simulate"),
        },
    )


class _Package(ModuleType):
    """This package, whose `integrate` is the function, not the folder that it comes from."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Bind a name; Python binds the name of each folder to the folder once it is loaded."""
        if not (name == "integrate" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

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
    "Sampling",
    "Schedule",
    "Series",
    "Solution",
    "Status",
    "StepControl",
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

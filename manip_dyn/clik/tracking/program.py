"""The compiled functions of one robot on one kind of path: velocity, rate, samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType

from manip_dyn.clik.tracking import motion
from manip_dyn.codegen import customize
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.integrate import METHODS, Method, Options, compile_engine
from manip_dyn.integrate.loop.engine import Engine
from manip_dyn.robot import Robot


@lru_cache(maxsize=64)
def motion_of(robot: Robot, path_function: Callable[..., None]) -> ModuleType:
    """Return the functions of `motion` for a robot and the function of a path."""
    kinematics = customize(robot).in_place.kinematics
    return specialized(motion, kinematics=kinematics, desired_pose=path_function)


def method_of(method: str | Method) -> Method:
    """Return the method of a name in `METHODS`, or one as it is."""
    return method if isinstance(method, Method) else METHODS[method]


def tracking_engine(
    robot: Robot, path_function: Callable[..., None], method: str | Method
) -> Engine:
    """Return the compiled time loop of a method for the rate of (q, path time)."""
    rate = motion_of(robot, path_function).rate
    return compile_engine(rate, method_of(method), Options(size=robot.n + 1))

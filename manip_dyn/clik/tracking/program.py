"""The compiled functions of one robot, and of all robots on one kind of path."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType

from manip_dyn.clik.tracking import motion
from manip_dyn.codegen import customize
from manip_dyn.codegen.by_address import addresses
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.integrate import METHODS, Method, Options, compile_engine
from manip_dyn.integrate.loop.engine import Engine
from manip_dyn.robot import Robot


@lru_cache(maxsize=64)
def velocity_of(robot: Robot) -> Callable[..., float]:
    """Return `motion.velocity` for a robot."""
    kinematics = customize(robot).in_place.kinematics
    function: Callable[..., float] = specialized(motion, kinematics=kinematics).velocity
    return function


@lru_cache(maxsize=64)
def motion_on(path_function: Callable[..., None]) -> ModuleType:
    """Return `motion` with rates and samples on paths with this function, for all robots."""
    return specialized(motion, desired_pose=path_function)


def tracked(robot: Robot, parameters: Vector, memory: Vector) -> motion.Tracked:
    """Return what rates and samples take to be about a robot on a path."""
    (kinematics,) = addresses(robot, "kinematics")
    return motion.Tracked(parameters, memory, kinematics)


def method_of(method: str | Method) -> Method:
    """Return the method of a name in `METHODS`, or one as it is."""
    return method if isinstance(method, Method) else METHODS[method]


def tracking_engine(
    robot: Robot, path_function: Callable[..., None], method: str | Method
) -> Engine:
    """Return the compiled time loop of a method for the rate of (q, path time)."""
    return compile_engine(
        motion_on(path_function).rate, method_of(method), Options(size=robot.n + 1)
    )

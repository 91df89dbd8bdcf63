"""The compiled functions of one robot on one kind of path: velocity, rate, the tracking loop.

They are generated as text that imports the robot's kernel, the path's function and the method's
time loop, so that numba compiles each combination as a whole and keeps it on disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path as File
from typing import Any

from numba.core.dispatcher import Dispatcher

from manip_dyn.clik.pose import OPTIONS
from manip_dyn.codegen import customize
from manip_dyn.generated import generated_module, source_of
from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.integrate.engine import Engine
from manip_dyn.integrate.functions import fingerprint, importable
from manip_dyn.robot import Robot

LAW = """
@njit(**OPTIONS)
def velocity(q, desired, p, v):
    path, numbers, joints, actual, scratch, work = p
    kinematics(q, actual)
    return joint_velocity(q, desired, actual, numbers, joints, work, v)


@njit(**OPTIONS)
def rate(t, y, p, out):
    path, numbers, joints, actual, desired, work = p
    n = joints.shape[1]
    desired_pose(y[n], path, desired)
    kinematics(y, actual)
    out[n] = joint_velocity(y, desired, actual, numbers, joints, work, out)


@njit(**OPTIONS)
def look(t, y, p, out, row):
    rate(t, y, p, out)
    fill_row(t, y, out, p, row)
"""
LOOP = """
@njit(**OPTIONS)
def follow(p, y, space, out, record, first, last, end):
    joints = p[2]
    n = joints.shape[1]
    limits, clock, counts = space[0], space[2], space[3]
    for k in range(first, last):
        limits[4] = counts[0] + 1
        status = advance(p, y, space)
        if status != TOO_MANY_STEPS:
            return k, status
        for i in range(n):
            inside = min(max(y[i], joints[0, i]), joints[1, i])
            if inside != y[i]:
                y[i] = inside
                counts[5] = 0
        look(clock[0], y, p, out, record[k])
        if y[n] >= end:
            return k + 1, SUCCESS
    return last, SUCCESS
"""
_memory_modules = itertools.count()


@lru_cache(maxsize=64)
def law_module(robot: Robot, path_function: Dispatcher) -> dict[str, Any]:
    """Return the functions of `LAW` for a robot and the function of a path.

    They take p = (path parameters, numbers, joints, scratch (12 + 6 n,), scratch (18,), work).
    """
    from manip_dyn.clik import law, record

    used = {
        "kinematics": customize(robot).in_place.kinematics,
        "desired_pose": path_function,
        "joint_velocity": law.joint_velocity,
        "fill_row": record.fill_row,
    }
    return _module(f"{robot.name}_clik", LAW, used)


@lru_cache(maxsize=256)
def tracking_loop(
    robot: Robot, path_function: Dispatcher, method: str
) -> tuple[Engine, Callable[..., tuple[int, int]]]:
    """Return the engine of a method for the rate of (q, path time), and the loop around it."""
    functions = law_module(robot, path_function)
    engine = compile_engine(functions["rate"], METHODS[method], Options(size=robot.n + 1))
    used = {"advance": engine.advance, "look": functions["look"]}
    return engine, _module(f"{robot.name}_track_{method}", LOOP, used)["follow"]


def _module(name: str, text: str, used: dict[str, Any]) -> dict[str, Any]:
    """Return the names of a module of `text`, which may use the functions `used`."""
    homes = {each: importable(function) for each, function in used.items()}
    cached = all(homes.values())
    lines = ["from numba import njit", ""]
    if cached:
        lines += [f"from {home[0]} import {home[1]} as {n}" for n, home in homes.items() if home]
    lines += ["", "SUCCESS, TOO_MANY_STEPS = 0, 4", f"OPTIONS = {OPTIONS | {'cache': cached}}", ""]
    source = f'"""Closed-loop inverse kinematics, see manip_dyn.clik.program."""\n' + "\n".join(lines)
    source += text
    if cached:
        content = source.encode() + source_of(File(__file__).parent)
        content += b"".join(fingerprint(function) for function in used.values())
        return vars(generated_module(name, content, lambda: source))
    module = {"__name__": f"manip_dyn_clik_in_memory_{next(_memory_modules)}", **used}
    exec(compile(source, f"<{module['__name__']}>", "exec"), module)
    return module

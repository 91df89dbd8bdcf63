"""The compiled functions of one robot on one kind of path: velocity, rate, samples.

They are generated as text that imports the robot's kernel and the path's function, so that numba
compiles them as a whole, keeps them on disk, and puts `rate` into the time loop of any method.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path as File
from typing import Any

from manip_dyn.clik.law import joint_velocity
from manip_dyn.clik.pose import OPTIONS
from manip_dyn.clik.record import fill_row
from manip_dyn.codegen import customize
from manip_dyn.core.generated import generated_module, source_of
from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.integrate.engine import Engine
from manip_dyn.integrate.functions import fingerprint, importable
from manip_dyn.robot import Robot

SHARED = """
@njit(**OPTIONS)
def law(q, desired, actual, numbers, joints, work, v):
    return joint_velocity(q, desired, actual, numbers, joints, work, v)


@njit(**OPTIONS)
def note(t, y, rate, p, row):
    fill_row(t, y, rate, p, row)
"""
LAW = """
@njit(**OPTIONS)
def velocity(q, desired, memory, v):
    n = v.size
    numbers, joints = vector_of(memory, 0, NUMBERS), matrix_of(memory, NUMBERS, ROWS, n)
    actual = vector_of(memory, NUMBERS + ROWS * n, 12 + 6 * n)
    first = NUMBERS + ROWS * n + 12 + 6 * n
    work = vector_of(memory, first, memory.size - first)
    kinematics(q, actual)
    return law(q, desired, actual, numbers, joints, work, v)


@njit(**OPTIONS)
def rate(t, y, p, out):
    path, numbers, joints, actual, desired, work = p
    n = joints.shape[1]
    desired_pose(y[n], path, desired)
    kinematics(y, actual)
    out[n] = law(y, desired, actual, numbers, joints, work, out)


@njit(**OPTIONS)
def look(times, states, p, out, rows):
    for k in range(rows.shape[0]):
        rate(times[k], states[k], p, out)
        note(times[k], states[k], out, p, rows[k])
"""
_memory_modules = itertools.count()


@lru_cache(maxsize=64)
def law_module(robot: Robot, path_function: Callable[..., None]) -> dict[str, Any]:
    """Return the functions of `LAW` for a robot and the function of a path.

    `velocity` takes numbers, joints by rows, scratch (12 + 6 n,) and work in one array, the others
    p = (path parameters, numbers, joints, scratch (12 + 6 n,), scratch (18,), work).
    """
    shared = _shared_module()
    used = {
        "kinematics": customize(robot).in_place.kinematics,
        "desired_pose": path_function,
        "law": shared["law"],
        "note": shared["note"],
    }
    return _module(f"{robot.name}_clik", LAW, used)


@lru_cache(maxsize=1)
def _shared_module() -> dict[str, Any]:
    """Return what all robots share: the law, compiled once."""
    return _module("clik_law", SHARED, {"joint_velocity": joint_velocity, "fill_row": fill_row})


def tracking_engine(robot: Robot, path_function: Callable[..., None], method: str) -> Engine:
    """Return the compiled time loop of a method for the rate of (q, path time)."""
    rate = law_module(robot, path_function)["rate"]
    return compile_engine(rate, METHODS[method], Options(size=robot.n + 1))


def _module(name: str, text: str, used: dict[str, Any]) -> dict[str, Any]:
    """Return the names of a module of `text`, which may use the functions `used`."""
    homes = {each: importable(function) for each, function in used.items()}
    cached = all(homes.values())
    lines = [
        "from numba import njit",
        "",
        "from manip_dyn.clik.settings import NUMBERS, ROWS",
        "from manip_dyn.clik.workspace import matrix_of, vector_of",
    ]
    if cached:
        lines += [f"from {home[0]} import {home[1]} as {n}" for n, home in homes.items() if home]
    lines += ["", f"OPTIONS = {OPTIONS | {'cache': cached}}", ""]
    title = '"""Closed-loop inverse kinematics, see manip_dyn.clik.program."""'
    source = "\n".join([title, "", *lines]) + text
    if cached:
        content = source.encode() + source_of(File(__file__).parent)
        content += b"".join(fingerprint(function) for function in used.values())
        return vars(generated_module(name, content, lambda: source))
    module = {"__name__": f"manip_dyn_clik_in_memory_{next(_memory_modules)}", **used}
    exec(compile(source, f"<{module['__name__']}>", "exec"), module)
    return module

"""A robot's generated modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from manip_dyn.codegen.loops.bind import looped_text
from manip_dyn.codegen.programs.emit import LINEARIZATIONS, RIGHT_HAND_SIDES, module_text
from manip_dyn.codegen.programs.trace import trace
from manip_dyn.codegen.rigid_body.catalogue import BATCH, BY_NAME, DECLARATIONS, Declaration
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.cache.generated import generated_module, source_of
from manip_dyn.robot import Frame, Robot


def kernel_of(robot: Robot, frame: Frame, name: str) -> Any:
    """Return a kernel of the catalogue, or its batched form, as a jitted function."""
    declaration = BY_NAME[name.removesuffix(BATCH)]
    if declaration.module != "linear" and robot.n > declaration.longest:
        return getattr(_looped_module(robot, frame, declaration), name)
    return getattr(kernel_module(robot, frame, declaration.module), name)


def kernel_module(robot: Robot, frame: Frame, module: str) -> ModuleType:
    """Return one module of the catalogue's kernels, generated and cached at need.

    Without those that are in loops for so many joints, but for the module ``linear``.
    """
    wanted = [each for each in DECLARATIONS if each.module == module]
    straight = [each for each in wanted if robot.n <= each.longest]

    def text() -> str:
        equations = Equations(robot, frame)
        if module == "motion":
            return _straight_text(robot, equations, straight) + RIGHT_HAND_SIDES
        if module == "linear" and not straight:
            return looped_text(robot, wanted) + LINEARIZATIONS
        if module == "linear":
            return _straight_text(robot, equations, straight) + LINEARIZATIONS
        return _straight_text(robot, equations, straight)

    return robot_module(robot, frame, module, text)


def _straight_text(robot: Robot, equations: Equations, functions: list[Declaration]) -> str:
    return module_text(robot.name, [trace(equations, each) for each in functions])


def _looped_module(robot: Robot, frame: Frame, declaration: Declaration) -> ModuleType:
    """Return a module of its own for a kernel in loops: the others need not be compiled for it."""
    return robot_module(robot, frame, declaration.name, lambda: looped_text(robot, [declaration]))


def robot_module(robot: Robot, frame: Frame, kind: str, text: Callable[[], str]) -> ModuleType:
    """Return a module whose text depends on the robot, a frame and this generator alone."""
    content = source_of(Path(__file__).parents[1]) + _numbers(robot, frame)
    return generated_module(f"{robot.name}_{kind}", content, text)


def _numbers(robot: Robot, frame: Frame) -> bytes:
    """Return all that a robot's equations depend on."""
    parts = [repr(robot.name).encode()]
    for body in robot.bodies:
        parts.append(repr((body.parent, body.prismatic, body.mass)).encode())
        parts += [x.tobytes() for x in (body.rotation, body.translation, body.com, body.inertia)]
    for each in (robot.tip_frame, frame):
        parts.append(repr(each.body).encode())
        parts += [each.rotation.tobytes(), each.translation.tobytes()]
    for array in (robot.gravity, robot.armature, robot.damping, robot.stiffness, robot.rest):
        parts.append(array.tobytes())
    return b"".join(parts)

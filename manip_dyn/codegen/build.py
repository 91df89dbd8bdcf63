"""A robot's generated modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from manip_dyn.codegen.emit import LINEARIZATIONS, RIGHT_HAND_SIDES, module_text
from manip_dyn.codegen.equations import Equations
from manip_dyn.codegen.solve import TEXT as SOLVE
from manip_dyn.codegen.trace import BY_NAME, DECLARATIONS, trace
from manip_dyn.core.generated import generated_module, source_of
from manip_dyn.robot import Frame, Robot


def kernel_module(robot: Robot, frame: Frame, module: str) -> ModuleType:
    """Return one module of the catalogue's kernels, generated and cached at need."""

    def text() -> str:
        equations = Equations(robot, frame)
        wanted = [each for each in DECLARATIONS if each.module == module]
        straight = [each for each in wanted if robot.n <= each.longest]
        loops = ""
        if module == "motion":
            loops = RIGHT_HAND_SIDES
        elif module == "linear":
            loops = LINEARIZATIONS
        elif straight != wanted:
            straight.append(BY_NAME["forward_dynamics"])
            loops = SOLVE.format(n=robot.n)
        return module_text(robot.name, [trace(equations, each) for each in straight]) + loops

    return robot_module(robot, frame, module, text)


def robot_module(robot: Robot, frame: Frame, kind: str, text: Callable[[], str]) -> ModuleType:
    """Return a module whose text depends on the robot, a frame and this generator alone."""
    content = source_of(Path(__file__).parent) + _numbers(robot, frame)
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

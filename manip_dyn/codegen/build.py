"""A robot's generated modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from manip_dyn.codegen.emit import module_text
from manip_dyn.codegen.trace import Function
from manip_dyn.generated import generated_module, source_of
from manip_dyn.robot import Robot


def compiled_module(robot: Robot, trace: Callable[[Robot], list[Function]]) -> ModuleType:
    """Return the module of the functions that `trace` finds, generated and cached at need."""
    content = source_of(Path(__file__).parent) + _numbers(robot)
    name = f"{robot.name}_{trace.__name__}"
    return generated_module(name, content, lambda: module_text(robot.name, trace(robot)))


def _numbers(robot: Robot) -> bytes:
    """Return all that a robot's equations depend on."""
    parts = [repr(robot.name).encode()]
    for body in robot.bodies:
        parts.append(repr((body.parent, body.prismatic, body.mass)).encode())
        parts += [x.tobytes() for x in (body.rotation, body.translation, body.com, body.inertia)]
    frame = robot.tip_frame
    parts.append(repr(frame.body).encode())
    for array in (frame.rotation, frame.translation, robot.gravity, robot.armature,
                  robot.damping, robot.stiffness, robot.rest):  # fmt: skip
        parts.append(array.tobytes())
    return b"".join(parts)

"""Generated modules: the kernels of a robot as Python source, cached on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    BY_NAME,
    DECLARATIONS,
    SINGLE,
    Declaration,
    is_straight,
)
from manip_dyn.core.cache import generated_module, source_of
from manip_dyn.robot import Frame, Robot


def kernel_of(robot: Robot, frame: Frame, name: str) -> Any:
    """Return a kernel of the catalogue, or its batched form, as a jitted function.

    The suffix `SINGLE` + `BATCH` is that of a batched kernel in straight-line code that computes
    float64 arrays in single precision.
    """
    kernel = name.removesuffix(BATCH).removesuffix(SINGLE)
    return getattr(_module_of(robot, frame, BY_NAME[kernel]), name)


def purpose_of(robot: Robot, frame: Frame, name: str) -> str:
    """Return the description of a catalogue kernel: the docstring of its method of `Equations`."""
    purpose: str = _module_of(robot, frame, BY_NAME[name]).PURPOSES[name]
    return purpose


def _module_of(robot: Robot, frame: Frame, declaration: Declaration) -> ModuleType:
    if declaration.module != "linear" and not _is_straight(robot, declaration):
        return _looped_module(robot, frame, declaration)
    return kernel_module(robot, frame, declaration.module)


def _is_straight(robot: Robot, declaration: Declaration) -> bool:
    """Return whether a kernel is straight-line code; loops do not support mimic joints."""
    parents = [body.parent for body in robot.bodies]
    return robot.has_mimic_joints or is_straight(declaration, parents)


def kernel_module(robot: Robot, frame: Frame, module: str) -> ModuleType:
    """Return one module of the catalogue, generated on first use.

    Kernels that use loops for this number of joints are omitted, except in module ``linear``.
    """
    kernels = [kernel for kernel in DECLARATIONS if kernel.module == module]
    straight = [kernel for kernel in kernels if _is_straight(robot, kernel)]
    return robot_module(robot, frame, module, _source(robot, frame, module, straight, kernels))


def _looped_module(robot: Robot, frame: Frame, declaration: Declaration) -> ModuleType:
    """Return a separate module for a kernel that uses loops, so that no other is compiled."""
    name = declaration.name
    return robot_module(robot, frame, name, _source(robot, frame, name, [], [declaration]))


def _source(
    robot: Robot,
    frame: Frame,
    module: str,
    straight: Sequence[Declaration],
    looped: Sequence[Declaration],
) -> Callable[[], str]:
    """Return a function that generates the source of a module with `kernel_source`."""

    def source() -> str:
        # Imported only if the module is not in the cache.
        from manip_dyn.codegen.generation.kernel_source import kernel_source

        return kernel_source(robot, frame, module, straight, looped)

    return source


def robot_module(robot: Robot, frame: Frame, kind: str, text: Callable[[], str]) -> ModuleType:
    """Return a generated module that depends only on a robot, a frame and `manip_dyn.codegen`.

    Args:
        robot: The robot.
        frame: The frame.
        kind: Kind of the module, part of its file name.
        text: Function that returns the source. It is called only if the module is not cached.
    """
    content = source_of(Path(__file__).parents[1]) + _numbers(robot, frame)
    return generated_module(f"{robot.name}_{kind}", content, text)


def _numbers(robot: Robot, frame: Frame) -> bytes:
    """Return the name of a robot and all numbers of its equations as bytes."""
    parts = [repr(robot.name).encode()]
    for body in robot.bodies:
        parts.append(repr((body.parent, body.prismatic, body.mass)).encode())
        parts += [x.tobytes() for x in (body.rotation, body.translation, body.com, body.inertia)]
    if robot.has_mimic_joints:
        parts.append(repr([coupling[1:] for coupling in robot.couplings]).encode())
    for link in (robot.tip_frame, frame):
        parts.append(repr(link.body).encode())
        parts += [link.rotation.tobytes(), link.translation.tobytes()]
    for array in (robot.gravity, robot.armature, robot.damping, robot.stiffness, robot.rest):
        parts.append(array.tobytes())
    return b"".join(parts)

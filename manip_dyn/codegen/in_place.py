"""Jitted kernels that write into the caller's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.codegen.programs.build import kernel_of
from manip_dyn.codegen.programs.description import describe_in_place
from manip_dyn.codegen.rigid_body.catalogue import BATCH, BY_NAME, DECLARATIONS
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Frame, Robot


class InPlace:
    """Jitted functions that write into the caller's array ``out``, allocate and check nothing.

    Every kernel of `Kernels` is here under its name, as ``kernel(*arguments, out)``, and once
    more for many states side by side, as ``kernel_batch(*arguments, out, first, last)``, whose
    arrays have a last axis with a column per state and which does the columns from `first` up
    to `last`. Other numba code can call both.

    Arrays must be C-contiguous float64 (anything else is numba's TypingError) of the right
    sizes (which nobody checks); ``out`` may be one of the inputs. Numbers that are not finite
    come out as such. Generated and compiled at the first use, from the cache afterwards.
    """

    def __init__(self, robot: Robot, frame: Frame):
        """Take the robot and the frame that the kinematic functions are about."""
        self._robot = robot
        self._frame = frame

    def __repr__(self) -> str:
        """Say whose kernels they are."""
        return f"{type(self).__name__}(robot '{self._robot.name}', {self._robot.n} joints)"

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a kernel; its module is generated now if it is the first of it."""
        if name.removesuffix(BATCH) not in BY_NAME:
            raise AttributeError(f"there is no kernel '{name}'")
        function = kernel_of(self._robot, self._frame, name)
        describe_in_place(function, name, self._robot.n)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        """Return the kernels' names."""
        return [each.name + end for each in DECLARATIONS for end in ("", BATCH)]

    def compile(self, *names: str) -> None:
        """Compile kernels now, or load them from the cache; by default all of the dynamics.

        For loops with deadlines: afterwards no first call is slow.

        Raises:
            ManipDynError: If there is no such kernel.
        """
        for name in names:
            if name not in BY_NAME:
                raise ManipDynError(f"there is no kernel '{name}'{closest(name, BY_NAME)}")
        dynamics = [each.name for each in DECLARATIONS if each.module == "dynamics"]
        for name in names or dynamics:
            declaration = BY_NAME[name]
            axes = ["float64[::1]"] * len(declaration.arguments)
            rank = len(declaration.shape(self._robot.n))
            axes.append(f"float64[{','.join([':'] * (rank - 1) + ['::1'])}]")
            kernel: Any = getattr(self, name)
            kernel.compile(f"void({', '.join(axes)})")

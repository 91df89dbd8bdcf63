"""Call interfaces of a robot's kernels: in place, unchecked and checked.

The checked interface calls a C function that checks sizes and numbers and calls the kernel by its
address, see `array_arguments`. The function does not depend on the robot. Python code converts
other arguments (lists, strided arrays, other number types) and raises an error for invalid ones.
The unchecked interface calls kernels by their addresses, too. Only `InPlace` compiles array
functions for each robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from numba import types

from manip_dyn.codegen.array_arguments import MISMATCH, array_function
from manip_dyn.codegen.generation.kernel_modules import kernel_of, purpose_of
from manip_dyn.codegen.kernel_addresses import call_kernel, kernel_address
from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    BY_NAME,
    DECLARATIONS,
    Declaration,
    argument_size,
)
from manip_dyn.core.arrays import VECTOR
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Frame, Robot

ARGUMENTS = {
    "q": "joint positions, rad or m",
    "v": "joint velocities, rad/s or m/s",
    "a": "joint accelerations, rad/s^2 or m/s^2",
    "tau": "joint efforts, N m or N",
    "y": "positions and velocities, (q, v)",
    "payload": "mass, centre of mass (3) and moments of inertia about it (6) in the tool's axes, "
    "kg, m, kg m^2",
    "wrench": "force and moment on the tool at its origin, base axes, N, N m",
    "drive": "efforts, then 1 for each driven joint and 0 for each locked joint",
    "inertias": "inertial parameters, 10 per body",
    "adjoint": "weights of the accelerations",
    "p_q": "costates of the positions",
    "p_v": "costates of the velocities",
}


def describe(function: Any, name: str, in_place: InPlace, owner: str) -> None:
    """Set the name, signature and docstring of a function that returns a kernel's result.

    Args:
        function: A function of the array arguments in the kernel's declaration.
        name: Name of the kernel.
        in_place: The kernels of the robot.
        owner: Class that has the function as an attribute.
    """
    set_signature(function, name, owner, ())
    function.__doc__ = (
        f"{in_place.purpose(name)}\n\nArguments are not checked.\n\n"
        f"{described_arguments(name, in_place.n)}\n"
    )


def describe_in_place(function: Any, name: str, in_place: InPlace) -> None:
    """Set the docstring of a compiled kernel that writes into ``out``, batched or not."""
    kernel, n = name.removesuffix(BATCH), in_place.n
    shape, rows = BY_NAME[kernel].shape(n), described_arguments(kernel, n)
    note = "Arguments are not checked; arrays must be float64 and C-contiguous"
    rows += f"\n    out: the result, {shape}."
    if kernel != name:
        note += ", with an additional last axis: a column per state. The result is whether all "
        note += "numbers in these columns are finite"
        rows += "\n    first: the first column to compute.\n    last: the column after the last."
    purpose = in_place.purpose(kernel).replace("Return", "Write", 1)
    function.__doc__ = f"{purpose}\n\n{note}.\n\n{rows}\n"


def set_signature(function: Any, name: str, owner: str, options: Sequence[Parameter]) -> None:
    """Set the name and the signature of a kernel with additional parameters."""
    function.__name__, function.__qualname__ = name, f"{owner}.{name}"
    names = BY_NAME[name].arguments
    arrays = [Parameter(argument, Parameter.POSITIONAL_OR_KEYWORD) for argument in names]
    function.__signature__ = Signature([*arrays, *options])


def described_arguments(name: str, n: int) -> str:
    """Return the section of a docstring about the arguments of a kernel."""
    rows = [
        f"    {argument}: {ARGUMENTS[argument]}, ({argument_size(argument, n)},)."
        for argument in BY_NAME[name].arguments
    ]
    return "\n".join(["Args:", *rows])


class InPlace:
    """Jitted functions that write into the caller's array ``out`` and allocate no memory.

    Every kernel of the catalogue is an attribute: ``kernel(*arguments, out)`` for one state, and
    ``kernel_batch(*arguments, out, first, last)`` for many. The arrays of a batch have an
    additional last axis with one column per state. Columns from `first` to `last` - 1 are
    computed, and the result is whether the arguments in these columns are finite. Numba code can
    call both forms.

    Arrays must be C-contiguous float64; other types raise numba's TypingError. Sizes are not
    checked. ``out`` may be one of the inputs. Infinite numbers and NaN propagate to the result.
    Kernels are generated and compiled on first use and cached on disk.
    """

    def __init__(self, robot: Robot, frame: Frame):
        """Initialize with the robot and the frame for kinematics."""
        self._robot = robot
        self._frame = frame

    def __repr__(self) -> str:
        """Return the class, the robot's name and its number of joints."""
        return f"{type(self).__name__}(robot '{self._robot.name}', {self._robot.n} joints)"

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a kernel; the first access generates or loads its module."""
        if name.removesuffix(BATCH) not in BY_NAME:
            raise AttributeError(f"There is no kernel '{name}'.")
        function = kernel_of(self._robot, self._frame, name)
        describe_in_place(function, name, self)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        """Return the names of the kernels and of their batched forms."""
        return [kernel.name + end for kernel in DECLARATIONS for end in ("", BATCH)]

    @property
    def n(self) -> int:
        """Number of joints."""
        return self._robot.n

    def address(self, name: str) -> Any:
        """Return the address of a kernel for `call_kernel`; the first call compiles the kernel."""
        return kernel_address(self._robot, self._frame, name)

    def purpose(self, name: str) -> str:
        """Return the description of a kernel for its docstring."""
        return purpose_of(self._robot, self._frame, name)

    def compile(self, *names: str) -> None:
        """Compile kernels for one state, in place and unchecked, or load them from the cache.

        Call this before loops with deadlines. Otherwise the first call of a kernel compiles it.

        Args:
            names: Names of kernels. Default: forward and inverse dynamics, mass matrix, forward
                kinematics, Jacobian and energy.

        Raises:
            ManipDynError: If a kernel does not exist.
        """
        for name in names:
            if name not in BY_NAME:
                raise ManipDynError(f"names must be kernels, got '{name}'{closest(name, BY_NAME)}")
        dynamics = [kernel.name for kernel in DECLARATIONS if kernel.module == "dynamics"]
        for name in names or dynamics:
            declaration = BY_NAME[name]
            out = types.Array(types.float64, len(declaration.shape(self._robot.n)), "C")
            kernel: Any = getattr(self, name)
            kernel.compile((*[VECTOR] * len(declaration.arguments), out))
            unchecked_call(self, declaration)


class Checked:
    """Kernels as attributes that check their arguments and return new arrays.

    Arguments are positional: ``checked.forward_dynamics(q, v, tau)``. Only kernels of joint
    vectors (n,), payloads and wrenches are supported.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Initialize with the jitted kernels of a robot with n joints."""
        self._in_place = in_place
        self._n = n

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return a kernel that checks its arguments; the first access compiles it."""
        declaration = BY_NAME.get(name)
        if declaration is None:
            raise AttributeError(f"There is no kernel '{name}'.")
        call = checked_call(self._in_place, declaration)
        setattr(self, name, call)
        return call


def unchecked_call(in_place: InPlace, declaration: Declaration) -> Callable[..., Vector]:
    """Return a function that calls a kernel without checks and returns a new array."""
    return _returning(in_place, declaration, lambda values: values, finite=False)


def checked_call(in_place: InPlace, declaration: Declaration) -> Callable[..., Vector]:
    """Return a function that checks its arguments, calls a kernel and returns a new array."""
    names, n = declaration.arguments, in_place.n

    def checked(values: Sequence[Any]) -> Sequence[Vector]:
        return [
            finite_vector(name, value, argument_size(name, n))
            for name, value in zip(names, values, strict=True)
        ]

    return _returning(in_place, declaration, checked, finite=True)


def _returning(
    in_place: InPlace,
    declaration: Declaration,
    convert: Callable[[Sequence[Any]], Sequence[Vector]],
    finite: bool,
) -> Callable[..., Vector]:
    """Return a function that calls a kernel and returns a new array.

    Args:
        in_place: The kernels of the robot.
        declaration: Declaration of the kernel.
        convert: Converts arguments that are not contiguous arrays of the expected size, or raises
            an error.
        finite: Whether numbers that are not finite are converted, too.
    """
    n, names, address = in_place.n, declaration.arguments, in_place.address(declaration.name)
    shape, run = declaration.shape(n), CALLS[len(names)]
    shapes = [*((argument_size(name, n),) for name in names), shape]
    # Local names are looked up faster than attributes of modules.
    compute, empty = array_function(shapes, address, finite), np.empty

    def call(*values: Any) -> Vector:
        out = empty(shape)
        if compute(*values, out) == MISMATCH:
            values = tuple(convert(values))
            if compute(*values, out) == MISMATCH:
                run(address, *values, out)
        return out

    call.__name__ = declaration.name
    return call


@compiled(counted=False)
def _call_1(address, a, out):
    call_kernel(address, (a, out))


@compiled(counted=False)
def _call_2(address, a, b, out):
    call_kernel(address, (a, b, out))


@compiled(counted=False)
def _call_3(address, a, b, c, out):
    call_kernel(address, (a, b, c, out))


@compiled(counted=False)
def _call_4(address, a, b, c, d, out):
    call_kernel(address, (a, b, c, d, out))


@compiled(counted=False)
def _call_5(address, a, b, c, d, e, out):
    call_kernel(address, (a, b, c, d, e, out))


CALLS: dict[int, Any] = {1: _call_1, 2: _call_2, 3: _call_3, 4: _call_4, 5: _call_5}
"""Compiled calls of kernels by the number of arguments."""

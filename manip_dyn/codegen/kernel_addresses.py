"""Kernels called by address, so that a caller is compiled once for all robots.

Long functions, such as searches, would otherwise inline the kernels that they call and be compiled
for every robot. A call by address costs two nanoseconds. With ``NUMBA_DISABLE_JIT=1``, Python
functions replace the addresses.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from manip_dyn.codegen.generation.kernel_modules import kernel_of
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.core.arrays import address_for, array_pointer, emit_call
from manip_dyn.core.compiled import PLAIN
from manip_dyn.robot import Frame, Robot

_POINTER = types.CPointer(types.float64)


@lru_cache(maxsize=512)
def addresses(robot: Robot, *names: str) -> tuple[int, ...]:
    """Return the addresses of a robot's kernels for `call_kernel`, with the tip as their frame."""
    return tuple(kernel_address(robot, robot.frame(robot.tip), name) for name in names)


def kernel_address(robot: Robot, frame: Frame, name: str) -> Any:
    """Return the address of a kernel for `call_kernel`; the first call compiles the kernel."""
    kernel = kernel_of(robot, frame, name)
    if PLAIN:
        return kernel
    function = getattr(sys.modules[kernel.__module__], f"{name}_at")
    return address_for(function, (_POINTER,) * (len(BY_NAME[name].arguments) + 1))


@intrinsic
def _call(_context, address, arrays):
    """Call a kernel with the data of arrays."""
    _check(address, arrays)

    def generate(context, builder, signature, values):
        address, packed = values
        kinds = (_POINTER,) * len(signature.args[1])
        pointers = [
            array_pointer(context, builder, array, builder.extract_value(packed, i))
            for i, array in enumerate(signature.args[1])
        ]
        return emit_call(context, builder, address, types.none, kinds, pointers)

    return types.none(address, arrays), generate


def _check(address: Any, arrays: Any) -> None:
    """Raise `TypingError` for types that the kernels would misread."""
    if not isinstance(address, types.Integer) or not isinstance(
        arrays, (types.Tuple, types.UniTuple)
    ):
        raise TypingError(
            "Arguments of call_kernel must be an address and a tuple of arrays, "
            f"got {address}, {arrays}."
        )
    for array in arrays.types:
        if not (isinstance(array, types.Array) and array.dtype == types.float64):
            raise TypingError(f"Arrays of call_kernel must be float64, got {array}.")
        if array.layout != "C":
            raise TypingError(f"Arrays of call_kernel must be C-contiguous, got {array}.")


def _plain(function: Any, arguments: Any) -> Any:
    """Call the Python function that replaces an address."""
    return function(*arguments)


call_kernel: Any = _plain if PLAIN else _call
"""``call_kernel(address, arrays)``: call a kernel with C-contiguous arrays, the last of which
is ``out``."""

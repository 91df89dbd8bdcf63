"""Kernels called by address, so that a caller is compiled once for all robots."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen import pointer_kernels
from manip_dyn.codegen.kernels import customize
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, Declaration, argument_size
from manip_dyn.core.arrays import address_for
from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.specialized import specialized
from manip_dyn.robot import Robot

_POINTER = types.CPointer(types.float64)


@lru_cache(maxsize=512)
def addresses(robot: Robot, *names: str) -> tuple[int, ...]:
    """Return the addresses of kernels of a robot, for `call_kernel`; compiled at need."""
    return tuple(_kernel_address(robot, BY_NAME[name]) for name in names)


def _kernel_address(robot: Robot, declaration: Declaration) -> Any:
    """Return where a kernel that takes the places of its arrays' numbers is."""
    kernel = getattr(customize(robot).in_place, declaration.name)
    if PLAIN:
        return kernel
    count = len(declaration.arguments) + 1
    pointed_at = getattr(sys.modules[kernel.__module__], f"{declaration.name}_at", None)
    if pointed_at is None:
        sizes = [(argument_size(each, robot.n),) for each in declaration.arguments]
        shapes = (*sizes, declaration.shape(robot.n))
        pointed_at = getattr(
            specialized(pointer_kernels, KERNEL=kernel, SHAPES=shapes), f"of_{count}"
        )
    return address_for(pointed_at, (_POINTER,) * count)


@intrinsic
def _call_kernel(_context, address, arrays):
    _check(address, arrays)

    def generate(context, builder, signature, values):
        address, packed = values
        kinds = (_POINTER,) * len(signature.args[1])
        places = [
            arrayobj.make_array(each)(context, builder, builder.extract_value(packed, i)).data
            for i, each in enumerate(signature.args[1])
        ]
        kind = context.call_conv.get_function_type(types.none, kinds)
        kernel = builder.inttoptr(address, kind.as_pointer())
        context.call_conv.call_function(builder, kernel, types.none, kinds, places)
        return context.get_dummy_value()

    return types.none(address, arrays), generate


def _check(address: Any, arrays: Any) -> None:
    """Refuse types that kernels would misread."""
    if not isinstance(address, types.Integer) or not isinstance(
        arrays, (types.Tuple, types.UniTuple)
    ):
        raise TypingError(f"call takes an address and a tuple of arrays, not {address}, {arrays}")
    for each in arrays.types:
        if not (isinstance(each, types.Array) and each.dtype == types.float64):
            raise TypingError(f"call takes arrays of float64, not {each}")
        if each.layout != "C":
            raise TypingError(f"call takes C-contiguous arrays, not {each}")


def _plain(function: Any, arguments: Any) -> Any:
    """Call a function that stands for its own address."""
    return function(*arguments)


call_kernel: Any = _plain if PLAIN else _call_kernel
"""``call_kernel(address, arrays)``: call a kernel with C-contiguous arrays, ``out`` the last."""

"""Kernels by address: what calls them is compiled once, and not once more for every robot.

Code that is long itself, like a search, would take in the kernels that it calls, again for each
robot. It takes the addresses of their machine code instead and calls what lies there with the
places of the arrays' numbers, which costs two nanoseconds. With ``NUMBA_DISABLE_JIT=1`` the
functions themselves stand for their addresses.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen import pointed
from manip_dyn.codegen.kernels import customize
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, Declaration, argument_size
from manip_dyn.core.plain import PLAIN
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
        pointed_at = getattr(specialized(pointed, KERNEL=kernel, SHAPES=shapes), f"of_{count}")
    return _address(pointed_at, (_POINTER,) * count)


def address_of(function: Any, *arguments: Any) -> int:
    """Return the address of a compiled function for arguments like these, for `call_returning`."""
    return _address(function, tuple(typeof(each) for each in arguments))


def _address(function: Any, signature: tuple) -> Any:
    if PLAIN:
        return function
    function.compile(signature)
    compiled = function.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


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


@intrinsic
def _call_returning(_context, address, arguments):
    if not isinstance(address, types.Integer) or not isinstance(arguments, types.BaseTuple):
        raise TypingError(f"expected an address and a tuple, not {address} and {arguments}")

    def generate(context, builder, signature, values):
        kinds = tuple(signature.args[1])
        place, packed = values
        parts = [builder.extract_value(packed, i) for i in range(len(kinds))]
        convention = context.call_conv
        pointer = convention.get_function_type(types.int64, kinds).as_pointer()
        function = builder.inttoptr(place, pointer)
        status, result = convention.call_function(builder, function, types.int64, kinds, parts)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return types.int64(address, arguments), generate


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
call_returning: Any = _plain if PLAIN else _call_returning
"""``call_returning(address, arguments)``: call a compiled function, and return its integer."""

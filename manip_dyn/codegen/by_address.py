"""Kernels by address: what calls them is compiled once, and not once more for every robot.

Numba compiles the kernels that a function calls into it, again for each robot and each caller.
Code that is long itself, like a search, takes the addresses of a robot's kernels instead and
calls what lies there; two nanoseconds per call are the price.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.kernels import customize
from manip_dyn.codegen.trace import BY_NAME, argument_size
from manip_dyn.core.generated import generated_module
from manip_dyn.robot import Robot

FUNCTION = '''

@cfunc("void({types})", cache=True)
def {name}({arguments}):
    """Call the kernel with arrays at these places."""
    kernel_{name}({arrays})
'''


@lru_cache(maxsize=512)
def addresses(robot: Robot, *names: str) -> tuple[int, ...]:
    """Return the addresses of kernels of a robot, for `call`; they are compiled at need."""
    in_place, n = customize(robot).in_place, robot.n
    imports, functions = ["from numba import carray, cfunc"], []
    for name in names:
        kernel: Any = getattr(in_place, name)
        home = kernel.py_func
        imports.append(f"from {home.__module__} import {home.__name__} as kernel_{name}")
        declaration = BY_NAME[name]
        shapes: dict[str, Any] = {each: argument_size(each, n) for each in declaration.arguments}
        shapes["out"] = declaration.shape(n)
        functions.append(
            FUNCTION.format(
                name=name,
                types=", ".join(["CPointer(float64)"] * len(shapes)),
                arguments=", ".join(shapes),
                arrays=", ".join(f"carray({each}, {shape})" for each, shape in shapes.items()),
            )
        )
    text = "\n".join([*imports, *functions])
    text = f'"""Kernels by address. Written by manip_dyn.codegen; do not edit."""\n\n{text}'
    module = generated_module(f"{robot.name}_addresses", text.encode(), lambda: text)
    return tuple(getattr(module, name).address for name in names)


def address_of(function: Any, *arguments: Any) -> int:
    """Return the address of a jitted function for arguments like these, for `call_returning`."""
    signature = tuple(typeof(each) for each in arguments)
    function.compile(signature)
    compiled = function.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


@intrinsic
def call_returning(_context, address, arguments):
    """Call the jitted function at an address with a tuple of arguments; return its integer."""
    if not isinstance(address, types.Integer) or not isinstance(arguments, types.BaseTuple):
        raise TypingError(f"expected an address and a tuple, not {address} and {arguments}")

    def generate(context, builder, signature, values):
        kinds = tuple(signature.args[1])
        place, packed = values
        parts = [builder.extract_value(packed, i) for i in range(len(kinds))]
        function = context.call_conv.get_function_type(types.int64, kinds)
        pointer = builder.inttoptr(place, function.as_pointer())
        called = context.call_conv.call_function(builder, pointer, types.int64, kinds, parts)
        status, result = called
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return types.int64(address, arguments), generate


@intrinsic
def call(_context, address, arrays):
    """Call the kernel at an address with C-contiguous arrays of numbers, the last one ``out``."""
    if not isinstance(address, types.Integer) or not isinstance(
        arrays, (types.Tuple, types.UniTuple)
    ):
        raise TypingError(f"call takes an address and a tuple of arrays, not {address}, {arrays}")
    for each in arrays.types:
        if not (isinstance(each, types.Array) and each.dtype == types.float64):
            raise TypingError(f"call takes arrays of float64, not {each}")
        if each.layout != "C":
            raise TypingError(f"call takes C-contiguous arrays, not {each}")

    def generate(context, builder, signature, values):
        place, packed = values
        pointer = ir.DoubleType().as_pointer()
        places = [
            arrayobj.make_array(each)(context, builder, builder.extract_value(packed, i)).data
            for i, each in enumerate(signature.args[1])
        ]
        kind = ir.FunctionType(ir.VoidType(), [pointer] * len(places))
        builder.call(builder.inttoptr(place, kind.as_pointer()), places)
        return context.get_dummy_value()

    return types.void(address, arrays), generate

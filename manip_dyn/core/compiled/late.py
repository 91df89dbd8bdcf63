"""Functions that are compiled when they are first needed, also where compiled code needs them.

What compiled code calls has to be compiled before it, however rarely it is called. A function
of this kind is called through a few instructions of its own that look whether its machine code is
there, and else have Python make it. It returns nothing, so that callers know its type. Where it
cannot be compiled, the call from Python ends in a SystemError, and the cause is printed.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.callconv import RETCODE_EXC
from numba.core.funcdesc import FunctionDescriptor
from numba.core.registry import CPUDispatcher

from manip_dyn.core.cache.fingerprint import reach
from manip_dyn.core.compiled.decorators import Compiled, Function, insert_call_by_name
from manip_dyn.core.compiled.machine_code import called_by_name, symbol_of
from manip_dyn.core.compiler.compilers import ShortCompiler
from manip_dyn.core.plain import PLAIN

WORD = ir.IntType(64)


class Late(Compiled):
    """A function whose machine code is made, or loaded, at the first call."""

    def __init__(self, *arguments, **options):
        """Take a function, as `Compiled` does."""
        super().__init__(*arguments, **options)
        self._declared: dict[tuple, Any] = {}
        self._slots: dict[tuple, Any] = {}
        self._kept: list[Any] = []

    def declare(self, arguments: tuple) -> None:
        """Give compiled code what it calls for arguments of these types."""
        if arguments in self._declared:
            return
        symbol = symbol_of(self, arguments)
        description = FunctionDescriptor(
            native=True,
            modname=self.__module__,
            qualname=symbol,
            unique_name=symbol,
            doc="",
            typemap={},
            restype=types.none,
            calltypes={},
            argtypes=arguments,
            args=[f"x{i}" for i in range(len(arguments))],
            kws=(),
        )
        description.mangled_name = symbol
        slot = self._slots[arguments] = ctypes.c_void_p()
        llvm.add_symbol(symbol, self._emit(description, slot))
        called_by_name[symbol] = (self, arguments)
        entry = self._declared[arguments] = functools.partial(self, symbol)
        insert_call_by_name(self.targetctx, entry, description)

    def _emit(self, description: FunctionDescriptor, slot: Any) -> int:
        """Return the address of the instructions that compiled code calls."""
        arguments, context = description.argtypes, _untyped(self.targetctx)
        compiling = ctypes.CFUNCTYPE(None)(lambda: self.compile(arguments) and None)
        library = context.codegen().create_library(f"late {description.mangled_name}")
        module = library.create_ir_module("late")
        kind = context.call_conv.get_function_type(types.none, arguments)
        function = ir.Function(module, kind, name=f"late_{id(slot)}")
        builder = ir.IRBuilder(function.append_basic_block())
        place = builder.inttoptr(WORD(ctypes.addressof(slot)), WORD.as_pointer())

        def missing():
            return builder.icmp_unsigned("==", builder.load(place), WORD(0))

        with cgutils.if_unlikely(builder, missing()):
            address = WORD(ctypes.cast(compiling, ctypes.c_void_p).value)
            procedure = ir.FunctionType(ir.VoidType(), ())
            builder.call(builder.inttoptr(address, procedure.as_pointer()), ())
            with cgutils.if_unlikely(builder, missing()):
                builder.ret(RETCODE_EXC)
        pointer = builder.inttoptr(builder.load(place), kind.as_pointer())
        builder.ret(builder.call(pointer, function.args))
        library.add_ir_module(module)
        library.finalize()
        self._kept += [library, compiling]
        return library.get_pointer_to_function(function.name)

    def compile_declared(self) -> bool:
        """Compile for all types that compiled code calls with; return whether any were new."""
        new = [each for each in self._declared if each not in self.overloads]
        for each in new:
            self.compile(each)
        return bool(new)

    def get_call_template(self, args, kws):
        """Tell a compiled caller the type of a call, without compiling."""
        pysig, folded = _untyped(self)._compiler.fold_argument_types(args, kws)
        arguments = tuple(types.unliteral(each) for each in folded)
        self.declare(arguments)
        signature = typing.signature(types.none, *arguments)
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"Late({name})", name, [signature])
        return template, pysig, arguments, {}

    def get_overload(self, sig):
        """Return what stands for the function in compiled callers."""
        return self._declared[tuple(sig)]

    def add_overload(self, cres):
        """Take in machine code, from now on the one that is called."""
        CPUDispatcher.add_overload(self, cres)
        arguments = tuple(cres.signature.args)
        self.declare(arguments)
        place = cres.library.get_pointer_to_function(cres.fndesc.llvm_func_name)
        self._slots[arguments].value = place


def _untyped(value: Any) -> Any:
    """Return a value of numba whose attributes have no types."""
    return value


def late(function: Function) -> Function:
    """Compile a function that returns nothing when it is first called, whoever calls it.

    Machine code is kept on disk, and its loops are left as they are, see `compiled`.
    """
    if PLAIN:
        return function
    made: Any = Late(function, pipeline_class=ShortCompiler)
    return made


def compile_late(*functions: Callable[..., Any]) -> None:
    """Compile now what compiled functions may call at some time, for loops with deadlines."""
    reached = [reach(each).functions.values() for each in functions if isinstance(each, Compiled)]
    rare = [each for some in reached for each in some if isinstance(each, Late)]
    while any(each.compile_declared() for each in rare):
        pass  # what has been compiled may call more of them

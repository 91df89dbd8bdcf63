"""How functions are compiled: one decorator with one set of options.

`compiled` functions are ordinary functions of ordinary modules. Each is compiled once for the
types of its arguments, and `machine_code` keeps the result on disk. Where compiled code calls
one, it calls that machine code by its name, as it would call a C library: nothing is copied into
the caller and optimized again there. The price is a call: a nanosecond or two, and some more for
each array.

Small functions that belong into their callers are `inlined`; they have no machine code of their
own. What a time loop takes in but Python calls too, such as a right-hand side, is both:
``compiled(merge=True)``.

With ``NUMBA_DISABLE_JIT=1`` all of it runs as plain Python, for a debugger to step through.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar, overload

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import user_function
from numba.core.registry import CPUDispatcher

from manip_dyn.core.cache.announcement import announced
from manip_dyn.core.cache.in_turn import turns
from manip_dyn.core.compiled.machine_code import MARK, MachineCode, called_by_name, symbol_of
from manip_dyn.core.compiler import extremes  # noqa: F401  numba asks it what min and max do
from manip_dyn.core.compiler.compilers import (
    MergedCompiler,
    PartCompiler,
    ShortCompiler,
    ShortPartCompiler,
    WholeCompiler,
)
from manip_dyn.core.compiler.known_operations import known_operations
from manip_dyn.core.compiler.memory import collection_paused, with_room
from manip_dyn.core.plain import PLAIN
from manip_dyn.core.uninterrupted import uninterrupted

Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {
    "nopython": True,
    "boundscheck": None,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
    "no_cfunc_wrapper": True,
}
"""Division by zero gives infinity or NaN; a product and a sum may be fused; numbers that are not
finite stay so."""


def insert_call_by_name(context: Any, entry: Any, description: Any) -> None:
    """Let compiled code call machine code by its name.

    What calls it is marked, so that numba keeps none of it by itself: loaded by numba alone, it
    would not find the name.
    """
    call = user_function(description, ())

    def marked(context, builder, signature, arguments):
        if MARK not in builder.module.globals:
            mark = ir.GlobalVariable(builder.module, ir.IntType(8), MARK)
            mark.initializer = ir.Constant(mark.value_type, 0)
            mark.linkage = "weak_odr"
        return call(context, builder, signature, arguments)

    made: Any = marked
    made.libs = ()
    context.insert_func_defn([(made, entry, call.signature)])


class Compiled(CPUDispatcher):
    """A function whose machine code is kept on disk and called by its name."""

    def __init__(self, py_func, locals=None, targetoptions=None, **options):  # noqa: A002
        """Take a function, as numba's own class does."""
        super().__init__(py_func, locals or {}, targetoptions or OPTIONS, **options)
        self._cache = MachineCode(self)

    def __repr__(self) -> str:
        """Return name, arguments and file, of which `inspect` tells none but the source."""
        code = self.py_func.__code__
        arguments = ", ".join(code.co_varnames[: code.co_argcount])
        called = f"{self.py_func.__name__}({arguments})"
        return f"<compiled {called} of '{code.co_filename}' at {id(self):#x}>"

    def compile(self, sig):
        """Compile for the types of `sig`, or load what is kept of it."""
        known = known_operations(self.typingctx, self.targetctx)
        with announced(self.py_func), collection_paused(), uninterrupted(), turns(), known:
            return with_room(super().compile, sig)

    def get_call_template(self, args, kws):
        """Compile one form for all numbers, not one more for each that a caller writes out."""
        return super().get_call_template([types.unliteral(each) for each in args], kws)

    def declare(self, arguments: tuple) -> None:
        """Give compiled code what it calls for arguments of these types."""
        self.compile(arguments)

    def add_overload(self, cres):
        """Take in one compiled form, and give it the name that callers call it by."""
        super().add_overload(cres)
        arguments = tuple(cres.signature.args)
        symbol = symbol_of(self, arguments)
        place = cres.library.get_pointer_to_function(cres.fndesc.llvm_func_name)
        llvm.add_symbol(symbol, place)
        called_by_name[symbol] = (self, arguments)
        description = copy.copy(cres.fndesc)
        description.mangled_name = symbol
        self.targetctx.remove_user_function(cres.entry_point)
        insert_call_by_name(self.targetctx, cres.entry_point, description)


class CompiledOnly(Compiled):
    """A function without a form that Python can call."""

    def __call__(self, *arguments, **named):
        """Refuse: there is nothing to call, and numba would not notice."""
        raise TypeError(f"{self.py_func.__qualname__} can only be called by compiled code")


class Inlined(CPUDispatcher):
    """A function that is a part of its callers."""

    def __init__(self, py_func, always: bool, counted: bool, pipeline: type = PartCompiler):
        """Take a function, and whether it has to be inlined and counts references."""
        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": always, "_nrt": counted}
        super().__init__(py_func, {}, options, pipeline_class=pipeline)

    def get_call_template(self, args, kws):
        """Compile one form for all numbers, not one more for each that a caller writes out."""
        return super().get_call_template([types.unliteral(each) for each in args], kws)

    def add_overload(self, cres):
        """Take in one compiled form, which has no machine code."""

        def entry(*_):
            raise TypeError(f"{self.py_func.__qualname__} can only be called by compiled code")

        cres = cres._replace(entry_point=entry)
        self.overloads[tuple(cres.signature.args)] = cres
        self.targetctx.insert_user_function(entry, cres.fndesc, [cres.library])


class Merged(Compiled):
    """A function that has machine code for Python, and is a part of its compiled callers."""

    def __init__(self, py_func, targetoptions, **options):
        """Take a function, as numba's own class does."""
        super().__init__(py_func, targetoptions=targetoptions, **options)
        counted = targetoptions["_nrt"]
        self._part = Inlined(py_func, always=False, counted=counted, pipeline=MergedCompiler)

    def get_call_template(self, args, kws):
        """Tell a compiled caller the type of a call."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig):
        """Return what compiled callers take in."""
        return self._part.get_overload(sig)

    def add_overload(self, cres):
        """Take in machine code, which nobody calls by its name."""
        CPUDispatcher.add_overload(self, cres)


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(
    *,
    merge: bool = False,
    short: bool = False,
    python: bool = True,
    counted: bool = True,
    keep: bool = True,
) -> Callable[[Function], Function]: ...
def compiled(
    function: Any = None,
    *,
    merge: bool = False,
    short: bool = False,
    python: bool = True,
    counted: bool = True,
    keep: bool = True,
) -> Any:
    """Compile a function when it is first called; its machine code is kept on disk.

    Args:
        function: A function in the subset of Python that numba compiles.
        merge: Whether callers in compiled code take in its code instead of calling it.
        short: Whether loops are left as they are, neither unrolled nor vectorized: that compiles
            in half the time, and short loops of unknown length run no slower.
        python: Whether Python calls it, too, and not only compiled code: what takes a tuple of
            many arrays is compiled several times as fast without.
        counted: Whether references to the memory of arrays are counted. What makes no arrays and
            returns none can do without; functions of users that it calls have to say that they
            cannot, see `integrate.loop.engine`.
        keep: Whether machine code is kept on disk; a function of a user's may refer to what cannot
            be kept.
    """

    def decorated(function: Any) -> Any:
        if PLAIN:
            return function
        kind = Merged if merge else Compiled if python else CompiledOnly
        options = OPTIONS | {"no_cpython_wrapper": not python, "_nrt": counted}
        pipeline = ShortCompiler if short else WholeCompiler
        made: Any = kind(function, targetoptions=options, pipeline_class=pipeline)
        if not keep:
            made._cache.disable()
        return made

    return decorated if function is None else decorated(function)


@overload
def inlined(function: Function) -> Function: ...
@overload
def inlined(
    *, always: bool = False, short: bool = False, counted: bool = True
) -> Callable[[Function], Function]: ...
def inlined(
    function: Any = None, *, always: bool = False, short: bool = False, counted: bool = True
) -> Any:
    """Compile a function into its callers, which are compiled; Python cannot call it.

    Args:
        function: A function in the subset of Python that numba compiles.
        always: Whether it has to be inlined even where LLVM finds it long.
        short: Whether its loops are left as they are, see `compiled`; for what runs rarely.
        counted: See `compiled`.
    """

    def decorated(function: Any) -> Any:
        pipeline = ShortPartCompiler if short else PartCompiler
        return function if PLAIN else Inlined(function, always, counted, pipeline)

    return decorated if function is None else decorated(function)


def is_compiled(function: Any) -> bool:
    """Return whether compiled code can call a function."""
    return isinstance(function, Dispatcher) or (PLAIN and callable(function))

"""Compiled functions."""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config
from numba.core import cgutils, sigutils, types, typing
from numba.core.caching import _Cache
from numba.core.callconv import RETCODE_EXC
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.funcdesc import FunctionDescriptor
from numba.core.imputils import user_function
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from manip_dyn.core.cache import (
    announced,
    cache_directory,
    file_locks,
    platform_of,
    report_first_use,
    wait_for_lock,
    warn_once,
)
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
from manip_dyn.core.compiler.python_calls import SOURCE, declare, wrappers_of
from manip_dyn.core.files import read_checked, write_checked
from manip_dyn.core.fingerprint import closure_of, qualified_name, type_name
from manip_dyn.core.interruption import uninterrupted

PLAIN = bool(getattr(config, "DISABLE_JIT", 0))


PREFIX = "manip_dyn/"
"""What the names begin with by which machine code calls other machine code."""
MARK = "numba.dynamic.globals.manip_dyn"
"""What code that calls by name has among its globals; numba keeps no code with such a global."""
FORM = hashlib.sha256(Path(__file__).read_bytes()).hexdigest() + SOURCE
"""What files hold, and how Python calls machine code; other versions may have it otherwise."""
called_by_name: dict[str, tuple[Dispatcher, tuple]] = {}
"""What has a name: a function and the types of its arguments."""


UNREADABLE = (EOFError, AttributeError, ImportError, KeyError, ValueError, pickle.UnpicklingError)
"""What loading raises for a file of another make than its name says."""


class MachineCode(_Cache):
    """The files of one function; what numba asks for when it compiles."""

    ENDING = ".machine_code"

    def __init__(self, dispatcher: Dispatcher):
        """Take the function; it may not have its place in a module yet."""
        self._dispatcher = dispatcher
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(cache_directory())

    def enable(self) -> None:
        """Keep machine code."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing waits to be written."""

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the machine code for argument types, or None if there is none."""
        reached = closure_of(self._dispatcher)
        if not self._enabled or not reached.digest:
            return None
        path = self._path(sig)
        content = read_checked(path)
        if content is None and wait_for_lock(path):
            content = read_checked(path)
        if content is None:
            report_first_use(self._dispatcher.py_func.__qualname__)
            return None
        # What machine code calls. Numba's own cache loads all that compiling takes, too: 0.2 s.
        rtsys.initialize(target_context)
        try:
            needed, wrappers, reduced = pickle.loads(content)
            for symbol, name, arguments in needed:
                function: Any = reached.functions[name]
                function.declare(arguments)
                called_by_name[symbol]
            for symbol, call in wrappers:
                if declare(target_context, call) != symbol:
                    return None  # it is called in another way by now
            return self.rebuild(target_context, reduced)
        except UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, and which other functions it calls."""
        if not self._enabled or not closure_of(self._dispatcher).digest:
            return
        others = [each for each in data.library._dynamic_globals if each != MARK]
        if others or data.lifted:
            return
        needed = [
            (symbol, qualified_name(called_by_name[symbol][0].py_func), called_by_name[symbol][1])
            for symbol in _symbols(data.library)
        ]
        kept = needed, wrappers_of(data.library), self.reduce(data)
        path = self._path(sig)
        try:
            content = pickle.dumps(kept, protocol=-1)
        except (pickle.PicklingError, AttributeError):
            return  # a type is made of a class inside a function
        try:
            write_checked(path, content)
        except OSError as error:
            reason = error.strerror or error
            warn_once(f"machine code cannot be kept in '{path.parent}' ({reason})")

    def rebuild(self, target_context: Any, reduced: tuple) -> Any:
        """Return what was kept in this form."""
        return CompileResult._rebuild(target_context, *reduced)

    def reduce(self, data: Any) -> tuple:
        """Return the form in which something is kept."""
        return data._replace(type_annotation="")._reduce()  # which takes as long to print

    def _path(self, sig: Any) -> Path:
        arguments, _ = sigutils.normalize_signature(sig)
        function = self._dispatcher.py_func
        name = "".join(c if c.isalnum() else "_" for c in function.__qualname__)
        return cache_directory() / f"{name}-{_key(self._dispatcher, arguments)}{self.ENDING}"


def is_cacheable(function: Any) -> bool:
    """Return whether a compiled function's machine code can be told from any other's."""
    return isinstance(function, Dispatcher) and bool(closure_of(function).digest)


def symbol_of(dispatcher: Dispatcher, arguments: tuple) -> str:
    """Return the name by which machine code for these types is called."""
    return f"{PREFIX}{qualified_name(dispatcher.py_func)}/{_key(dispatcher, arguments)}"


def _key(dispatcher: Dispatcher, arguments: tuple) -> str:
    """Return a hash of all that machine code depends on."""
    digest = closure_of(dispatcher).digest or str(id(dispatcher))
    kinds = [type_name(each) for each in arguments]
    text = f"{digest} {kinds} {FORM} {platform_of(dispatcher.targetctx)}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _symbols(library: Any) -> list[str]:
    """Return the names by which a library calls machine code of ours."""
    functions = library._final_module.functions
    return sorted(f.name for f in functions if f.is_declaration and f.name.startswith(PREFIX))


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
        with announced(self.py_func), collection_paused(), uninterrupted(), file_locks(), known:
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
    reached = [
        closure_of(each).functions.values() for each in functions if isinstance(each, Compiled)
    ]
    rare = [each for some in reached for each in some if isinstance(each, Late)]
    while any(each.compile_declared() for each in rare):
        pass  # what has been compiled may call more of them

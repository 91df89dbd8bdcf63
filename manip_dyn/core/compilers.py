"""Numba's compiler, doing no more than is needed: parts of callers, and short machine code.

Left to itself, numba optimizes a function that is inlined and turns it into machine code, before
each of its callers takes in what came out and does the same again. And LLVM unrolls and
vectorizes every loop it can, three quarters of the code of short loops that rarely run.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core import errors, event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir import Assign, Expr, FreeVar, Global
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NopythonRewrites,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    GenericRewrites,
    InlineClosureLikes,
    IRProcessing,
    ReconstructSSA,
)

from manip_dyn.core import elements
from manip_dyn.core.python_calls import add_entry
from manip_dyn.core.whole_library import WholeLibrary

_numbers = itertools.count()
_numba_errors: Any = errors  # some of it has no types


class _Settled(Flags):
    """Flags that nobody changes any more, so that comparing them is quick.

    Numba compares the flags at hand, one by one, whenever it looks up what an operation means: a
    tenth of the time of compiling went there.
    """

    NAMES = hash(tuple(sorted(Flags.options)))

    def __init__(self, flags: Flags):
        """Take the flags."""
        super().__init__(flags)
        self._all = self.values()

    def __hash__(self):
        """Return the hash of the names, as numba's do."""
        return self.NAMES

    def __eq__(self, other):
        """Return whether all flags are the same."""
        return self is other or self._all == (
            other._all if isinstance(other, _Settled) else other.values()
        )


class _MergedLibrary(WholeLibrary):
    """Code for its callers; nobody else needs it."""

    def _finalize_final_module(self):
        """Do without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class PartLibrary(_MergedLibrary):
    """Code that its callers optimize as a whole."""

    def _optimize_final_module(self):
        """Leave it to the callers."""


class _ShortPartLibrary(PartLibrary):
    """Code whose loops its callers leave as they are."""

    def _optimize_final_module(self):
        """Mark all functions, and leave the rest to the callers."""
        _mark_short(self._final_module)


def _mark_short(module: Any) -> None:
    """Have LLVM leave the loops of all functions of a module as they are."""
    for function in module.functions if _can_mark() else ():
        if not function.is_declaration:
            function.add_function_attribute("optsize")


@cache
def _can_mark() -> bool:
    """Return whether llvmlite marks functions; older ones mark what they return instead."""
    module = parse_assembly("define void @f() { ret void }")
    for function in module.functions:
        function.add_function_attribute("optsize")
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


class _ShortLibrary(WholeLibrary):
    """Code whose loops LLVM leaves as they are."""

    def _optimize_functions(self, ll_module):
        """Leave the functions as they were emitted."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Mark all functions, the parts too."""
        _mark_short(self._final_module)
        if not hasattr(self._codegen, "_pass_builder"):  # older numba
            super()._optimize_final_module()
            return
        # Numba's first round, for references that are counted, finds nothing more to do here.
        manager, builder = self._codegen._module_pass_manager(opt=2)
        manager.run(self._final_module, builder)


def _assigned(state: Any, kinds: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variables of a function to which values of some kinds are assigned."""
    for block in state.func_ir.blocks.values():
        for each in block.find_insts(Assign):
            if isinstance(each.value, kinds):
                yield each.target.name, each.value


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineClosures(InlineClosureLikes):
    """Numba's pass, left out where there is nothing that it looks for.

    That is functions inside functions, lists that become arrays, reductions and stencils.
    """

    _name = "inline_closures_if_any"

    def run_pass(self, state):
        """Run it at need."""
        for _, value in _assigned(state, Expr):
            if value.op in ("make_function", "build_list") or (
                value.op == "getattr" and value.attr in self.NAMES
            ):
                return super().run_pass(state)
        for _, value in _assigned(state, (Global, FreeVar)):
            known = getattr(value.value, "__name__", type(value.value).__name__)
            if known in self.NAMES:
                return super().run_pass(state)
        return False

    NAMES = ("reduce", "stencil", "StencilFunc")


@register_pass(mutates_CFG=True, analysis_only=False)
class _RewriteArrayExpressions(NopythonRewrites):
    """Numba's pass, left out where there is nothing that it looks for.

    That is results that are whole arrays, arrays from lists, and fields by their names.
    """

    _name = "rewrite_array_expressions_if_any"

    def run_pass(self, state):
        """Run it at need."""
        for name, value in _assigned(state, Expr):
            if value.op == "build_list" or (
                value.op in ("unary", "binop", "inplace_binop", "call")
                and isinstance(state.typemap.get(name), types.Array)
            ):
                return super().run_pass(state)
        if any(isinstance(each, types.StringLiteral) for each in state.typemap.values()):
            return super().run_pass(state)
        return False


class _Lower(Lower):
    """Emits a function; how Python calls it is shared."""

    def create_cpython_wrapper(self, release_gil=False):
        """Emit what Python calls."""
        if self.genlower or not release_gil:
            super().create_cpython_wrapper(release_gil)
        else:
            add_entry(self.context, self.library, self.fndesc, self.env)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's pass with another way for Python to call what comes out."""

    _name = "native_lowering_with_shared_calls"

    @property
    def lowering_class(self):
        """Return what emits the function."""
        return _Lower


def _process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Do of numba's processing after a pass what compiling to machine code needs.

    Which variables live where each block begins is for objects of Python and for generators.
    """
    self.func_ir.blocks = canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _processing_less(kind: Any) -> Any:
    """Return a pass of numba's after which no more is computed than is asked for."""

    class Less(kind):
        _name = f"{kind.name()}_processing_less"

        def run_pass(self, state):
            """Run it."""
            if state.func_ir.is_generator:
                return super().run_pass(state)
            before, PostProcessor.run = PostProcessor.run, _process  # type: ignore[method-assign]
            try:
                return super().run_pass(state)
            finally:
                PostProcessor.run = before  # type: ignore[method-assign]

    return register_pass(mutates_CFG=True, analysis_only=False)(Less)


_OUR_OWN = {
    each: _processing_less(each)
    for each in (IRProcessing, GenericRewrites, ReconstructSSA, PreLowerStripPhis, IRLegalization)
} | {
    InlineClosureLikes: _InlineClosures,
    NopythonRewrites: _RewriteArrayExpressions,
    NativeLowering: _Lowering,
}


class _Passes(PassManager):
    """Numba's passes one after another, without a record of each where nobody asks for it.

    A record begins with the types of all arguments as text, pages of it for those that are long.
    """

    def _runPass(self, index, pss, internal_state):  # noqa: N802  numba's name
        """Run one."""
        printed = self._print_before or self._print_after or self._print_wrap
        if printed or event._registered["numba:run_pass"]:
            super()._runPass(index, pss, internal_state)
            return
        pss.analysis = self._analysis
        with _numba_errors.new_error_context("Pass {name}", name=pss.name()):
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


class WholeCompiler(Compiler):
    """Numba's compiler, without passes that find nothing to do."""

    LIBRARY: type[JITCodeLibrary] = WholeLibrary
    """What takes the code."""
    made_with = (WholeLibrary,)
    """Classes of other files that the code which comes out depends on."""

    ELEMENTS = False
    """Whether elements of arrays are emitted in few instructions."""

    def __init__(self, typingctx, targetctx, _library, args, return_type, flags, locals):  # noqa: A002
        """Begin as numba's does."""
        library = self.LIBRARY(targetctx.codegen(), f"code_{next(_numbers)}")
        if not flags.no_compile:
            library.enable_object_caching()
        flags = _Settled(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def _compile_core(self):
        """Compile, and let what is compiled in between have its own way with elements."""
        before, elements.in_few = elements.in_few, self.ELEMENTS
        try:
            return super()._compile_core()
        finally:
            elements.in_few = before

    def define_pipelines(self):
        """Return numba's pipelines with our own in the place of some passes."""
        return [self._pipeline(each) for each in super().define_pipelines()]

    @staticmethod
    def _pipeline(given: PassManager) -> PassManager:
        made = _Passes(given.pipeline_name)
        made.passes = [(_OUR_OWN.get(kind, kind), told) for kind, told in given.passes]
        made.finalize()
        return made


class PartCompiler(WholeCompiler):
    """The compiler of functions that become a part of their callers."""

    LIBRARY: type[JITCodeLibrary] = PartLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):  # noqa: A002
        """Begin as numba's does, and stop before machine code."""
        flags = flags.copy()
        flags.no_compile = True
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class MergedCompiler(PartCompiler):
    """The compiler of parts that are optimized before each caller takes them in.

    Callers take in more of a function that has become short, and LLVM pairs operations on numbers
    sooner in a short function than in a long one.
    """

    LIBRARY = _MergedLibrary


class ShortPartCompiler(PartCompiler):
    """The compiler of parts that run rarely: their machine code is to be short."""

    LIBRARY = _ShortPartLibrary


class ShortCompiler(WholeCompiler):
    """The compiler of functions whose machine code is to be short."""

    LIBRARY = _ShortLibrary
    ELEMENTS = True


FRAMES = 80_000
"""Words that Python gets for the frames of all calls inside `with_room`."""


def with_room(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function after Python has got memory for the frames of all calls inside it.

    Python gets it in small pieces, of 16 kB, and gives one back as soon as no frame is left in
    it. Where a loop far down in the compiler calls a function for whose frame the piece at hand is
    too short, it asks the system for memory at every turn: a fifth of the time of compiling went
    there. A piece is never shorter than its first frame, and this function's frame is long.
    """
    return function(*arguments)


if sys.implementation.name == "cpython":
    with_room.__code__ = with_room.__code__.replace(co_stacksize=FRAMES)


class _Frozen:
    """Whether somebody else uses what Python has for objects that are no garbage."""

    by_others = False


@contextmanager
def collection_paused() -> Iterator[Any]:
    """Look for no garbage inside: the compiler makes many objects, and keeps most of them.

    They are put among the old ones, where garbage is looked for rarely.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Counting takes 30 ms where somebody has put a program's objects there.
        _Frozen.by_others = _Frozen.by_others or gc.get_freeze_count() > 0
        if not _Frozen.by_others:
            gc.freeze()
            gc.unfreeze()
        gc.enable()

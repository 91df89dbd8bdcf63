"""Numba's compiler, doing no more than is needed: parts of callers, and short machine code.

Left to itself, numba optimizes a function that is inlined and turns it into machine code, before
each of its callers takes in what came out and does the same again. And LLVM unrolls and
vectorizes every loop it can, three quarters of the code of short loops that rarely run.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from manip_dyn.core.compiler import elements
from manip_dyn.core.compiler.python_calls import add_entry
from manip_dyn.core.compiler.whole_library import WholeLibrary

_numbers = itertools.count()


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


def lean() -> tuple[type[PassManager], dict[Any, Any]]:
    """Return what runs passes, and those in the place of numba's; of an unknown numba its own."""
    try:
        from manip_dyn.core.compiler.passes import LEAN, Passes
    except (ImportError, AttributeError):
        return PassManager, {}
    return Passes, LEAN


_Passes, _in_place = lean()
_OUR_OWN: dict[Any, Any] = {**_in_place, NativeLowering: _Lowering}


class WholeCompiler(Compiler):
    """Numba's compiler, without passes that find nothing to do."""

    LIBRARY: type[JITCodeLibrary] = WholeLibrary
    """What takes the code."""
    made_with = (WholeLibrary, _Passes)
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

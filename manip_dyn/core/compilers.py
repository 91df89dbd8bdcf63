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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

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


class _MergedLibrary(JITCodeLibrary):
    """Code for its callers; nobody else needs it."""

    def _finalize_final_module(self):
        """Do without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class PartLibrary(_MergedLibrary):
    """Code that its callers optimize as a whole."""

    def _optimize_final_module(self):
        """Leave it to the callers."""


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


class _ShortLibrary(JITCodeLibrary):
    """Code whose loops LLVM leaves as they are."""

    def _optimize_functions(self, ll_module):
        """Leave the functions as they were emitted."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Mark all functions, the parts too."""
        for function in self._final_module.functions if _can_mark() else ():
            if not function.is_declaration:
                function.add_function_attribute("optsize")
        super()._optimize_final_module()


class WholeCompiler(Compiler):
    """Numba's compiler."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):  # noqa: A002
        """Begin as numba's does."""
        flags = _Settled(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class PartCompiler(WholeCompiler):
    """The compiler of functions that become a part of their callers."""

    LIBRARY: type[JITCodeLibrary] = PartLibrary

    def __init__(self, typingctx, targetctx, _library, args, return_type, flags, locals):  # noqa: A002
        """Begin as numba's does, and stop before machine code."""
        library = self.LIBRARY(targetctx.codegen(), f"part_{next(_numbers)}")
        flags = flags.copy()
        flags.no_compile = True
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class MergedCompiler(PartCompiler):
    """The compiler of parts that are optimized before each caller takes them in.

    Callers take in more of a function that has become short, and LLVM pairs operations on numbers
    sooner in a short function than in a long one.
    """

    LIBRARY = _MergedLibrary


class ShortCompiler(WholeCompiler):
    """The compiler of functions whose machine code is to be short."""

    def __init__(self, typingctx, targetctx, _library, *options):
        """Begin as numba's does."""
        library = _ShortLibrary(targetctx.codegen(), f"short_{next(_numbers)}")
        library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *options)


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

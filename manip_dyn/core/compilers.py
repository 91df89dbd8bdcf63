"""Numba's compiler, doing no more than is needed: parts of callers, and short machine code.

Left to itself, numba optimizes a function that is inlined and turns it into machine code, before
each of its callers takes in what came out and does the same again. And LLVM unrolls and
vectorizes every loop it can, three quarters of the code of short loops that rarely run.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_numbers = itertools.count()


class _PartLibrary(JITCodeLibrary):
    """Code for its callers, who optimize it as a whole; nobody else needs it."""

    def _optimize_final_module(self):
        """Leave it to the callers."""

    def _finalize_final_module(self):
        """Do without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class _ShortLibrary(JITCodeLibrary):
    """Code whose loops LLVM leaves as they are."""

    def _optimize_functions(self, ll_module):
        """Leave the functions as they were emitted."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Mark all functions, the parts too."""
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.add_function_attribute("optsize")
        super()._optimize_final_module()


class PartCompiler(Compiler):
    """The compiler of functions that become a part of their callers."""

    def __init__(self, typingctx, targetctx, _library, args, return_type, flags, locals):  # noqa: A002
        """Begin as numba's does, and stop before machine code."""
        library = _PartLibrary(targetctx.codegen(), f"part_{next(_numbers)}")
        flags = flags.copy()
        flags.no_compile = True
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class ShortCompiler(Compiler):
    """The compiler of functions whose machine code is to be short."""

    def __init__(self, typingctx, targetctx, _library, *options):
        """Begin as numba's does."""
        library = _ShortLibrary(targetctx.codegen(), f"short_{next(_numbers)}")
        library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *options)


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
        if gc.get_freeze_count() == 0:  # nobody else uses this
            gc.freeze()
            gc.unfreeze()
        gc.enable()

"""Passes of numba's compiler that do no more than is asked for.

Numba looks for what is not there, computes what nobody reads, and writes a record of each pass.

All that is taken of numba's own is looked for when this is imported. Where something is missing,
that fails, and `compilers` takes numba's passes as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

from numba.core import types
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import new_error_context  # type: ignore[attr-defined]
from numba.core.event import _registered as listeners
from numba.core.ir import Assign, Expr, FreeVar, Global
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.rewrites import rewrite_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import IRLegalization, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import (
    GenericRewrites,
    InlineClosureLikes,
    IRProcessing,
    ReconstructSSA,
)

_whole_processing: Any = PostProcessor.run


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

    That is results that are whole arrays, arrays from lists, and fields by their names; who else
    rewrites looks for more.
    """

    _name = "rewrite_array_expressions_if_any"

    REWRITES = frozenset(
        (
            "RewriteArrayExprs",
            "RewriteArrayOfConsts",
            "RewriteStringLiteralGetitems",
            "RewriteStringLiteralSetitems",
        )
    )

    def run_pass(self, state):
        """Run it at need."""
        rewrites = rewrite_registry.rewrites["after-inference"]
        if not self.REWRITES.issuperset(each.__name__ for each in rewrites):
            return super().run_pass(state)
        for name, value in _assigned(state, Expr):
            if value.op == "build_list" or (
                value.op in ("unary", "binop", "inplace_binop", "call")
                and isinstance(state.typemap.get(name), types.Array)
            ):
                return super().run_pass(state)
        if any(isinstance(each, types.StringLiteral) for each in state.typemap.values()):
            return super().run_pass(state)
        return False


def _process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Do of numba's processing after a pass what compiling to machine code needs.

    Which variables live where each block begins is for objects of Python and for generators.
    """
    if self.func_ir.is_generator:
        _whole_processing(self, emit_dels, extend_lifetimes)
        return
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
            before, PostProcessor.run = PostProcessor.run, _process  # type: ignore[method-assign]
            try:
                return super().run_pass(state)
            finally:
                PostProcessor.run = before  # type: ignore[method-assign]

    return register_pass(mutates_CFG=True, analysis_only=False)(Less)


LEAN = {
    each: _processing_less(each)
    for each in (IRProcessing, GenericRewrites, ReconstructSSA, PreLowerStripPhis, IRLegalization)
} | {InlineClosureLikes: _InlineClosures, NopythonRewrites: _RewriteArrayExpressions}
"""What stands in the place of numba's passes."""


class Passes(PassManager):
    """Numba's passes one after another, without a record of each where nobody asks for it.

    A record begins with the types of all arguments as text, pages of it for those that are long.
    """

    def _runPass(self, index, pss, internal_state):  # noqa: N802  numba's name
        """Run one."""
        printed = self._print_before or self._print_after or self._print_wrap
        if printed or listeners["numba:run_pass"]:
            super()._runPass(index, pss, internal_state)
            return
        pss.analysis = self._analysis
        with new_error_context("Pass {name}", name=pss.name()):
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


def _is_known() -> bool:
    """Return whether numba's classes are what those above take them for."""
    made = PassManager("")
    made.finalize()
    used = {"_analysis", "_print_before", "_print_after", "_print_wrap"}
    replaced = ((_process, PostProcessor.run), (Passes._runPass, PassManager._runPass))
    return (
        used <= vars(made).keys()
        and hasattr(PostProcessor, "_insert_var_dels")
        and all([*signature(a).parameters] == [*signature(b).parameters] for a, b in replaced)
    )


if not _is_known():
    raise ImportError("numba has other passes")

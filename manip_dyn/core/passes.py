"""Passes of numba's compiler that end at once where a function has nothing for them.

Numba computes the lifetimes of all variables for each of these passes: a tenth of a compilation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba.core import types
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir import Assign, Expr, FreeVar, Global
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

INLINED = ("reduce", "stencil", "StencilFunc")
"""Names of functions that numba inlines together with their arguments."""
OPERATIONS = ("unary", "binop", "inplace_binop", "call")
"""Operations that numba fuses where their results are arrays."""


def _assigned(state: Any, *kinds: type) -> Iterator[tuple[str, Any]]:
    """Yield names of variables and their values of some kinds."""
    for block in state.func_ir.blocks.values():
        for each in block.find_insts(Assign):
            if isinstance(each.value, kinds):
                yield each.target.name, each.value


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineClosures(InlineClosureLikes):
    """Inline functions inside a function, comprehensions, reductions and stencils."""

    _name = "manip_dyn_inline_closures"

    def run_pass(self, state):
        """Run the pass if the function may have any."""
        has_any = any(
            value.op in ("make_function", "build_list")
            or (value.op == "getattr" and value.attr in INLINED)
            for _, value in _assigned(state, Expr)
        ) or any(
            getattr(value.value, "__name__", type(value.value).__name__) in INLINED
            for _, value in _assigned(state, Global, FreeVar)
        )
        return has_any and super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _RewriteArrays(NopythonRewrites):
    """Fuse operations on whole arrays, and resolve fields by string literals."""

    _name = "manip_dyn_rewrite_arrays"

    def run_pass(self, state):
        """Run the pass if the function may have any."""
        has_any = any(isinstance(each, types.StringLiteral) for each in state.typemap.values())
        has_any = has_any or any(
            value.op == "build_list"
            or (value.op in OPERATIONS and isinstance(state.typemap.get(name), types.Array))
            for name, value in _assigned(state, Expr)
        )
        return has_any and super().run_pass(state)


OWN = {InlineClosureLikes: _InlineClosures, NopythonRewrites: _RewriteArrays}


def lean(passes: PassManager) -> PassManager:
    """Return passes in which ours replace numba's."""
    manager = PassManager(passes.pipeline_name)
    for kind, description in passes.passes:
        manager.add_pass(OWN.get(kind, kind), description)
    return manager

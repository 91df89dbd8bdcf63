"""Numba's libraries of code, with no optimization of functions that are only declared.

Long straight lines go without two things that take half of LLVM's time there and change nothing
of how fast they run. Each function is optimized by itself, and then once more with its module; and
when registers have been allocated, instructions are scheduled again, in a time that grows with the
square of their number. Processors reorder them by themselves. LLVM leaves that out at the first
level of what makes machine code.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import Target, get_process_triple
from numba.core.codegen import JITCodeLibrary

_MARK = "manip_dyn.long"
_machines: dict[Any, Any] = {}


def mark_long(module: ir.Module) -> None:
    """Note that what a module has is a long straight line, for one state at a time."""
    if _MARK not in module.globals:
        mark = ir.GlobalVariable(module, ir.IntType(8), _MARK)
        mark.initializer = ir.Constant(mark.value_type, 0)
        mark.linkage = "weak_odr"


class WholeLibrary(JITCodeLibrary):
    """Code as numba's own libraries have it."""

    def _optimize_functions(self, ll_module):
        """Optimize what is not only declared, by one pipeline for all."""
        if not hasattr(self._codegen, "_pass_builder"):  # older numba
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        if _is_long(ll_module):
            return
        defined = [each for each in ll_module.functions if not each.is_declaration]
        manager, builder = self._codegen._function_pass_manager()
        for each in defined:
            manager.run(each, builder)

    def _finalize_final_module(self):
        """Make machine code; that of long straight lines numba loads as if it had been kept."""
        if not (self._object_caching_enabled and _is_long(self._final_module)):
            super()._finalize_final_module()
            return
        made = _machine(self._codegen).emit_object(self._final_module)
        self._set_compiled_object(made)
        super()._finalize_final_module()
        self._compiled, self._compiled_object = True, made


def _is_long(module: Any) -> bool:
    """Return whether a module has been marked."""
    try:
        module.get_global_variable(_MARK)
    except NameError:
        return False
    return True


def _machine(codegen: Any) -> Any:
    """Return what makes machine code in the place of numba's own."""
    if codegen not in _machines:
        options = {"opt": 1}
        codegen._customize_tm_options(options)
        target = Target.from_triple(get_process_triple())
        _machines[codegen] = target.create_target_machine(**options)
    return _machines[codegen]

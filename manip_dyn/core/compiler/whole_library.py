"""Numba's libraries of code, with no optimization of functions that are only declared."""

from __future__ import annotations

from numba.core.codegen import JITCodeLibrary


class WholeLibrary(JITCodeLibrary):
    """Code as numba's own libraries have it."""

    def _optimize_functions(self, ll_module):
        """Optimize what is not only declared, by one pipeline for all."""
        if not hasattr(self._codegen, "_pass_builder"):  # older numba
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        defined = [each for each in ll_module.functions if not each.is_declaration]
        manager, builder = self._codegen._function_pass_manager()
        for each in defined:
            manager.run(each, builder)

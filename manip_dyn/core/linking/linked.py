"""Programs compiled once, and linked with what varies.

A program that calls functions which differ from user to user, a time loop and its right-hand
side, would be compiled anew for each of them, most of it by Python: types are inferred and
instructions emitted for what is the same every time. So such a program calls `slots`, and what
comes out of the compiler, before LLVM optimizes it, is its template, see `templates`. For each
combination of functions LLVM takes a copy of the template and the functions that fill its slots
as one module, and makes the same machine code of it as if all had been compiled together.

Slots can be filled in two rounds: what the first one leaves open has templates of its own.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult, compile_result
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]

from manip_dyn.core.cache.fingerprint import digest_of, home
from manip_dyn.core.compiled.decorators import Compiled
from manip_dyn.core.compiler.compilers import PartCompiler, PartLibrary
from manip_dyn.core.compiler.python_calls import add_entry
from manip_dyn.core.compiler.whole_library import WholeLibrary
from manip_dyn.core.linking.slots import Slot, fill, open_calls
from manip_dyn.core.linking.templates import Templates, rename

_unknown = itertools.count()
_made: dict[tuple[Any, str], Linked] = {}
_templates: dict[Any, Templates] = {}


def linked(program: Any, fills: Mapping[Any, Any]) -> Any:
    """Return a compiled program with other functions in the places of slots.

    Args:
        program: A `compiled` function that calls slots, itself or in its parts.
        fills: For slots a compiled function or an intrinsic each, or the number that they return,
            or the table; a slot for what it does by itself.
    """
    filled = tuple(
        (home(slot.py_func), value.default if isinstance(value, Slot) else value)
        for slot, value in fills.items()
    )
    mark = digest_of(filled)[:24] or f"in_memory_{next(_unknown)}"
    if (program, mark) not in _made:
        _made[program, mark] = Linked(program, filled, mark)
    return _made[program, mark]


class Linked(Compiled):
    """A program whose slots are filled.

    Attributes:
        fills: What they are filled with, by the slots' `home`.
    """

    def __init__(self, program: Compiled, fills: tuple[tuple[str, Any], ...], mark: str):
        """Take the program, and what tells it apart from the same one with other functions."""
        super().__init__(_copy(program.py_func, mark), targetoptions=program.targetoptions)
        self.fills = fills
        self._compiler = _Linker(self, _templates_of(program))


def _copy(function: Any, mark: str) -> FunctionType:
    """Return a function with a `home` of its own."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__)
    made.__module__, made.__qualname__ = f"{function.__module__}_{mark}", function.__qualname__
    return made


def _templates_of(program: Any) -> Templates:
    """Return the templates of a program, which may itself be linked."""
    if program not in _templates:
        part = isinstance(program, Linked)
        make = program._compiler.part if part else _FunctionCompiler(*_settings(program)).compile
        _templates[program] = Templates(program, make)
    return _templates[program]


def _settings(program: Any) -> tuple:
    """Return what numba's compiler is given to compile a program as a part of others."""
    options = program.targetoptions | {"no_cpython_wrapper": True}  # Python calls what is linked
    return program.py_func, program.targetdescr, options, {}, PartCompiler


class _Linker(_FunctionCompiler):
    """What stands in for numba's compiler of a function that is linked."""

    def __init__(self, function: Linked, templates: Templates):
        """Take the function, and the templates of its program."""
        super().__init__(*_settings(function))
        self._function, self._templates = function, templates
        # Tells names apart: what is filled in differs by what its own slots are filled with.
        self._ending = f".{hashlib.sha256(home(function.py_func).encode()).hexdigest()[:24]}"

    def _compile_core(self, args: tuple, _return_type: Any) -> CompileResult:
        """Return machine code for arguments of these types."""
        return self._linked(args, WholeLibrary)

    def part(self, arguments: tuple, _return_type: Any = None) -> CompileResult:
        """Return code for arguments of these types, not optimized."""
        return self._linked(arguments, PartLibrary)

    def _linked(self, arguments: tuple, kind: type[JITCodeLibrary]) -> CompileResult:
        context: Any = self._function.targetctx
        self._function.typingctx.refresh()  # what numba does before it compiles
        context.refresh()
        template = self._templates.of(tuple(arguments)).renamed(self._ending)
        description, fills = template.description, dict(self._function.fills)
        library = kind(context.codegen(), description.mangled_name)
        library.enable_object_caching()
        library._final_module.link_in(template.module)
        left = open_calls(library._final_module)
        while known := {name: each for name, each in left.items() if each.slot in fills}:
            values = {name: fills[each.slot] for name, each in known.items()}
            fill(library, values, self._function)
            left = open_calls(library._final_module)  # those of what was filled in, too
        rename(library._final_module, self._ending)
        for call in left.values() if kind is WholeLibrary else ():
            name = home(self._templates.program.py_func)
            raise ValueError(f"nothing fills the slot {call.slot} of {name}")
        if kind is WholeLibrary and not self._function.targetoptions["no_cpython_wrapper"]:
            add_entry(context, library, description, template.environment)
        library.finalize()
        entry = None
        if kind is WholeLibrary:
            entry = context.get_executable(library, description, template.environment)
            context.insert_user_function(entry, description, [library])
        made = compile_result(
            typing_context=self._function.typingctx,
            target_context=context,
            entry_point=entry,
            type_annotation="",
            signature=template.signature,
            objectmode=False,
            lifted=(),
            fndesc=description,
            library=library,
            environment=template.environment,
            reload_init=list(getattr(library, "_reload_init", ())),  # not in older ones
            referenced_envs=template.environments,
        )
        for each in made._find_referenced_environments() if entry else ():
            library.codegen.set_env(each.env_name, each)
        return made

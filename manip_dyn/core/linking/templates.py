"""What comes out of the compiler for a program with open `slots`: its templates, kept on disk."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult

from manip_dyn.core.compiled.decorators import Compiled
from manip_dyn.core.compiled.machine_code import MachineCode
from manip_dyn.core.linking.slots import Call, calls, open_calls


class Template(NamedTuple):
    """LLVM's code of a program for some types of arguments, not optimized.

    Attributes:
        module: The code.
        description: What numba knows of the function.
        environment: Python's objects that it refers to.
        environments: Those of all its parts.
        signature: Its type.
        calls: The calls of open slots by their names.
    """

    module: Any
    description: Any
    environment: Any
    environments: tuple
    signature: Any
    calls: dict[str, Call]

    @classmethod
    def of(cls, made: Any) -> Template:
        """Return the template in what the compiler made."""
        made.library._ensure_finalized()
        module = made.library._final_module
        made.fndesc.typemap = made.fndesc.calltypes = None
        return cls(
            module,
            made.fndesc,
            made.environment,
            tuple(made._find_referenced_environments()),
            made.signature,
            open_calls(module),
        )

    def renamed(self, ending: str) -> Template:
        """Return a copy in which all functions have names of their own."""
        module, description = self.module.clone(), copy.copy(self.description)
        rename(module, ending)
        description.mangled_name += ending
        return self._replace(module=module, description=description)


def rename(module: Any, ending: str) -> None:
    """Give all functions names of their own: machine code takes the first one of each name."""
    for each in module.functions:
        if not each.is_declaration and not each.name.endswith(ending):
            each.name += ending


class Templates(MachineCode):
    """The templates of one program; the files in which they are kept."""

    ENDING = f".{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]}.template"

    def __init__(self, program: Compiled, make: Callable[[tuple, Any], CompileResult]):
        """Take the program, and what compiles it for types of arguments as a part of others."""
        super().__init__(program)
        self.program, self._make = program, make
        self._made: dict[tuple, Template] = {}

    def of(self, arguments: tuple) -> Template:
        """Return the template for arguments of these types."""
        if arguments not in self._made:
            found: Any = self.load_overload(arguments, self.program.targetctx)
            if found is None:
                made = self._make(arguments, None)
                found = Template.of(made)
                self.save_overload(arguments, made)
            self._made[arguments] = found
        return self._made[arguments]

    def rebuild(self, _context: Any, reduced: tuple) -> Any:
        """Return what was kept in this form."""
        template = Template(*reduced)
        calls.update(template.calls)
        return template._replace(module=llvm.parse_bitcode(template.module))

    def reduce(self, data: Any) -> tuple:
        """Return the form in which a template is kept."""
        template = Template.of(data)
        return tuple(template._replace(module=template.module.as_bitcode()))

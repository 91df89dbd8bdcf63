"""Templates and their arguments."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import types, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult, Flags, compile_result
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic

from manip_dyn.core.compiled import PLAIN, Compiled, Function, Inlined, MachineCode
from manip_dyn.core.compiler.compilers import PartCompiler, PartLibrary
from manip_dyn.core.compiler.declaration import declaration
from manip_dyn.core.compiler.python_calls import add_entry
from manip_dyn.core.compiler.whole_library import WholeLibrary
from manip_dyn.core.fingerprint import digest_of, qualified_name

_INDEX = ir.IntType(64)
_ROW = ir.ArrayType(ir.DoubleType(), 16)
"""A row of a `table`: where it is read nobody knows how many columns there are."""


class Call(NamedTuple):
    """What is known of a call: the slot's `home`, and types; no arguments of numbers."""

    slot: str
    arguments: tuple | None
    returns: Any


calls: dict[str, Call] = {}
"""All calls of slots by their names in LLVM's code."""


class Slot(Inlined):
    """A stand-in whose calls are left open."""

    def __init__(self, py_func: Callable[..., Any], returns: Any):
        """Take what it does until it is filled, and the type of what it returns."""
        super().__init__(py_func, always=False, counted=True)
        self.default = Inlined(py_func, always=False, counted=True)
        self._returns = returns
        self._declared: dict[tuple, Any] = {}
        self._compiler: Any

    def get_call_template(self, args, kws):
        """Tell a compiled caller the type of a call, without compiling."""
        pysig, folded = self._compiler.fold_argument_types(args, kws)
        arguments = tuple(types.unliteral(each) for each in folded)
        if arguments not in self._declared:
            self._declare(arguments)
        signature = typing.signature(self._returns, *arguments)
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"Slot({name})", name, [signature])
        return template, pysig, arguments, {}

    def get_overload(self, sig):
        """Return what stands for the function in compiled callers."""
        return self._declared[tuple(sig)]

    def _declare(self, arguments: tuple) -> None:
        call = Call(qualified_name(self.py_func), arguments, self._returns)
        kinds = hashlib.sha256(repr([str(each) for each in arguments]).encode())
        symbol = f"slot/{call.slot}/{kinds.hexdigest()[:24]}"
        calls[symbol] = call
        entry = self._declared[arguments] = functools.partial(self, symbol)
        self.targetctx.insert_user_function(entry, declaration(symbol, arguments, self._returns))


def function_parameter(returns: Any = types.none) -> Callable[[Function], Function]:
    """Leave open what a function does in compiled callers, until they are `linked`.

    Args:
        returns: The type of what it returns.
    """

    def decorated(function: Any) -> Any:
        return function if PLAIN else Slot(function, returns)

    return decorated


def number_parameter(kind: Any = types.int64) -> Callable[[Function], Function]:
    """Leave open a number that a function without arguments returns, until it is `linked`.

    Args:
        kind: Its type.
    """

    def decorated(function: Any) -> Any:
        if PLAIN:
            return function
        slot = qualified_name(function)
        calls[slot] = Call(slot, None, kind)

        def read(_context):
            def generate(context, builder, _signature, _values):
                place = builder.module.globals.get(slot)
                if place is None:
                    place = _constant(builder.module, slot, context.get_value_type(kind))
                return builder.load(place)

            return typing.signature(kind), generate

        made: Any = intrinsic(read)
        made.py_func = function
        return made

    return decorated


def table_parameter(function: Any) -> Any:
    """Leave open a table whose elements a function of row and column returns, until `linked`."""
    if PLAIN:
        return function
    slot = qualified_name(function)
    calls[slot] = Call(slot, None, types.float64)

    def read(_context, row, column):
        def generate(context, builder, signature, values):
            place = builder.module.globals.get(slot)
            if place is None:
                place = _constant(builder.module, slot, ir.ArrayType(_ROW, 0))
            row, column = (
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(values, signature.args, strict=True)
            )
            return builder.load(builder.gep(place, [ir.Constant(_INDEX, 0), row, column]))

        return types.float64(row, column), generate

    made: Any = intrinsic(read)
    made.py_func = function
    return made


def _constant(module: Any, name: str, kind: Any) -> Any:
    """Declare a constant that is defined elsewhere."""
    made = ir.GlobalVariable(module, kind, name)
    made.global_constant = True
    return made


def open_calls(module: Any) -> dict[str, Call]:
    """Return the calls of slots in LLVM's code that nothing has filled, by their names."""
    known = itertools.chain(module.functions, module.global_variables)
    return {each.name: calls[each.name] for each in known if _is_open(each)}


def _is_open(value: Any) -> bool:
    return value.is_declaration and value.name in calls


def fill(library: Any, values: Mapping[str, Any], caller: Any) -> None:
    """Define what calls do, as a part of their callers in a library.

    Args:
        library: Where the callers are.
        values: For names of calls, see `calls`, a compiled function each, or the number that is
            returned, or the table (r, c).
        caller: The compiled function that the callers belong to.
    """
    module = library.create_ir_module("slots")
    with caller.targetctx.push_code_library(library):  # which takes in what is called
        for symbol, value in values.items():
            define = _define_number if calls[symbol].arguments is None else _define_function
            define(module, symbol, value, caller)
    library.add_ir_module(module)
    final = library._final_module
    for each in dict.fromkeys(library._linking_libraries):
        final.link_in(each._get_module_for_linking(), preserve=True)
        getattr(library, "_reload_init", set()).update(getattr(each, "_reload_init", ()))
    library._linking_libraries.clear()
    for symbol in values:
        is_number = calls[symbol].arguments is None
        find = final.get_global_variable if is_number else final.get_function
        find(symbol).linkage = "internal"


def _define_number(module: Any, symbol: str, value: Any, caller: Any) -> None:
    if isinstance(value, np.ndarray):
        rows = np.zeros((len(value), _ROW.count))
        rows[:, : value.shape[1]] = value
        constant = ir.Constant(ir.ArrayType(_ROW, len(rows)), rows.tolist())
    else:
        constant = caller.targetctx.get_constant(calls[symbol].returns, value)
    made = _constant(module, symbol, constant.type)
    made.initializer = constant
    made.linkage = "linkonce_odr"


def _define_function(module: Any, symbol: str, value: Any, caller: Any) -> None:
    call, convention = calls[symbol], caller.targetctx.call_conv
    arguments: Any = call.arguments
    function = ir.Function(module, convention.get_function_type(call.returns, arguments), symbol)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    convention.decorate_function(function, [f"x{i}" for i in range(len(arguments))], arguments)
    builder = ir.IRBuilder(function.append_basic_block())
    convention.return_value(builder, _emitted(builder, function, call, value, caller))


def _emitted(builder: Any, function: Any, call: Call, value: Any, caller: Any) -> Any:
    """Emit a function's call; return its result."""
    context, arguments = caller.targetctx, call.arguments
    if isinstance(value, (int, float)):
        return context.get_constant(call.returns, value)
    kind: Any = caller.typingctx.resolve_value_type(value)
    flags = Flags()
    caller.targetdescr.options.parse_as_flags(flags, caller.targetoptions)
    with ConfigStack().enter(flags):  # what a function of a user leaves open, its caller says
        called = kind.get_call_type(caller.typingctx, arguments, {})
    packer = context.get_arg_packer(arguments)
    given = packer.from_arguments(builder, context.call_conv.get_arguments(function))
    result = context.get_function(kind, called)(builder, given)
    if call.returns is not types.none:
        return context.cast(builder, result, called.return_type, call.returns)
    if context.enable_nrt:
        context.nrt.decref(builder, called.return_type, result)
    return context.get_dummy_value()


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


_unknown = itertools.count()
_made: dict[tuple[Any, str], Linked] = {}
_templates: dict[Any, Templates] = {}


def instantiate(program: Any, fills: Mapping[Any, Any]) -> Any:
    """Return a compiled program with other functions in the places of slots.

    Args:
        program: A `compiled` function that calls slots, itself or in its parts.
        fills: For slots a compiled function or an intrinsic each, or the number that they return,
            or the table; a slot for what it does by itself.
    """
    filled = tuple(
        (qualified_name(slot.py_func), value.default if isinstance(value, Slot) else value)
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
        self._ending = (
            f".{hashlib.sha256(qualified_name(function.py_func).encode()).hexdigest()[:24]}"
        )

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
            name = qualified_name(self._templates.program.py_func)
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

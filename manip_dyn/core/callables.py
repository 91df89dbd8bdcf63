"""Numba types of functions that compiled code calls by symbol or links.

Typing requests the signature of a call from a `CallableType`, and lowering looks up the
implementation that `define` has registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from llvmlite import ir
from numba.core import errors, types
from numba.core.imputils import lower_constant, user_function
from numba.extending import NativeValue, lower_builtin, models, register_model, typeof_impl, unbox

PARAMETER_PREFIX = "parameter/"
"""Prefix of the symbols of template parameters; see `linking`."""
MARK = "numba.dynamic.globals.manip_dyn"
"""Global variable in code that calls functions by symbol. Numba does not cache such code."""


class CallableType(types.Callable):
    """The numba type of a single function, with its signatures and implementations."""

    def __init__(self, name: str, function: Callable[..., Any], declare: Callable[..., Any]):
        """Create the type of a function.

        Args:
            name: The qualified name, for messages.
            function: The Python function, for its parameters and defaults.
            declare: Called with the typing context and argument types before the first call with
                these types. It must call `define`.
        """
        self.function, self.declare = function, declare
        self.parameters = inspect.signature(function)
        self._signatures: dict[tuple, Any] = {}
        self._keys: dict[tuple, Any] = {}
        super().__init__(f"function {name} at {id(self):#x}")

    @property
    def key(self) -> Any:
        """Return the identity of this type."""
        return id(self)

    def get_call_type(self, context, args, kws):
        """Return the signature of a call, after a call of `declare` for new argument types."""
        arguments = self.arguments(args, dict(kws))
        if arguments not in self._signatures:
            self.declare(context, arguments)
        return self._signatures[arguments]

    def get_call_signatures(self):
        """Return the signatures that are defined so far, and True: there may be others."""
        return [*self._signatures.values()], True

    def get_impl_key(self, sig):
        """Return the key of the implementation for a signature."""
        return self._keys[tuple(sig.args)]

    def arguments(self, args: Sequence[Any], kws: dict[str, Any]) -> tuple:
        """Return the argument types of a call in the order of the parameters.

        Literal types are replaced with general types. The type of a missing argument is
        `numba.types.Omitted` with its default.

        Raises:
            TypingError: If the arguments do not match the parameters.
        """
        if kws or len(args) != len(self.parameters.parameters):
            try:
                bound = self.parameters.bind(*args, **kws)
            except TypeError as error:
                raise errors.TypingError(f"{self.function.__qualname__}: {error}") from error
            args = [
                bound.arguments.get(name, types.Omitted(parameter.default))
                for name, parameter in self.parameters.parameters.items()
            ]
        return tuple(types.unliteral(kind) for kind in args)

    def define(self, arguments: tuple, returns: Any, emit: Callable[..., Any]) -> None:
        """Define the function for argument types.

        Args:
            arguments: The numba types of the arguments.
            returns: The numba type of the result.
            emit: Implementation ``emit(context, builder, signature, values)``.
        """
        self._keys[arguments] = key = _Key()
        self._signatures[arguments] = returns(*arguments).replace(pysig=self.parameters)
        lower_builtin(key, *arguments)(emit)


class _Key:
    """Object that identifies an implementation."""


def call_of(symbol: str, returns: Any, arguments: tuple, libraries: Sequence[Any] = ()) -> Any:
    """Return an emitter of calls of a function by its symbol, in numba's calling convention.

    Args:
        symbol: Name of the function in LLVM.
        returns: The numba type of the result.
        arguments: The numba types of the arguments.
        libraries: Code libraries to link with the caller.
    """
    description = SimpleNamespace(
        mangled_name=symbol,
        restype=returns,
        argtypes=arguments,
        args=[f"x{i}" for i in range(len(arguments))],
        noalias=False,
        inline=False,
    )
    return user_function(description, libraries)


def check_parameters(module: Any) -> None:
    """Check that all template parameters in an LLVM module have arguments.

    Raises:
        ValueError: If a template parameter has no argument.
    """
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration and value.name.startswith(PARAMETER_PREFIX):
            name = value.name.split("/")[1]
            raise ValueError(f"the template parameter {name} must have an argument.")


def marked(emit: Any) -> Any:
    """Return an emitter that adds the global variable `MARK` to the module and calls `emit`."""

    def emit_marked(context, builder, signature, values):
        if MARK not in builder.module.globals:
            mark = ir.GlobalVariable(builder.module, ir.IntType(8), MARK)
            mark.initializer = ir.Constant(mark.value_type, 0)
            mark.linkage = "weak_odr"
        return emit(context, builder, signature, values)

    return emit_marked


@register_model(CallableType)
class _Model(models.OpaqueModel):
    """Data model of functions, which have no value in compiled code."""


@lower_constant(CallableType)
def _constant(context, _builder, _kind, _value):
    return context.get_dummy_value()


@unbox(CallableType)
def _unboxed(_kind, _value, c):
    return NativeValue(c.context.get_dummy_value())


def has_callable_type(owner: type) -> type:
    """Decorate a class whose objects have their numba type in the attribute `callable_type`."""
    typeof_impl.register(owner)(lambda value, _context: value.callable_type)
    return owner

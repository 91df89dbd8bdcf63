"""What operators and built-in functions give for types, looked up once.

Numba asks for every operation of a function, in each pass over its types and once more when it
emits it, which of some hundred registered signatures fits, and words why each of the others does
not. What fits is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError
from numba.extending import models, register_model

from manip_dyn.core.compiler.elements import key_of

_known: dict[Any, KnownFunction] = {}
_sizes: dict[str, int] = {}
"""Of types of LLVM, by their text; not of those with a name, which may be two types'."""
_read: dict[Any, list[int]] = {}
"""How much of what has been declared the contexts have read, by contexts."""


class KnownFunction(types.Function):
    """A built-in function that remembers its signatures."""

    _impl_keys: dict[tuple, Any]

    def __init__(self, function: types.Function):
        """Take the function as numba knows it."""
        super().__init__(function.templates)
        self.function, self.name = function, function.name
        self._signatures: dict[tuple, Any] = {}

    def get_call_type(self, context, args, kws):
        """Return the signature for types of arguments."""
        known: Any = None if kws else self._signatures.get(args)
        if isinstance(known, str):
            raise TypingError(known)
        if known is None:
            try:
                known = super().get_call_type(context, args, kws)
            except TypingError as error:
                if not kws and all(isinstance(each, _NUMBERS) for each in args):
                    self._signatures[args] = str(error)
                raise
            # What numba compiles for a signature depends on more than types.
            if not kws and self._impl_keys[known.args] is self.typing_key:
                self._signatures[args] = known
        return known

    def known(self, arguments: tuple, keywords: Any) -> Any:
        """Return the signature for types of arguments if one is known, else None."""
        known = None if keywords else self._signatures.get(arguments)
        return None if isinstance(known, str) else known

    def get_impl_key(self, sig):
        """Return what the code of a signature goes by."""
        return key_of(self.typing_key, sig) or super().get_impl_key(sig)


register_model(KnownFunction)(models.OpaqueModel)
_NUMBERS = (types.Number, types.Literal, types.Omitted)


@contextmanager
def known_operations(typing: Any, target: Any) -> Iterator[None]:
    """Let numba's contexts remember inside what they find and have read, and sizes of types."""
    with global_compiler_lock:
        if "resolve_value_type" in vars(typing):
            yield
        else:
            with _replaced(typing, target):
                yield


@contextmanager
def _replaced(typing: Any, target: Any) -> Iterator[None]:
    """Replace inside what the contexts ask."""
    resolve_value, resolve_call = typing.resolve_value_type, typing.resolve_function_type
    measure = target.get_abi_sizeof

    def value_type(value: Any) -> Any:
        if not isinstance(value, BuiltinFunctionType):
            return resolve_value(value)
        kind = resolve_value(value)
        if type(kind) is not types.Function:
            return kind
        if value not in _known or _known[value].function is not kind:
            _known[value] = KnownFunction(kind)
        return _known[value]

    def call_type(function: Any, arguments: Any, keywords: Any) -> Any:
        known = isinstance(function, KnownFunction) and function.known(arguments, keywords)
        return known or resolve_call(function, arguments, keywords)

    def size(kind: Any) -> int:
        text = str(kind)
        if "%" in text:
            return measure(kind)
        if text not in _sizes:
            _sizes[text] = measure(kind)
        return _sizes[text]

    replaced: dict[Any, dict[str, Any]] = {
        typing: {"resolve_value_type": value_type, "resolve_function_type": call_type},
        target: {"get_abi_sizeof": size},
    }
    for context, functions in replaced.items():
        if hasattr(context, "_registries"):  # another numba reads them at each call
            functions["refresh"] = _refresh_at_need(context)
        vars(context).update(functions)
    try:
        yield
    finally:
        for context, functions in replaced.items():
            for name in functions:
                delattr(context, name)


def _refresh_at_need(context: Any) -> Callable[[], None]:
    """Return what reads new declarations for a context, and does nothing where there are none."""
    refresh, reading = context.refresh, False

    def refresh_at_need() -> None:
        nonlocal reading
        declared = _declared(context)
        if reading or _read.get(context) == declared:
            return  # what is read asks for the same again, some five hundred times
        reading = True
        try:
            refresh()
        finally:
            reading = False
        _read[context] = declared  # what has been declared meanwhile is read the next time

    return refresh_at_need


def _declared(context: Any) -> list[int]:
    """Return how much has been declared in each list that a context reads."""
    return [
        len(each)
        for registry in context._registries
        for each in vars(registry).values()
        if isinstance(each, list)
    ]

"""Digests of compiled functions."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

FOREIGN = ("numba", "llvmlite", "numpy", "scipy", "typing")
"""Packages whose versions, not whose sources, count."""
PLAIN = (bool, int, float, complex, str, bytes, range, enum.Enum, Fraction, PurePath)
"""Kinds of values that their text tells apart."""
TYPES = (types.Number, types.Boolean, types.NoneType, types.Buffer, types.BaseTuple)
"""Kinds of numba's types that `type_name` tells apart; the text of others may hold an address."""


class Closure(NamedTuple):
    """What a function reaches.

    Attributes:
        digest: Of everything, as hexadecimal digits; empty if something has no digest.
        functions: The compiled functions on the way, by their `home`.
    """

    digest: str
    functions: dict[str, Dispatcher]


class UnknownError(Exception):
    """A value that no digest tells apart from others."""


def qualified_name(function: Callable[..., Any]) -> str:
    """Return a function's module and name."""
    return f"{function.__module__}.{function.__qualname__}"


def type_name(kind: Any) -> str:
    """Return what tells a type of numba's apart; named tuples of one name may differ."""
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    parts: Any = kind
    made = getattr(kind, "instance_class", None)
    names = (qualified_name(made), made._fields) if made else ()
    return f"{names}{[type_name(each) for each in parts.types]}"


_reached: dict[Any, Closure] = {}


def closure_of(dispatcher: Dispatcher) -> Closure:
    """Return what a compiled function reaches; found once."""
    if dispatcher not in _reached:
        walk = _Walk()
        try:
            walk.add(dispatcher)
            digest = walk.digest.hexdigest()
        except UnknownError:
            digest = ""
        _reached[dispatcher] = Closure(digest, walk.functions)
    return _reached[dispatcher]


def digest_of(value: Any) -> str:
    """Return a digest of a value and all that it refers to, or nothing if there is none."""
    walk = _Walk()
    try:
        walk.add(value)
    except UnknownError:
        return ""
    return walk.digest.hexdigest()


class _Walk:
    """One pass over everything that is reached from a function, each thing once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.functions: dict[str, Dispatcher] = {}
        self._functions = itertools.count()
        # Which function each is, and the value, kept alive, so that no number is used again.
        self._seen: dict[int, tuple[str, Any]] = {}

    def add(self, value: Any) -> None:
        """Add a value and what it refers to."""
        if value is None or isinstance(value, PLAIN):
            self.digest.update(repr(value).encode())
            return
        if isinstance(value, TYPES):
            self.digest.update(type_name(value).encode())
            return
        if id(value) in self._seen:
            self.digest.update(self._seen[id(value)][0].encode())  # which of them it is
            return
        is_function = isinstance(value, (Dispatcher, _Intrinsic, FunctionType))
        self._seen[id(value)] = (f"#{next(self._functions)}" if is_function else "", value)
        if isinstance(value, Dispatcher):
            self._add_compiled(value)
        elif isinstance(value, _Intrinsic):
            self._add_function(value._defn)
            self.add(getattr(value, "py_func", None))  # that of a `number`
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, np.ndarray):
            self.digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
        elif isinstance(value, (np.generic, np.dtype)):
            self.digest.update(repr(value).encode())
        elif isinstance(value, (tuple, list, frozenset, set)):
            self._add_all(sorted(value) if isinstance(value, (set, frozenset)) else value)
        elif isinstance(value, dict):
            self._add_all(value)
            self._add_all(value.values())
        elif isinstance(value, (type, ModuleType)):
            self._add_source(value)
        elif hasattr(value, "__wrapped__"):
            self.add(value.__wrapped__)
        elif dataclasses.is_dataclass(value):
            self.add(type(value))
            self._add_all([getattr(value, each.name) for each in dataclasses.fields(value)])
        elif not _is_foreign(value):
            raise UnknownError(f"{value!r}")

    def _add_all(self, values: Any) -> None:
        self.digest.update(str(len(values)).encode())
        for each in values:
            self.add(each)

    def _add_compiled(self, dispatcher: Any) -> None:
        """Add a compiled function, and how it is compiled."""
        self.functions[qualified_name(dispatcher.py_func)] = dispatcher
        self.digest.update(repr(sorted(dispatcher.targetoptions.items())).encode())
        pipeline = dispatcher._compiler.pipeline_class
        for kind in (type(dispatcher), pipeline, *getattr(pipeline, "made_with", ())):
            self.digest.update(_file(getattr(sys.modules[kind.__module__], "__file__", None)))
        self._add_function(dispatcher.py_func)
        self._add_all(getattr(dispatcher, "fills", ()))

    def _add_function(self, function: FunctionType) -> None:
        if _is_foreign(function):
            return
        self.digest.update(qualified_name(function).encode())
        file = function.__code__.co_filename
        self.digest.update(_file(file) + _code(function.__code__))  # one file: many a lambda
        self._add_all([cell.cell_contents for cell in function.__closure__ or ()])
        self._add_all(function.__defaults__ or ())
        for name in _names(function.__code__):
            if name in function.__globals__:
                self.digest.update(name.encode())
                self.add(function.__globals__[name])

    def _add_source(self, value: type | ModuleType) -> None:
        """Add the file of a class or module, and what the methods of a class refer to."""
        if _is_foreign(value):
            return
        name = value.__name__ if isinstance(value, ModuleType) else value.__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        self.digest.update(f"{name} {value.__name__}".encode() + (_file(file) or b""))
        if isinstance(value, type):
            for method in vars(value).values():
                if isinstance(method, FunctionType):
                    self.add(method)


def _is_foreign(value: Any) -> bool:
    """Return whether something belongs to Python or to a package of `FOREIGN`."""
    if isinstance(value, BuiltinFunctionType):
        return True
    if isinstance(value, ModuleType):
        return _root(value.__name__) in FOREIGN or _root(value.__name__) in sys.stdlib_module_names
    if isinstance(value, (type, FunctionType)):
        root = _root(value.__module__)
        return root in FOREIGN or (root in sys.stdlib_module_names and root != "__main__")
    return _root(type(value).__module__) in (*FOREIGN, "__future__", "types")


def _root(module: str | None) -> str:
    return (module or "").split(".")[0]


@cache
def _file(name: str | None) -> bytes:
    path = Path(name) if name else None
    return hashlib.sha256(path.read_bytes()).digest() if path and path.is_file() else b""


def _code(code: CodeType) -> bytes:
    """Return all that a function's own code says."""
    constants = [_told(each) for each in code.co_consts if not isinstance(each, CodeType)]
    own = code.co_code + repr((constants, code.co_names, code.co_varnames)).encode()
    return own + b"".join(_code(each) for each in code.co_consts if isinstance(each, CodeType))


def _told(constant: Any) -> str:
    """Return what a constant is; sets have another order in every process."""
    if isinstance(constant, (tuple, frozenset)):
        parts = [_told(each) for each in constant]
        return repr(sorted(parts) if isinstance(constant, frozenset) else parts)
    return repr(constant)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function and the functions inside it look up."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)

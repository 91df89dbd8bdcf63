"""Digests of everything that the machine code of a function depends on.

A digest covers the source file of the function, the source files of all functions and classes that
it refers to directly or indirectly (its dependency closure), and the values of constants. Sources
of Python and of the packages in `FOREIGN` are not included. `machine_code` adds the versions of
Python, numba and llvmlite.
"""

from __future__ import annotations

import dataclasses
import dis
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
from numba.extending import is_jitted

FOREIGN = ("numba", "llvmlite", "numpy", "scipy", "typing")
"""Packages whose sources are not included in digests."""
PLAIN = (bool, int, float, complex, str, bytes, range, enum.Enum, Fraction, PurePath)
"""Types of values that are identified by their `repr`."""
TYPES = (types.Number, types.Boolean, types.NoneType, types.Buffer, types.BaseTuple)
"""Numba types that `type_name` identifies. The names of others may contain an address."""


class Closure(NamedTuple):
    """The dependency closure of a function.

    Attributes:
        digest: Hexadecimal digest of the closure; empty if a value in it has no digest.
        functions: The compiled functions in the closure, by their qualified names.
    """

    digest: str
    functions: dict[str, Any]


class UnknownError(Exception):
    """Raised for a value that cannot be identified by a digest."""


def qualified_name(function: Callable[..., Any]) -> str:
    """Return the name of a function with its module."""
    return f"{function.__module__}.{function.__qualname__}"


def type_name(kind: Any) -> str:
    """Return a name that identifies a numba type, including the class of a named tuple."""
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    instance_class = getattr(kind, "instance_class", None)
    names = (qualified_name(instance_class), instance_class._fields) if instance_class else ()
    return f"{type(kind).__name__}{names}{[type_name(item) for item in kind.types]}"  # type: ignore[attr-defined]


_closures: dict[Any, Closure] = {}


def closure_of(function: Any) -> Closure:
    """Return the dependency closure of a compiled function. Results are cached."""
    if function not in _closures:
        walk = _Walk()
        try:
            walk.add(function)
            digest = walk.digest.hexdigest()
        except UnknownError:
            digest = ""
        _closures[function] = Closure(digest, walk.functions)
    return _closures[function]


class Snapshot(NamedTuple):
    """The digest of a function, with the variables that it was computed from.

    Attributes:
        digest: Hexadecimal digest.
        variables: Global variables: their dictionary, name and value, `ABSENT` if there was none.
        attributes: Attributes of functions and closure variables: owner, name and value.
    """

    digest: str
    variables: list[tuple[dict[str, Any], str, Any]]
    attributes: list[tuple[Any, str, Any]]

    def is_current(self) -> bool:
        """Return whether all variables still have the same values."""
        return all(
            variables.get(name, ABSENT) is value for variables, name, value in self.variables
        ) and all(getattr(owner, name, ABSENT) is value for owner, name, value in self.attributes)


ABSENT = object()
_snapshots: dict[FunctionType, Snapshot] = {}
_MOST_SNAPSHOTS = 256


def digest_of(value: Any) -> str:
    """Return a digest of a value and everything that it refers to, or "" if that is impossible.

    That of a function is computed again only if a variable in its closure has another value, or
    one that may change in place.
    """
    snapshot = _snapshots.get(value) if isinstance(value, FunctionType) else None
    if snapshot is not None and snapshot.is_current():
        return snapshot.digest
    walk = _Walk()
    try:
        walk.add(value)
    except (UnknownError, TypeError, ValueError):  # such as an empty closure variable
        return ""
    digest = walk.digest.hexdigest()
    if isinstance(value, FunctionType) and not walk.changeable:
        if len(_snapshots) >= _MOST_SNAPSHOTS:
            _snapshots.clear()
        _snapshots[value] = Snapshot(digest, walk.variables, walk.attributes)
    return digest


class _Walk:
    """Traversal of everything that a value refers to, and the digest of it.

    Attributes:
        digest: SHA-256 hash of the values added so far.
        functions: Compiled functions among them, by their qualified names.
        variables: Global variables of the functions, see `Snapshot`.
        attributes: Attributes of the functions and their closure variables.
        changeable: Whether a value may change in place.
    """

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.variables: list[tuple[dict[str, Any], str, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.changeable = False
        self.functions: dict[str, Any] = {}
        self._numbers = itertools.count()
        # Number of each object, and the object itself, so that its id is not reused.
        self._seen: dict[int, tuple[str, Any]] = {}

    def add(self, value: Any) -> None:
        """Add a value and everything that it refers to.

        Raises:
            UnknownError: If a value cannot be identified.
        """
        if value is None or isinstance(value, PLAIN):
            self.digest.update(repr(value).encode())
            return
        if isinstance(value, TYPES):
            self.digest.update(type_name(value).encode())
            return
        if id(value) in self._seen:
            self.digest.update(self._seen[id(value)][0].encode())
            return
        fixed = (FunctionType, type, tuple, frozenset, np.generic, np.dtype)
        is_fixed = isinstance(value, fixed) or is_jitted(value) or _is_foreign(value)
        self.changeable |= isinstance(value, np.ndarray) or not is_fixed
        self._seen[id(value)] = (f"#{next(self._numbers)}", value)
        if isinstance(value, (type, ModuleType)):
            self._add_source(value)
        elif hasattr(value, "dependencies"):
            self._add_all(value.dependencies)
        elif is_jitted(value):
            self._add_compiled(value)
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
        elif hasattr(value, "__wrapped__"):  # an intrinsic
            self.add(value.__wrapped__)
            self.add(getattr(value, "py_func", None))
        elif dataclasses.is_dataclass(value):
            self.add(type(value))
            self._add_all([getattr(value, field.name) for field in dataclasses.fields(value)])
        elif not _is_foreign(value):
            raise UnknownError(f"{value!r}")

    def _add_all(self, values: Any) -> None:
        self.digest.update(str(len(values)).encode())
        for value in values:
            self.add(value)

    def _add_compiled(self, function: Any) -> None:
        """Add a compiled function and its options."""
        self.functions[qualified_name(function.py_func)] = function
        options = {**function.targetoptions, "kind": getattr(function, "kind", "")}
        self.digest.update(repr(sorted(options.items())).encode())
        self._add_function(function.py_func)

    def _add_function(self, function: FunctionType) -> None:
        if _is_foreign(function):
            return
        self.digest.update(qualified_name(function).encode())
        file = function.__code__.co_filename
        self.digest.update(_file(file) + _code(function.__code__))  # a file has many lambdas
        owners: list[tuple[Any, str]] = [(function, "__code__"), (function, "__defaults__")]
        owners += [(cell, "cell_contents") for cell in function.__closure__ or ()]
        self.attributes += [(owner, name, getattr(owner, name)) for owner, name in owners]
        self._add_all([cell.cell_contents for cell in function.__closure__ or ()])
        self._add_all(function.__defaults__ or ())
        names = [*names_of(function.__code__)]
        for name in global_names(function.__code__):
            value = function.__globals__.get(name, ABSENT)
            self.variables.append((function.__globals__, name, value))
            if value is not ABSENT:
                self.digest.update(name.encode())
                self.add(value)
                if isinstance(value, ModuleType):
                    self._add_attributes(value, names)

    def _add_attributes(self, module: ModuleType, names: list[str], *outer: ModuleType) -> None:
        """Add numbers and arrays that are attributes of a module or of modules inside it.

        Their values may have changed. The search skips the modules `outer` and foreign ones.
        """
        for name in names if not _is_foreign(module) else ():
            value = vars(module).get(name)
            if isinstance(value, (*PLAIN, np.ndarray, np.generic)):
                self.digest.update(name.encode())
                self.add(value)
            elif isinstance(value, ModuleType) and value not in (module, *outer):
                self._add_attributes(value, names, module, *outer)

    def _add_source(self, value: type | ModuleType) -> None:
        """Add the file of a class or module, and the methods of a class."""
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
    """Return whether an object is a built-in function, or from Python or a `FOREIGN` package."""
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
    """Return bytecode, constants and names of a function and of the functions inside it."""
    constants = [_constant(item) for item in code.co_consts if not isinstance(item, CodeType)]
    own = code.co_code + repr((constants, code.co_names, code.co_varnames)).encode()
    return own + b"".join(_code(item) for item in code.co_consts if isinstance(item, CodeType))


def _constant(constant: Any) -> str:
    """Return a constant as a string. Sets are sorted, because their order varies by process."""
    if isinstance(constant, (tuple, frozenset)):
        items = [_constant(item) for item in constant]
        return repr(sorted(items) if isinstance(constant, frozenset) else items)
    return repr(constant)


@cache
def global_names(code: CodeType) -> tuple[str, ...]:
    """Return the names of global variables in a function and the functions inside it."""
    loaded = [x.argval for x in dis.get_instructions(code) if x.opname in LOADS]
    inside = [global_names(item) for item in code.co_consts if isinstance(item, CodeType)]
    return tuple(dict.fromkeys(itertools.chain(loaded, *inside)))


LOADS = ("LOAD_GLOBAL", "LOAD_NAME")


def names_of(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a function and the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_of(constant)

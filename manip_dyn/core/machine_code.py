"""Machine code on disk, with one file per compiled function and argument types.

The name of a file contains a hash of everything that the machine code depends on: the source code
that is compiled in or called (`fingerprint`), the types, numba, Python and the processor. Files
are written atomically. If a file is damaged or cannot be written, the function is compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from manip_dyn.core.atomic_files import write_checked
from manip_dyn.core.cache import (
    cache_directory,
    is_trusted,
    platform_name,
    read_trusted,
    report_first_use,
    wait_for_lock,
    warn_once,
)
from manip_dyn.core.callables import MARK
from manip_dyn.core.fingerprint import closure_of, qualified_name, type_name

PREFIX = "manip_dyn/"
"""Prefix of the symbols of machine code that other machine code calls."""
SOURCES = "callables", "compiled", "linking", "machine_code", "operators", "private_numba"
"""Modules that define the file format and the calling convention."""
FORMAT = hashlib.sha256(
    b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in SOURCES)
).hexdigest()
"""Digest of the sources of these modules."""
UNREADABLE = (
    *(EOFError, AttributeError, ImportError, KeyError, TypeError, ValueError),
    pickle.UnpicklingError,
)
"""Exceptions that loading a file with another format may raise."""
symbols: dict[str, tuple[Any, tuple]] = {}
"""Function and argument types of each symbol that this process has defined."""


def load(function: Any, arguments: tuple, ending: str = ".machine_code") -> Any:
    """Return the content of the file of a function for argument types, or None.

    The functions that the machine code calls are loaded or compiled first. If another process is
    writing the file, `load` waits for it.

    Args:
        function: The compiled function.
        arguments: The numba types of its arguments.
        ending: Ending of the file name.

    Returns:
        The `content` that `save` stored. None if there is no valid file, or if the function has no
        digest.
    """
    closure = closure_of(function)
    if not closure.digest:
        return None
    path = _path(function, arguments, ending)
    file = read_trusted(path)
    if file is None and wait_for_lock(path):
        file = read_trusted(path)
    if file is None:
        report_first_use(function.py_func.__qualname__)
        return None
    try:
        calls, content = pickle.loads(file)
        for symbol, name, kinds in calls:
            closure.functions[name].declare(kinds)
            symbols[symbol]
    except UNREADABLE:
        return None
    return content


def save(
    function: Any, arguments: tuple, content: Any, module: Any, ending: str = ".machine_code"
) -> None:
    """Write the file of a function for argument types.

    Functions without a digest, code with addresses of this process, and data that cannot be
    pickled are not stored. If writing fails, a warning is issued.

    Args:
        function: The compiled function.
        arguments: Numba types of the arguments.
        content: Machine code from `private_numba.stored`, or the code of a template.
        module: The LLVM module of the function, from which the called symbols are read.
        ending: Ending of the file name.
    """
    if not closure_of(function).digest:
        return
    globals_ = [variable.name for variable in module.global_variables]
    if any(name.startswith("numba.dynamic.globals") and name != MARK for name in globals_):
        return  # the code contains addresses of this process
    called = sorted(
        declared.name
        for declared in module.functions
        if declared.is_declaration and declared.name.startswith(PREFIX)
    )
    calls = [(name, qualified_name(symbols[name][0].py_func), symbols[name][1]) for name in called]
    path = _path(function, arguments, ending)
    if not is_trusted(path):
        return
    try:
        file = pickle.dumps((calls, content), protocol=-1)
    except (pickle.PicklingError, AttributeError):
        return  # a type refers to a class that is defined inside a function
    try:
        write_checked(path, file)
    except OSError as error:
        warn_once(f"machine code cannot be stored in '{path.parent}' ({error.strerror or error})")


def symbol_of(function: Any, arguments: tuple) -> str:
    """Return the symbol by which other machine code calls a function with argument types."""
    return f"{PREFIX}{qualified_name(function.py_func)}/{_key(function, arguments)}"


def is_cacheable(function: Any) -> bool:
    """Return whether the machine code of a compiled function can be stored on disk."""
    return getattr(function, "cached", False) and bool(closure_of(function).digest)


def _path(function: Any, arguments: tuple, ending: str) -> Path:
    name = "".join(c if c.isalnum() else "_" for c in function.py_func.__qualname__)
    return cache_directory() / f"{name}-{_key(function, arguments)}{ending}"


def _key(function: Any, arguments: tuple) -> str:
    """Return a hash of everything that the machine code depends on."""
    digest = closure_of(function).digest or str(id(function))
    kinds = [type_name(argument) for argument in arguments]
    text = f"{digest} {kinds} {FORMAT} {platform_name()}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]

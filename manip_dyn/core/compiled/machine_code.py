"""Machine code on disk: one file for each compiled function and types of its arguments.

A file's name ends in a hash of everything that the machine code depends on: all of ours that is
compiled in or called (`fingerprint`), the types, numba, Python and the processor. Files are
written in one step, so that another process sees the whole of one or none. Where they cannot be
written, or one is damaged, the function is compiled anew.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys

from manip_dyn.core.cache.fingerprint import home, reach, type_name
from manip_dyn.core.cache.first_time import first_time
from manip_dyn.core.cache.folder import cache_directory, platform_of, warn_once
from manip_dyn.core.cache.in_turn import wait_for_turn
from manip_dyn.core.compiler.python_calls import SOURCE, declare, wrappers_of
from manip_dyn.core.files import read_checked, write_checked

PREFIX = "manip_dyn/"
"""What the names begin with by which machine code calls other machine code."""
MARK = "numba.dynamic.globals.manip_dyn"
"""What code that calls by name has among its globals; numba keeps no code with such a global."""
FORM = hashlib.sha256(Path(__file__).read_bytes()).hexdigest() + SOURCE
"""What files hold, and how Python calls machine code; other versions may have it otherwise."""
called_by_name: dict[str, tuple[Dispatcher, tuple]] = {}
"""What has a name: a function and the types of its arguments."""


UNREADABLE = (EOFError, AttributeError, ImportError, KeyError, ValueError, pickle.UnpicklingError)
"""What loading raises for a file of another make than its name says."""


class MachineCode(_Cache):
    """The files of one function; what numba asks for when it compiles."""

    ENDING = ".machine_code"

    def __init__(self, dispatcher: Dispatcher):
        """Take the function; it may not have its place in a module yet."""
        self._dispatcher = dispatcher
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(cache_directory())

    def enable(self) -> None:
        """Keep machine code."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing waits to be written."""

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the machine code for argument types, or None if there is none."""
        reached = reach(self._dispatcher)
        if not self._enabled or not reached.digest:
            return None
        path = self._path(sig)
        content = read_checked(path)
        if content is None and wait_for_turn(path):
            content = read_checked(path)
        if content is None:
            first_time(self._dispatcher.py_func.__qualname__)
            return None
        # What machine code calls. Numba's own cache loads all that compiling takes, too: 0.2 s.
        rtsys.initialize(target_context)
        try:
            needed, wrappers, reduced = pickle.loads(content)
            for symbol, name, arguments in needed:
                function: Any = reached.functions[name]
                function.declare(arguments)
                called_by_name[symbol]
            for symbol, call in wrappers:
                if declare(target_context, call) != symbol:
                    return None  # it is called in another way by now
            return self.rebuild(target_context, reduced)
        except UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, and which other functions it calls."""
        if not self._enabled or not reach(self._dispatcher).digest:
            return
        others = [each for each in data.library._dynamic_globals if each != MARK]
        if others or data.lifted:
            return
        needed = [
            (symbol, home(called_by_name[symbol][0].py_func), called_by_name[symbol][1])
            for symbol in _symbols(data.library)
        ]
        kept = needed, wrappers_of(data.library), self.reduce(data)
        path = self._path(sig)
        try:
            content = pickle.dumps(kept, protocol=-1)
        except (pickle.PicklingError, AttributeError):
            return  # a type is made of a class inside a function
        try:
            write_checked(path, content)
        except OSError as error:
            reason = error.strerror or error
            warn_once(f"machine code cannot be kept in '{path.parent}' ({reason})")

    def rebuild(self, target_context: Any, reduced: tuple) -> Any:
        """Return what was kept in this form."""
        return CompileResult._rebuild(target_context, *reduced)

    def reduce(self, data: Any) -> tuple:
        """Return the form in which something is kept."""
        return data._replace(type_annotation="")._reduce()  # which takes as long to print

    def _path(self, sig: Any) -> Path:
        arguments, _ = sigutils.normalize_signature(sig)
        function = self._dispatcher.py_func
        name = "".join(c if c.isalnum() else "_" for c in function.__qualname__)
        return cache_directory() / f"{name}-{_key(self._dispatcher, arguments)}{self.ENDING}"


def is_kept(function: Any) -> bool:
    """Return whether a compiled function's machine code can be told from any other's."""
    return isinstance(function, Dispatcher) and bool(reach(function).digest)


def symbol_of(dispatcher: Dispatcher, arguments: tuple) -> str:
    """Return the name by which machine code for these types is called."""
    return f"{PREFIX}{home(dispatcher.py_func)}/{_key(dispatcher, arguments)}"


def _key(dispatcher: Dispatcher, arguments: tuple) -> str:
    """Return a hash of all that machine code depends on."""
    digest = reach(dispatcher).digest or str(id(dispatcher))
    kinds = [type_name(each) for each in arguments]
    text = f"{digest} {kinds} {FORM} {platform_of(dispatcher.targetctx)}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _symbols(library: Any) -> list[str]:
    """Return the names by which a library calls machine code of ours."""
    functions = library._final_module.functions
    return sorted(f.name for f in functions if f.is_declaration and f.name.startswith(PREFIX))

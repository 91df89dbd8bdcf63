"""Generated modules as real files in the user's cache, so that numba compiles each once.

A file's name ends in a hash of everything its content depends on: what its maker says, and the
versions of numba and Python. Where the cache cannot be written, by us or by numba, everything
still works, compiled anew in each process.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

COMPLETE = "# complete\n"
"""Last line of every generated file."""


def generated_module(name: str, content: bytes, text: Callable[[], str]) -> ModuleType:
    """Return the module called `name`, from the cache or written anew.

    Args:
        name: What the file is about; becomes the readable part of its name.
        content: Whatever the text depends on, the source of its generator included.
        text: Returns the module's source; called only if there is no such file yet.
    """
    digest = hashlib.sha256(content)
    digest.update(f"{numba.__version__} {platform.python_version()}".encode())
    name = f"{_identifier(name)}_{digest.hexdigest()[:24]}"
    return _module(name, text)


@cache
def source_of(package: Path) -> bytes:
    """Return the source of a folder's modules: part of the `content` of what they generate."""
    return b"".join(path.read_bytes() for path in sorted(package.glob("*.py")))


def cache_directory() -> Path:
    """Return where generated modules go: ``MANIP_DYN_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("MANIP_DYN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "manip_dyn"


_modules: dict[str, ModuleType] = {}


def _module(name: str, text: Callable[[], str]) -> ModuleType:
    if name not in _modules:
        path = cache_directory() / f"{name}.py"
        if not _is_complete(path):
            path = _write(path, text() + COMPLETE)
        try:
            _modules[name] = _load(name, path)
        except (RuntimeError, OSError) as error:  # numba cannot keep machine code there
            path = _fallback(path, str(error))
            path.write_text(text() + COMPLETE, encoding="utf-8")
            _modules[name] = _load(name, path)
    return _modules[name]


def _is_complete(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(-min(len(COMPLETE), file.tell()), os.SEEK_END)
            return file.read() == COMPLETE.encode()
    except OSError:
        return False


def _write(path: Path, text: str) -> Path:
    """Write atomically, so that another process sees the whole file or none."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        path = _fallback(path, error.strerror or str(error))
        path.write_text(text, encoding="utf-8")
    return path


def _fallback(path: Path, reason: str) -> Path:
    """Return a file of the same name in a folder for this process alone."""
    folder = _private_folder()
    _warn_once(f"the cache folder '{path.parent}' cannot be used ({reason})")
    return folder / path.name


@cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="manip_dyn_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _warn_once(what: str) -> None:
    warnings.warn(
        f"{what}; kernels are compiled anew in each process. Set MANIP_DYN_CACHE to a folder "
        "that can be written",
        stacklevel=2,
    )


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"manip_dyn_generated_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the generated module {path}")
    module = importlib.util.module_from_spec(spec)
    # Numba finds the functions' module by name when it loads them from its cache.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for function in vars(module).values():
        if isinstance(function, Dispatcher):
            _tolerate_full_disk(function)
    return module


def _tolerate_full_disk(function: Dispatcher) -> None:
    """Let a function whose machine code cannot be kept on disk work all the same."""
    kept: Any = getattr(function, "_cache", None)
    save = getattr(kept, "save_overload", None)
    if save is None:
        return

    def save_overload(signature, compiled):
        try:
            save(signature, compiled)
        except OSError as error:
            _warn_once(f"machine code cannot be kept on disk ({error.strerror or error})")

    kept.save_overload = save_overload


def _identifier(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)

"""Generated modules as real files in the user's cache.

A file's name ends in a hash of everything its content depends on: what its maker says, and the
versions of numba and Python. Where the cache cannot be written, everything still works, written
and compiled anew in each process.
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
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numba

from manip_dyn.core.cache.first_time import first_time
from manip_dyn.core.cache.folder import cache_directory, warn_once
from manip_dyn.core.cache.in_turn import turns, wait_for_turn
from manip_dyn.core.files import write_whole

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
    """Return the source of all modules in a folder, for the `content` of what they generate."""
    return b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))


_modules: dict[str, ModuleType] = {}


def _module(name: str, text: Callable[[], str]) -> ModuleType:
    if name not in _modules:
        path = cache_directory() / f"{name}.py"
        if not _is_complete(path):
            with turns():
                if not wait_for_turn(path) or not _is_complete(path):
                    first_time(name.rpartition("_")[0])
                    path = _write(path, text() + COMPLETE)
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
    """Write the file, or one of the same name in a folder for this process alone."""
    try:
        write_whole(path, text.encode())
    except OSError as error:
        path = _fallback(path, error.strerror or str(error))
        path.write_text(text, encoding="utf-8")
    return path


def _fallback(path: Path, reason: str) -> Path:
    """Return a file of the same name in a folder for this process alone."""
    folder = _private_folder()
    warn_once(f"the cache folder '{path.parent}' cannot be used ({reason})")
    return folder / path.name


@cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="manip_dyn_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"manip_dyn_generated_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the generated module {path}")
    module = importlib.util.module_from_spec(spec)
    # Numba finds the functions' module by name when it loads them from its cache.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _identifier(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)

"""Generated modules as real files in the user's cache, so that numba compiles each once.

A file's name ends in a hash of everything its content depends on: what its maker says, and the
versions of numba and Python.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numba


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
    path = cache_directory() / f"{name}.py"
    if not path.is_file():
        path = _write(path, text())
    return _load(name, path)


@cache
def source_of(package: Path) -> bytes:
    """Return the source of a folder's modules: part of the `content` of what they generate."""
    return b"".join(path.read_bytes() for path in sorted(package.glob("*.py")))


def cache_directory() -> Path:
    """Return where generated modules go: ``MANIP_DYN_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("MANIP_DYN_CACHE")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "manip_dyn"


def _write(path: Path, text: str) -> Path:
    """Write atomically, so that another process sees the whole file or none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        path = _fallback_folder(path.parent, error.strerror or str(error)) / path.name
        path.write_text(text, encoding="utf-8")
    return path


@cache
def _fallback_folder(folder: Path, reason: str) -> Path:
    """Return a folder for this process alone; warn once."""
    fallback = Path(tempfile.mkdtemp(prefix="manip_dyn_"))
    warnings.warn(
        f"the cache folder '{folder}' cannot be written ({reason}); kernels are "
        f"compiled anew in '{fallback}'. Set MANIP_DYN_CACHE to a folder that can",
        stacklevel=6,
    )
    return fallback


@cache
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

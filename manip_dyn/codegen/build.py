"""Generated modules as real files in the user's cache, so that numba compiles each once.

The file's name is a hash of everything its content depends on: the robot's numbers, the
generator's own source, and the versions of numba and Python.
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

from manip_dyn.codegen.emit import module_text
from manip_dyn.codegen.trace import Function
from manip_dyn.robot import Robot


def compiled_module(robot: Robot, trace: Callable[[Robot], list[Function]]) -> ModuleType:
    """Return the module of the functions that `trace` finds, generated and cached at need."""
    name = f"{_identifier(robot.name)}_{trace.__name__}_{_fingerprint(robot)}"
    path = cache_directory() / f"{name}.py"
    if not path.is_file():
        path = _write(path, module_text(robot.name, trace(robot)))
    return _load(name, path)


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
        folder = Path(tempfile.mkdtemp(prefix="manip_dyn_"))
        warnings.warn(
            f"the cache folder '{path.parent}' cannot be written ({error.strerror}); kernels are "
            f"compiled anew in '{folder}'. Set MANIP_DYN_CACHE to a folder that can",
            stacklevel=4,
        )
        path = folder / path.name
        path.write_text(text, encoding="utf-8")
    return path


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


def _fingerprint(robot: Robot) -> str:
    digest = hashlib.sha256(_generator_source())
    digest.update(f"{numba.__version__} {platform.python_version()} {robot.name}".encode())
    for body in robot.bodies:
        digest.update(repr((body.parent, body.prismatic, body.mass)).encode())
        for array in (body.rotation, body.translation, body.com, body.inertia):
            digest.update(array.tobytes())
    digest.update(repr(robot.tip_frame.body).encode())
    for array in (robot.tip_frame.rotation, robot.tip_frame.translation, robot.gravity,
                  robot.armature, robot.damping, robot.stiffness, robot.rest):  # fmt: skip
        digest.update(array.tobytes())
    return digest.hexdigest()[:24]


@cache
def _generator_source() -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def _identifier(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)

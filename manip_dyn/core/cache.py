"""The cache folder: location, locks, generated modules, announcements."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, ClassVar

import llvmlite
import numba

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_atomically
from manip_dyn.core.interruption import answer


def cache_directory() -> Path:
    """Return where generated modules go: ``MANIP_DYN_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("MANIP_DYN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "manip_dyn"


def platform_of(context: Any) -> str:
    """Return what machine code depends on besides its source: versions and the processor."""
    return _platform_of(context.codegen())


@cache
def _platform_of(codegen: Any) -> str:
    versions = numba.__version__, llvmlite.__version__, platform.python_version()
    return repr((*versions, *codegen.magic_tuple()))


_warned: list[str] = []


def warn_once(what: str) -> None:
    """Warn that something of the cache folder does not work, but only of the first such thing."""
    if not _warned:
        _warned.append(what)
        warnings.warn(
            f"{what}; kernels are compiled anew in each process. Set MANIP_DYN_CACHE to a folder "
            "that can be written",
            stacklevel=2,
        )


ROOM = 2**20
"""Bytes of a large piece of machine code."""


def reason_not_writable() -> str:
    """Write a file into the cache folder and remove it; return why that cannot be done, or "".

    Permissions alone do not say so, least of all to root.
    """
    probe = cache_directory() / f"probe_{os.getpid()}"
    try:
        write_atomically(probe, bytes(ROOM))
        probe.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def check_cache() -> None:
    """Refuse a cache folder into which nothing can be written.

    Raises:
        ManipDynError: If it is one.
    """
    if why_not := reason_not_writable():
        raise ManipDynError(
            f"the cache folder '{cache_directory()}' cannot be written ({why_not}): what it does "
            "not have is compiled anew in each process; expected one that can, such as another "
            "MANIP_DYN_CACHE"
        )


_tellers: list[Callable[[str], None]] = []


def on_first_use(tell: Callable[[str], None]) -> None:
    """Call `tell` with what is about to be written or compiled; it replaces an earlier teller."""
    _tellers[:] = [tell]


def report_first_use(what: str) -> None:
    """Say that something is not kept yet and is about to be made."""
    for tell in _tellers:
        tell(what)


try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

LOCK_TIMEOUT = 60.0
"""For how long another process is waited for, s."""
PAUSE = 0.01
"""How long until it is asked again, s."""


class _Held(threading.local):
    """What this thread holds: for each `turns` that it is in, the locks."""

    def __init__(self) -> None:
        self.turns: list[list[tuple[int, int]]] = []


_held = _Held()


@contextmanager
def file_locks() -> Iterator[None]:
    """Hand over all locks at the end that are waited for inside."""
    _held.turns.append([])
    try:
        yield
    finally:
        for file, place in _held.turns.pop():
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def wait_for_lock(path: Path) -> bool:
    """Wait until no other process makes a file of the cache; return whether one did.

    Outside of `turns`, and where files cannot be locked, nothing is waited for.
    """
    file = _opened(path.parent) if _held.turns and fcntl else None
    if file is None:
        return False
    place = int.from_bytes(hashlib.sha256(path.name.encode()).digest()[:7], "big")
    end, waited = time.monotonic() + LOCK_TIMEOUT, False
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            time.sleep(PAUSE)
            answer()  # LLVM is not at work
            waited = True
        except OSError:  # a file system without locks
            return waited
        else:
            _held.turns[-1].append((file, place))
            return waited
    return waited


@cache
def _opened(folder: Path) -> int | None:
    """Return the open file of the locks; it stays open, or the system would take all of them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / ".locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None


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
            with file_locks():
                if not wait_for_lock(path) or not _is_complete(path):
                    report_first_use(name.rpartition("_")[0])
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
        write_atomically(path, text.encode())
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


ANNOUNCE_AFTER = 2.0
"""Seconds of compiling for one public function, in all, before something is said."""
OURS = __name__.partition(".")[0]
BELOW, ABOVE = f"{OURS}.core.", f"{OURS}.cli."
"""Where functions are compiled, and where commands are read: neither has what is called."""


class Clock:
    """How long this process has compiled for what, and what it has said."""

    spent: ClassVar[dict[str, float]] = {}
    said: ClassVar[set[str]] = set()
    busy = False
    silent = False


@contextmanager
def announced(function: Callable[..., Any]) -> Iterator[None]:
    """Count the time inside; where it becomes long, say what the caller called."""
    if Clock.busy or Clock.silent:
        yield
        return
    called = _called(sys._getframe()) or function.__name__
    if called in Clock.said:
        yield
        return
    spent = Clock.spent.get(called, 0.0)
    timer = threading.Timer(max(ANNOUNCE_AFTER - spent, 0.0), _say, [called])
    timer.daemon = True
    begin = time.monotonic()
    Clock.busy = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        Clock.busy = False
        Clock.spent[called] = spent + time.monotonic() - begin


def disable_announcements() -> None:
    """Say nothing in this process, for one that tells in its own words."""
    Clock.silent = True


def _called(frame: FrameType | None) -> str:
    """Return the outermost public function of ours in a stack, which somebody called, or ""."""
    called = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(f"{OURS}.") and not f"{module}.".startswith((BELOW, ABOVE)):
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)  # Python 3.10 has no co_qualname
            name = name.removesuffix(".__init__")
            if not any(part.startswith(("_", "<")) for part in name.split(".")):
                called = name
        frame = frame.f_back
    return called


def _say(called: str) -> None:
    if Clock.silent or called in Clock.said:
        return
    why_not = reason_not_writable()
    kept = "not kept" if why_not else "kept"
    kept += f" in {cache_directory()}" + (f" ({why_not})" if why_not else "")
    print(
        f"manip_dyn: compiling what {called} needs, for the first time; {kept}",
        file=sys.stderr,
        flush=True,
    )
    Clock.said.add(called)

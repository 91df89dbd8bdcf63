"""The cache folder of generated modules and machine code: location, trust, locks and messages.

The files in this folder are code that the process runs. On Unix, they are loaded only if they and
their folder belong to this user or to root, and no other user may write them.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import platform
import shutil
import stat
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
import llvmlite.binding as llvm
import numba

from manip_dyn.core.atomic_files import checked_content, write_atomically
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruption import stop_if_interrupted

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

PROBE_SIZE = 2**20
"""Size of the file that `reason_not_writable` writes, bytes: that of large machine code."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
LOCK_TIMEOUT = 60.0
"""Longest time for which a process waits for another process to write a file, s."""
LOCK_PAUSE = 0.01
"""Time between attempts to lock a file, s."""
COMPLETE = "# complete\n"
"""Last line of every generated file."""
ANNOUNCE_AFTER = 2.0
"""Total compilation time for a public function after which a message is printed, s."""
PACKAGE = __name__.partition(".")[0]
GENERATED = f"{PACKAGE}_generated_"
"""Prefix of the names of generated modules."""
INTERNAL = f"{PACKAGE}.core.", f"{PACKAGE}.cli."
"""Prefixes of modules whose functions are not called by users."""


def cache_directory() -> Path:
    """Return the cache folder.

    It is set by the environment variable ``MANIP_DYN_CACHE``. The default is ``manip_dyn`` in the
    user's cache folder.
    """
    chosen = os.environ.get("MANIP_DYN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "manip_dyn"


@cache
def platform_name() -> str:
    """Return a string that identifies the versions and the processor of machine code."""
    versions = llvmlite.__version__, platform.python_version(), llvm.get_process_triple()
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    chosen = [getattr(numba.config, f"CPU_{key}", None) for key in ("NAME", "FEATURES")]
    return repr((numba.__version__, *versions, *processor, chosen))


_warned: list[str] = []


def warn_once(problem: str) -> None:
    """Warn about a problem of the cache folder, at most once per process."""
    if not _warned:
        _warned.append(problem)
        warnings.warn(
            f"{problem}; kernels are compiled again in each process. Set MANIP_DYN_CACHE to a "
            "folder that only you can write",
            stacklevel=2,
        )


def reason_not_writable() -> str:
    """Return why a file of `PROBE_SIZE` cannot be written to the cache folder, or "" if it can."""
    probe = cache_directory() / f"probe_{os.getpid()}"
    try:
        write_atomically(probe, bytes(PROBE_SIZE), private=True)
        probe.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def check_cache() -> None:
    """Check that the cache folder is writable.

    Raises:
        ManipDynError: If it is not writable.
    """
    if reason := reason_not_writable():
        raise ManipDynError(
            f"the cache folder '{cache_directory()}' must be writable ({reason}): machine code "
            "that it lacks is compiled again in each process; set MANIP_DYN_CACHE to another one."
        )


def is_trusted(path: Path) -> bool:
    """Return whether only this user or root may write a file and its folder. Otherwise warn once.

    Missing files and folders are trusted. On systems without Unix user ids, all files are trusted.
    """
    return _only_ours(path.parent, _status(path.parent)) and _only_ours(path, _status(path))


def read_trusted(path: Path) -> bytes | None:
    """Return the content of a file that `write_checked` wrote.

    The result is None if the file is missing, unreadable or damaged, or if other users may write
    it or its folder.
    """
    if not _only_ours(path.parent, _status(path.parent)):
        return None
    try:
        with path.open("rb") as file:
            if not _only_ours(path, os.fstat(file.fileno())):
                return None
            return checked_content(file.read())
    except OSError:
        return None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _only_ours(path: Path, status: os.stat_result | None) -> bool:
    """Return whether a file or folder is missing, or only this user or root may write it.

    Otherwise warn once. Without Unix user ids, the result is always True.
    """
    if status is None or not hasattr(os, "getuid"):
        return True
    if status.st_uid in (os.getuid(), 0) and not status.st_mode & OTHERS_WRITE:
        return True
    warn_once(f"'{path}' is not used: other users may write it (try chmod go-w)")
    return False


_listeners: list[Callable[[str], None]] = []


def on_first_use(listener: Callable[[str], None]) -> None:
    """Set the listener that `report_first_use` calls. It replaces the previous listener."""
    _listeners[:] = [listener]


def report_first_use(name: str) -> None:
    """Call the listener with the name of a function or module that is not cached."""
    for listener in _listeners:
        listener(name)


class _Locks(threading.local):
    """The locks that a thread holds.

    Attributes:
        held: For each nested `file_locks` block, the file descriptors and offsets of its locks.
    """

    def __init__(self) -> None:
        self.held: list[list[tuple[int, int]]] = []


_locks = _Locks()


@contextmanager
def file_locks() -> Iterator[None]:
    """Return a context manager that releases the locks of `wait_for_lock` at its end.

    The locks prevent processes that start together from compiling the same functions. The lock of
    a cache file is a byte of the file ``.locks``. Its offset is a hash of the file's name.
    """
    _locks.held.append([])
    try:
        yield
    finally:
        for file, offset in _locks.held.pop():
            fcntl.lockf(file, fcntl.LOCK_UN, 1, offset)


def wait_for_lock(path: Path) -> bool:
    """Lock a cache file until the end of the `file_locks` block.

    After `LOCK_TIMEOUT`, outside `file_locks`, or if files cannot be locked, the caller continues
    without a lock.

    Args:
        path: The cache file, which need not exist.

    Returns:
        Whether another process held the lock. That process may have written the file.
    """
    file = _lock_file(path.parent) if _locks.held and fcntl else None
    if file is None:
        return False
    offset = int.from_bytes(hashlib.sha256(path.name.encode()).digest()[:7], "big")
    end, waited = time.monotonic() + LOCK_TIMEOUT, False
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            time.sleep(LOCK_PAUSE)
            stop_if_interrupted()
            waited = True
        except OSError:  # a file system without locks
            return waited
        else:
            _locks.held[-1].append((file, offset))
            return waited
    return waited


@cache
def _lock_file(folder: Path) -> int | None:
    """Return the descriptor of the lock file, or None if the file cannot be opened.

    The file stays open, because closing it would release all locks.
    """
    try:
        folder.mkdir(0o755, parents=True, exist_ok=True)
        return os.open(folder / ".locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return None


def generated_module(label: str, inputs: bytes, generate: Callable[[], str]) -> ModuleType:
    """Import and return a generated module. Its file is generated if it is missing.

    The file is written to the cache folder, or to a private temporary folder if the cache folder
    is not trusted or not writable.

    Args:
        label: Start of the file name. A hash of the inputs and of the versions of numba and Python
            follows.
        inputs: Everything that determines the source code: the input data and the source code of
            the generator, see `source_of`.
        generate: Function that returns the source code of the module. It is called only if the
            file is missing or incomplete.
    """
    digest = hashlib.sha256(inputs)
    digest.update(f"{numba.__version__} {platform.python_version()}".encode())
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in label)
    name = f"{name}_{digest.hexdigest()[:24]}"
    if name in _modules:
        return _modules[name]
    with _import_lock:
        if name not in _modules:
            path = cache_directory() / f"{name}.py"
            if not is_trusted(path):
                path = _private_folder() / path.name
            if not _is_complete(path):
                with file_locks():
                    if not wait_for_lock(path) or not _is_complete(path):
                        report_first_use(name.rpartition("_")[0])
                        path = _write(path, generate() + COMPLETE)
            _modules[name] = _load(name, path)
        return _modules[name]


_modules: dict[str, ModuleType] = {}
_import_lock = threading.RLock()
"""Held while a generated module is imported, so that no thread sees an incomplete module."""


@cache
def source_of(package: Path) -> bytes:
    """Return the source of all modules in a folder and its subfolders.

    Generators pass it to `generated_module` as one of the inputs.
    """
    return b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))


def _is_complete(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(-min(len(COMPLETE), file.tell()), os.SEEK_END)
            return file.read() == COMPLETE.encode()
    except OSError:
        return False


def _write(path: Path, text: str) -> Path:
    """Write a generated file to `path`, or to a private folder if that fails; return its path."""
    try:
        write_atomically(path, text.encode(), private=True)
    except OSError as error:
        reason = error.strerror or str(error)
        warn_once(f"the cache folder '{path.parent}' cannot be used ({reason})")
        path = _private_folder() / path.name
        path.write_text(text, encoding="utf-8")
    return path


@cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="manip_dyn_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{GENERATED}{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the generated module {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba looks up the module of a function by name
    spec.loader.exec_module(module)
    return module


class Clock:
    """Compilation times and announcements of this process, as class attributes.

    Attributes:
        spent: Wall time spent compiling for each public function, s.
        announced: Public functions whose compilation has been announced.
        running: Whether a compilation is in progress.
        disabled: Whether announcements are disabled.
    """

    spent: ClassVar[dict[str, float]] = {}
    announced: ClassVar[set[str]] = set()
    running = False
    disabled = False


class _ThreadClock(threading.local):
    """CPU time that the current thread has spent compiling, s."""

    total = 0.0


_thread_clock = _ThreadClock()


@contextmanager
def announced(function: Callable[..., Any]) -> Iterator[None]:
    """Return a context manager for a compilation, which may print an announcement to stderr.

    The message is printed once per public function, when its compilations have taken
    `ANNOUNCE_AFTER` in total. It names the public function that the user called if there is one,
    and otherwise `function`.
    """
    if Clock.running:
        yield
        return
    name = function.__name__ if Clock.disabled else _called(sys._getframe()) or function.__name__
    spent = Clock.spent.get(name, 0.0)
    timer = threading.Timer(max(ANNOUNCE_AFTER - spent, 0.0), _announce, [name])
    timer.daemon = True
    begin, cpu_begin = time.monotonic(), time.thread_time()
    Clock.running = True  # nested compilations are not announced
    if not Clock.disabled:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        Clock.running = False
        Clock.spent[name] = spent + time.monotonic() - begin
        _thread_clock.total += time.thread_time() - cpu_begin


def compile_seconds() -> float:
    """Return the CPU time that this thread has spent compiling and loading machine code, s."""
    return _thread_clock.total


def disable_announcements() -> None:
    """Disable the announcements of compilations in this process."""
    Clock.disabled = True


def _called(frame: FrameType | None) -> str:
    """Return the name of the outermost public function of this package on the stack, or "".

    Functions of the packages `INTERNAL` are ignored.
    """
    called = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(f"{PACKAGE}.") and not f"{module}.".startswith(INTERNAL):
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)  # Python 3.10 has no co_qualname
            name = name.removesuffix(".__init__")
            if not any(part.startswith(("_", "<")) for part in name.split(".")):
                called = name
        frame = frame.f_back
    return called


def _announce(name: str) -> None:
    if Clock.disabled or name in Clock.announced:
        return
    folder = cache_directory()
    usable = not reason_not_writable() and is_trusted(folder / "machine_code")
    cached = f"cached in {folder}" if usable else "not cached"
    print(f"manip_dyn: compiling {name} for the first time; {cached}", file=sys.stderr, flush=True)
    Clock.announced.add(name)

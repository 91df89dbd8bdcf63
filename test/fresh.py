"""Processes that need not load numba first: copies of one that has loaded what is not ours.

A process that a test starts spends a second or two on loading numpy, numba, pinocchio and rclpy.
Here a server loads them once. Each process is a fork of it that runs a program as Python's command
line says, in a folder, with an environment and files of its own, and loads this package anew; so
does each that it starts in turn.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, NamedTuple

MOST = 1 << 20
"""Bytes of an order."""
_real = subprocess.Popen
_addresses: list[str] = []


class Popen(_real):
    """What `subprocess.Popen` is, for a program in Python; anything else it starts as ever."""

    _forked = False

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        """Start the program in a fork of the server."""
        pipes, own = rest[3:9], rest[10:]
        usual = close_fds and not (executable or preexec_fn or rest[2] or any(map(_is_set, own)))
        if not usual or isinstance(args, (str, bytes)) or args[0] != sys.executable:
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
            )
            return
        p2cread, _, _, c2pwrite, _, errwrite = pipes
        ends = {0: p2cread, 1: c2pwrite, 2: errwrite}
        files = {k: k if end == -1 else end for k, end in ends.items()} | {k: k for k in pass_fds}
        self.pid = _ask(
            *files.values(),
            arguments=[os.fsdecode(each) for each in args[1:]],
            cwd=os.fsdecode(cwd or os.getcwd()),
            environment={**(os.environ if env is None else env)},
            numbers=[*files],
        )
        self._forked = self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags):
        """Return the process's number and status if it ended, or (0, 0)."""
        if not self._forked:
            return super()._try_wait(wait_flags)
        if not wait_flags & os.WNOHANG:
            end = os.pidfd_open(self.pid)
            select.select([end], [], [])
            os.close(end)
        return _ask(pid=self.pid)

    def _internal_poll(self, *arguments, **options):
        """Return the exit code if it ended."""
        if not self._forked:
            return super()._internal_poll(*arguments, **options)
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _is_set(option: Any) -> bool:
    return option not in (None, False, -1)


class Ended(NamedTuple):
    """How a process ended: its exit code, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class Fresh:
    """A process that runs a script."""

    def __init__(self, script: str, *arguments: object, cwd: object = None, **environment: str):
        """Start it with arguments, and an environment that differs in these variables."""
        self._folder = tempfile.TemporaryDirectory()
        out, err = (self._file(name).open("w") for name in ("out", "err"))
        with out, err:
            self._process = Popen(
                [sys.executable, "-c", script, *map(str, arguments)],
                cwd=cwd,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self.pid = self._process.pid
        self.poll, self.kill = self._process.poll, self._process.kill

    def wait(self) -> Ended:
        """Return how it ended."""
        code = self._process.wait()
        out, err = (self._file(name).read_text() for name in ("out", "err"))
        self._folder.cleanup()
        return Ended(code, out, err)

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name


def output_of(script: str, *arguments: object, cwd: object = None, **environment: str) -> str:
    """Return what a script prints in a fresh process; fail with its errors."""
    ended = Fresh(script, *arguments, cwd=cwd, **environment).wait()
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _address() -> str:
    """Return where the server listens; the first call starts it, it ends with this process."""
    if not _addresses:
        pipe = subprocess.PIPE
        server = _real([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
        atexit.register(server.communicate)
        assert server.stdout is not None
        _addresses.append(json.loads(server.stdout.readline()))
    return _addresses[0]


def _ask(*files: int, **order: object) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(_address())
        socket.send_fds(connection, [json.dumps(order).encode()], files)
        return json.loads(connection.recv(MOST))


# ------------------------------------------------------------------ in the server's process
def _load() -> None:
    """Load what processes need, but for this package."""
    import gc
    from contextlib import suppress

    import numba
    import pinocchio  # noqa: F401
    import scipy.spatial.transform  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # loads what compiling takes
    with suppress(ImportError):
        import rclpy.executors  # noqa: F401
        import sensor_msgs.msg  # noqa: F401
    gc.freeze()


def _serve() -> None:
    _load()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0manip_dyn_fresh_{os.getpid()}")
    listener.listen(100)
    _addresses.append(listener.getsockname().decode())
    print(json.dumps(_addresses[0]), flush=True)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            data, files, *_ = socket.recv_fds(connection, MOST, 100)
            order = json.loads(data)
            answer = _ended(order["pid"]) if "pid" in order else os.fork()
            if answer:
                connection.send(json.dumps(answer).encode())
        for each in files if answer else ():
            os.close(each)
        if not answer:
            listener.close()
            _become(files, **order)
            return


def _ended(pid: int) -> tuple[int, int]:
    """Return a process's number and status if it ended, or (0, 0)."""
    try:
        return os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # another thread of who asks was told
        return pid, 0


def _become(
    files: list[int],
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    numbers: list[int],
) -> None:
    """Run a program as the main one; what it raises ends this process as it would any."""
    from numba import config

    above = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 200) for each in files]
    for each in files:
        os.close(each)
    for each, number in zip(above, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    kind, *rest = arguments
    here = {"-c": "", "-m": cwd}.get(kind, os.path.dirname(kind))
    folders = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    own, *others = sys.path
    sys.path[:] = [here, *folders, *(each for each in others if each not in folders), own]
    subprocess.Popen = Popen  # type: ignore[misc]
    if kind == "-c":
        sys.argv[:] = arguments[:1] + arguments[2:]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<script>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv[:] = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    _serve()

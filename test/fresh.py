"""Processes for tests: forks of a server that has loaded the dependencies of this package.

A new process spends a second or two on importing numpy, numba, pinocchio and rclpy. The server
(`fresh_server`) imports them once. Each process is a fork of it, with its working directory,
environment and files, which imports this package and runs a program like the command line of
Python. Processes that it starts are forks as well.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

SERVER = Path(__file__).with_name("fresh_server.py")
MAX_REQUEST = 1 << 20
"""Largest size of a request, bytes."""
_real = subprocess.Popen
_addresses: list[str] = []
"""Address of the server after its start."""
NODES = "_nodes"
"""Suffix of the address of the server for nodes."""
ENVIRONMENT = {**os.environ}
"""Environment of the servers."""
PROGRAMS = ("manip_dyn.ros.start", "manip_dyn.ros.planner.planning_process.worker")
"""Modules that run nodes."""


class Popen(_real):
    """Replacement of `subprocess.Popen` that forks the server for Python programs."""

    _forked = _node = False

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        """Start the program in a fork of the server."""
        pipes, user_options = rest[3:9], rest[10:]
        is_special = executable or preexec_fn or rest[2] or any(map(_is_set, user_options))
        if (
            not close_fds
            or is_special
            or isinstance(args, (str, bytes))
            or args[0] != sys.executable
        ):
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
            )
            return
        p2cread, _, _, c2pwrite, _, errwrite = pipes
        ends = {0: p2cread, 1: c2pwrite, 2: errwrite}
        files = {k: k if end == -1 else end for k, end in ends.items()} | {k: k for k in pass_fds}
        arguments = [os.fsdecode(word) for word in args[1:]]
        environment = {**(os.environ if env is None else env)}
        self._node = cwd is None and _is_node(arguments, environment)
        self.pid = _request(
            self._node,
            *files.values(),
            arguments=arguments,
            cwd=os.fsdecode(cwd or os.getcwd()),
            environment=environment,
            numbers=[*files],
        )
        self._forked = self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags):
        """Return PID and status of an ended process, or (0, 0)."""
        if not self._forked:
            return super()._try_wait(wait_flags)
        if not wait_flags & os.WNOHANG:
            end = os.pidfd_open(self.pid)
            select.select([end], [], [])
            os.close(end)
        return _request(self._node, pid=self.pid)

    def _internal_poll(self, *arguments, **options):
        """Return the exit code of an ended process."""
        if not self._forked:
            return super()._internal_poll(*arguments, **options)
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG) if self.returncode is None else (0, 0)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def _is_node(arguments: list[str], environment: Mapping[str, str]) -> bool:
    """Return whether a program is a node that can use the modules loaded by the server."""
    is_program = any(arguments[:2] == ["-m", program] for program in PROGRAMS)
    return is_program and _import_variables(environment) == _import_variables(ENVIRONMENT)


def _import_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that modules may read at import."""
    prefixes = ("MANIP_DYN_", "NUMBA_", "PYTHON", "XDG_")
    return {name: value for name, value in environment.items() if name.startswith(prefixes)}


def _is_set(option: Any) -> bool:
    return option not in (None, False, -1)


class Ended(NamedTuple):
    """Exit code and output of a process."""

    returncode: int
    stdout: str
    stderr: str


class Fresh:
    """A new process that runs a script."""

    def __init__(self, script: str, *arguments: object, cwd: object = None, **environment: str):
        """Start the process with arguments and additional environment variables."""
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
        """Wait for the process and return its result."""
        code = self._process.wait()
        out, err = (self._file(name).read_text() for name in ("out", "err"))
        self._folder.cleanup()
        return Ended(code, out, err)

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name


def output_of(script: str, *arguments: object, cwd: object = None, **environment: str) -> str:
    """Return the output of a script in a new process; fail with its errors."""
    ended = Fresh(script, *arguments, cwd=cwd, **environment).wait()
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _address() -> str:
    """Return the address of the server, which the first call starts."""
    if not _addresses:
        pipe = subprocess.PIPE
        server = _real(
            [sys.executable, SERVER], stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT
        )
        atexit.register(server.communicate)
        assert server.stdout is not None
        _addresses.append(json.loads(server.stdout.readline()))
    return _addresses[0]


def _request(node: bool, *files: int, **request: object) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(_address() + (NODES if node else ""))
        socket.send_fds(connection, [json.dumps(request).encode()], files)
        return json.loads(connection.recv(MAX_REQUEST))

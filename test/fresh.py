"""Processes that need not load numba first: copies of one that has loaded what is not ours.

A process that a test starts spends a second or two on loading numpy, numba, pinocchio and rclpy.
Here a server (`fresh_server`) loads them once. Each process is a fork of it that runs a program as
Python's command line says, in a folder, with an environment and files of its own, and loads this
package anew; so does each that it starts in turn.
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
MOST = 1 << 20
"""Bytes of an order."""
_real = subprocess.Popen
_addresses: list[str] = []
"""Where the server listens, once it is known."""
NODES = "_nodes"
"""What stands behind it in the address of the server for nodes."""
ENVIRONMENT = {**os.environ}
"""What the servers begin with."""
PROGRAMS = ("manip_dyn.ros.start", "manip_dyn.ros.planner.planning_process.worker")
"""What nodes are started by."""


class Popen(_real):
    """What `subprocess.Popen` is, for a program in Python; anything else it starts as ever."""

    _forked = _node = False

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
        arguments = [os.fsdecode(each) for each in args[1:]]
        environment = {**(os.environ if env is None else env)}
        self._node = cwd is None and _is_node(arguments, environment)
        self.pid = _ask(
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
        """Return the process's number and status if it ended, or (0, 0)."""
        if not self._forked:
            return super()._try_wait(wait_flags)
        if not wait_flags & os.WNOHANG:
            end = os.pidfd_open(self.pid)
            select.select([end], [], [])
            os.close(end)
        return _ask(self._node, pid=self.pid)

    def _internal_poll(self, *arguments, **options):
        """Return the exit code if it ended."""
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
    """Return whether a program is a node, of modules that are as those that are loaded."""
    known = any(arguments[:2] == ["-m", program] for program in PROGRAMS)
    return known and _seen_by_modules(environment) == _seen_by_modules(ENVIRONMENT)


def _seen_by_modules(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that modules may depend on when they are loaded."""
    prefixes = ("MANIP_DYN_", "NUMBA_", "PYTHON", "XDG_")
    return {name: value for name, value in environment.items() if name.startswith(prefixes)}


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
        server = _real(
            [sys.executable, SERVER], stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT
        )
        atexit.register(server.communicate)
        assert server.stdout is not None
        _addresses.append(json.loads(server.stdout.readline()))
    return _addresses[0]


def _ask(node: bool, *files: int, **order: object) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(_address() + (NODES if node else ""))
        socket.send_fds(connection, [json.dumps(order).encode()], files)
        return json.loads(connection.recv(MOST))

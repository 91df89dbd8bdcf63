"""Fresh processes that need not load numba first: copies of one that has loaded what is not ours.

A process that a test starts spends a second on loading numpy, numba and pinocchio. Here a server
loads them once; each process is a fork of it that runs a script as ``python -c`` would, in a
folder and an environment of its own, and loads this package anew.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
from functools import cache
from pathlib import Path
from typing import NamedTuple


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
        self.pid = _ask(
            script=script,
            arguments=["-c", *map(str, arguments)],
            cwd=str(cwd or os.getcwd()),
            environment=os.environ | environment,
            output=[str(self._file(name)) for name in ("out", "err")],
        )
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self._code is None:
            self._code = _ask(pid=self.pid, options=os.WNOHANG)
        return self._code

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        """Return how it ended."""
        if self._code is None:
            self._code = _ask(pid=self.pid, options=0)
        out, err = (self._file(name).read_text() for name in ("out", "err"))
        self._folder.cleanup()
        return Ended(self._code, out, err)

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name


def output_of(script: str, *arguments: object, cwd: object = None, **environment: str) -> str:
    """Return what a script prints in a fresh process; fail with its errors."""
    ended = Fresh(script, *arguments, cwd=cwd, **environment).wait()
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@cache
def _server() -> subprocess.Popen[str]:
    """Return the process that has loaded everything; it ends with this one."""
    pipe = subprocess.PIPE
    server = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def _ask(**order: object) -> int | None:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(order) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


# ------------------------------------------------------------------ in the server's process
def _serve() -> None:
    import gc

    import numba
    import pinocchio  # noqa: F401
    import scipy.spatial.transform  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # loads what compiling takes
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        if "pid" in order:
            found, status = os.waitpid(order["pid"], order["options"])
            print(json.dumps(os.waitstatus_to_exitcode(status) if found else None), flush=True)
            continue
        pid = os.fork()
        if not pid:
            _become(**order)
            return
        print(pid, flush=True)


def _become(
    script: str, arguments: list[str], cwd: str, environment: dict[str, str], output: list[str]
) -> None:
    """Run a script as the main program; what it raises ends this process as it would any."""
    from numba import config

    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [os.open(name, os.O_WRONLY | os.O_CREAT) for name in output]
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    folders = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    own, *others = sys.path
    sys.path[:] = ["", *folders, *(each for each in others if each not in folders), own]
    sys.argv[:] = arguments
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(script, "<script>", "exec"), vars(main))


if __name__ == "__main__":
    _serve()

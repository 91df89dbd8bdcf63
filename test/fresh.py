"""Scripts in new processes, in which nothing is imported, compiled or cached yet."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TESTS = str(Path(__file__).parent)
"""Folder of the helpers that scripts may import."""


class Ended(NamedTuple):
    """Exit code and output of a process."""

    returncode: int
    stdout: str
    stderr: str


class Fresh:
    """A new process that runs a script."""

    def __init__(self, script: str, *arguments: object, cwd: object = None, **environment: str):
        """Start the process with arguments and additional environment variables."""
        environment = {**os.environ, **environment}
        path = filter(None, (environment.get("PYTHONPATH"), TESTS))
        self._folder = tempfile.TemporaryDirectory()
        out, err = (self._file(name).open("w") for name in ("out", "err"))
        with out, err:
            self._process = subprocess.Popen(
                [sys.executable, "-c", script, *map(str, arguments)],
                cwd=cwd,
                env=environment | {"PYTHONPATH": os.pathsep.join(path)},
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

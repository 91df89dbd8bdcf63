"""Nodes as processes of their own: started, listened to, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

STOP_TIMEOUT = 5.0
"""Wall time that a node has to end after SIGINT before it is killed, s."""


class Process:
    """A node as a process of its own, logging into a file."""

    def __init__(self, name: str, arguments: list[str], folder: Path):
        """Start a node with arguments in the namespace of this demo."""
        command = [sys.executable, "-m", "manip_dyn.ros.start", "--owned", name, "--ros-args"]
        # A namespace of its own: nodes that already run in this domain do not mix in.
        command += ["-r", f"__ns:=/demo_{os.getpid()}", *arguments]
        self.name = name
        self._log = folder / f"{name}.log"
        # Nothing is written into this pipe: it ends with this process, however that ends.
        reading, self._owner = os.pipe()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=reading, stdout=subprocess.PIPE, stderr=log
            )
        os.close(reading)

    @property
    def output(self) -> IO[bytes]:
        """The node's standard output."""
        assert self.process.stdout is not None  # opened as a pipe above
        return self.process.stdout

    def stop_and_read(self) -> bytes:
        """End the node and return what it still said on standard output."""
        self.ask_to_end()
        try:
            return self.process.communicate(timeout=STOP_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]
        finally:
            self._disown()

    def wait_or_kill(self, timeout: float) -> None:
        """Wait until it has ended; end it after so many s."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()
        self._disown()

    def _disown(self) -> None:
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1

    def ask_to_end(self) -> None:
        """Send SIGINT, if it has not ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def last_words(self) -> str:
        """Return the end of the node's log."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-5:]) or "(it said nothing)"


def stop(nodes: Iterable[Process]) -> None:
    """End the nodes by SIGINT, by SIGKILL after a while; never leave one behind."""
    nodes = list(nodes)
    for node in nodes:
        node.ask_to_end()
    deadline = time.monotonic() + STOP_TIMEOUT
    for node in nodes:
        node.wait_or_kill(max(0.0, deadline - time.monotonic()))

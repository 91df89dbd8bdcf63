"""The recorder beside the nodes of a run, which goes on whatever becomes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.demo.processes import Process
from manip_dyn.demo.scenarios import Run

NAME = "recorder"
PATIENCE = 10.0
"""Wall time for which nodes wait to be heard by it before anything moves, s."""


class Recorded:
    """A recorder that listens before the nodes begin.

    Attributes:
        file: The file that it writes.
    """

    def __init__(self, file: str, folder: Path):
        """Start it and wait until it listens.

        Raises:
            ManipDynError: If it cannot: the file is there, or cannot be written.
        """
        self.file = file
        self._process = Process(NAME, ["-p", f"file:={Path(file).resolve()}"], folder)
        line = self._process.output.readline()
        if not line:
            self._process.process.wait()
            raise ManipDynError(_sentence(self._process.last_words()))

    def end(self) -> dict[str, Any]:
        """Stop it and return what it recorded, or as ``recording_failed`` why it could not."""
        if self._process.output.closed:
            return {}
        alive = self._process.process.poll() is None
        told = self._process.stop_and_read()
        if not alive or not told:
            return {"recording_failed": _sentence(self._process.last_words())}
        content = json.loads(told.splitlines()[-1])
        lost = sum(content["lost"].values())
        return {
            "recorded_messages": content["messages"],
            "recorded_messages_lost": lost,
        }


def awaiting(run: Run, nodes: Sequence[str]) -> Run:
    """Return the run with nodes that begin when the recorder hears them."""
    given = tuple((node, "await_recorder", str(PATIENCE)) for node in nodes)
    return run._replace(overrides=run.overrides + given)


def _sentence(words: str) -> str:
    """Return the last line of a log without what the logger puts before it."""
    return words.rpartition(" | ")[2].rpartition("]: ")[2]

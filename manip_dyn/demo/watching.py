"""A demo that is watched on a page in the browser: it begins when somebody looks, and stays."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from manip_dyn.demo.scenarios import Scenario

PATIENCE = 20.0
"""Wall time for which the arm waits for somebody who opens the page, s."""


def watched_run(scenario: Scenario) -> str:
    """Return the run of a scenario that people can follow: in real time, else its first."""
    labels = [run.label for run in scenario.runs]
    return "real_time" if "real_time" in labels else labels[0]


def await_watcher(output: IO[bytes]) -> None:
    """Print where the page is, from what the viewer says; return once somebody looks.

    Or after a while: the arm need not wait for ever.

    Args:
        output: The viewer's standard output; what it says later is read and forgotten.
    """
    said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def read() -> None:
        for line in output:
            said.put(json.loads(line))
        said.put(None)  # it ended, which the supervisor finds out

    threading.Thread(target=read, daemon=True).start()
    content = said.get()
    if content is None:
        return
    print(f"  open {content['url']} (waiting {PATIENCE:g} s for it)", flush=True)
    try:
        said.get(timeout=PATIENCE)
    except queue.Empty:
        print("  nobody looks yet; the arm begins", flush=True)


def stay(summary: dict[str, Any], processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Let the nodes go on until Ctrl-C, or until all of them have ended."""
    print(f"  measured: {len(summary)} values; the page stays until Ctrl-C", flush=True)
    try:
        while any(process.poll() is None for process in processes):
            time.sleep(0.2)
    except KeyboardInterrupt:
        print(flush=True)

"""Node processes of one run: started, watched, stopped."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruptible import terminated
from manip_dyn.core.share import share_directory
from manip_dyn.demo.processes import Process, stop
from manip_dyn.demo.recorded import Recorded, awaiting
from manip_dyn.demo.scenarios import Run, Scenario
from manip_dyn.demo.watching import await_watcher, stay


class RunFailedError(ManipDynError):
    """A run did not come to its end: a node died, or time ran out.

    Attributes:
        recorded: What became of its recording, as in the summary of one that did.
    """

    recorded: Mapping[str, Any] = MappingProxyType({})


Watch = Callable[[dict[str, Any], Mapping[str, int]], None]
"""Takes a sample that the monitor says now and then, and the process of each node."""


def perform(
    scenario: Scenario,
    run: Run,
    progress: Callable[[float], None],
    watch: Watch | None = None,
    record: str | None = None,
    view: bool = False,
) -> dict[str, Any]:
    """Run the nodes of `scenario` and return the monitor's summary.

    Args:
        scenario: What to run.
        run: Which of its runs.
        progress: Takes the part of the run that is over.
        watch: Takes samples.
        record: A new MCAP file for all messages; one that cannot be written disturbs nothing, and
            is told in the summary under ``recording_failed``.
        view: Whether a page in the browser shows the nodes, which then go on until Ctrl-C.

    Raises:
        RunFailedError: If a node dies or the run takes longer than its timeout.
    """
    with tempfile.TemporaryDirectory(prefix="manip_dyn_") as folder:
        nodes: dict[str, Process] = {}
        recorder = None if record is None else Recorded(record, Path(folder))
        if recorder is not None:
            run = awaiting(run, scenario.nodes)
        try:
            if view:
                opens = (("viewer", "open_browser", "true"),)
                shown = run._replace(overrides=run.overrides + opens)
                nodes["viewer"] = Node("viewer", scenario, shown, Path(folder))
                await_watcher(nodes["viewer"].output)
            monitor = nodes["monitor"] = Node(scenario.monitor, scenario, run, Path(folder))
            deadline = time.monotonic() + run.timeout
            for content in _lines(nodes, monitor, run, deadline):
                if "ready" in content:
                    for name in scenario.nodes:
                        nodes[name] = Node(name, scenario, run, Path(folder))
                elif "progress" in content:
                    progress(content["progress"])
                elif "sample" in content and watch is not None:
                    watch(content["sample"], {name: n.process.pid for name, n in nodes.items()})
                elif "summary" in content:
                    summary = content["summary"]
                    if view:
                        stay(summary, [each.process for each in nodes.values()])
                    return summary | ({} if recorder is None else recorder.end())
            raise RunFailedError(f"the monitor ended without a summary: {monitor.last_words()}")
        except RunFailedError as error:
            error.recorded = {} if recorder is None else recorder.end()
            raise
        finally:
            stop(list(nodes.values()))
            if recorder is not None and (failed := recorder.end().get("recording_failed")):
                # Only an interrupted run comes here with a recorder that has not ended.
                print(f"manip_dyn: {failed}", file=sys.stderr)


class Node(Process):
    """A node of a scenario."""

    def __init__(self, name: str, scenario: Scenario, run: Run, folder: Path):
        """Start `manip_dyn.ros.nodes.<name>`: the scenario's file, the run's overrides."""
        arguments: list[str] = []
        if name != "viewer":  # whose parameters are nobody's business but the user's
            arguments += ["--params-file", str(scenario.params_file)]
        for node, parameter, value in run.overrides:
            if node == name:
                arguments += ["-p", f"{parameter}:={value}"]
        super().__init__(name, arguments, folder)


def isolate() -> None:
    """Keep the nodes on this machine, soon discovered; let signals stop them as Ctrl-C does."""
    if importlib.util.find_spec("rclpy") is None:
        raise ManipDynError(
            "the demo needs rclpy; expected a sourced ROS 2 or pip install 'manip_dyn[ros]'"
        )
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, terminated)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    profile = str(share_directory() / "config" / "discovery.xml")
    os.environ.setdefault("FASTRTPS_DEFAULT_PROFILES_FILE", profile)


def _lines(
    nodes: Mapping[str, Process], monitor: Process, run: Run, deadline: float
) -> Iterator[dict[str, Any]]:
    """Yield the monitor's JSON lines while all nodes live and the deadline is not reached."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in monitor.output:
            lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=0.2)
        except queue.Empty:
            line = None
        if line == b"":
            return
        if line:
            yield json.loads(line)
        for node in nodes.values():
            if node is not monitor and node.process.poll() is not None:
                raise RunFailedError(
                    f"node '{node.name}' ended with exit code {node.process.returncode}: "
                    f"{node.last_words()}"
                )
        if time.monotonic() > deadline:
            raise RunFailedError(f"the run did not finish within {run.timeout:g} s")

"""Processes of the nodes in a run: start, supervision, recording and stop."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import share_directory
from manip_dyn.core.interruption import Terminated, raise_terminated
from manip_dyn.demo.scenarios import Run, Scenario

STOP_TIMEOUT = 5.0
"""Wall time (s) between SIGINT and SIGKILL."""


class NodeProcess:
    """A node in a separate process, with its standard error in a log file."""

    def __init__(self, name: str, arguments: list[str], folder: Path):
        """Start the node in the namespace of the demo; its log is written to `folder`."""
        command = [sys.executable, "-m", "manip_dyn.ros.start", "--owned", name, "--ros-args"]
        # The namespace avoids interference with other nodes in this domain.
        command += ["-r", f"__ns:=/demo_{os.getpid()}", *arguments]
        self.name = name
        self._log = folder / f"{name}.log"
        # Nothing is written to this pipe. It closes when this process exits, even after SIGKILL,
        # and the node then exits as well.
        reading, self._owner = os.pipe()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=reading, stdout=subprocess.PIPE, stderr=log
            )
        os.close(reading)

    @property
    def output(self) -> IO[bytes]:
        """Standard output of the node."""
        assert self.process.stdout is not None  # opened as a pipe above
        return self.process.stdout

    def stop_and_read(self) -> bytes:
        """Stop the node and return its remaining standard output."""
        self.interrupt()
        try:
            return self.process.communicate(timeout=STOP_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]
        finally:
            self._disown()

    def wait_or_kill(self, timeout: float) -> None:
        """Wait until the process exits, and kill it after `timeout` (s)."""
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

    def interrupt(self) -> None:
        """Send SIGINT if the process is still running."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def log_tail(self) -> str:
        """Return the last five lines of the node's log in one line, joined by ``|``."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-5:]) or "(its log is empty)"


def stop_all(nodes: Iterable[NodeProcess]) -> None:
    """Stop all nodes with SIGINT, and after `STOP_TIMEOUT` with SIGKILL."""
    nodes = list(nodes)
    for node in nodes:
        node.interrupt()
    deadline = time.monotonic() + STOP_TIMEOUT
    for node in nodes:
        node.wait_or_kill(max(0.0, deadline - time.monotonic()))


WATCHER_TIMEOUT = 20.0
"""Largest wall time (s) for which a run waits until the page is opened."""


def watched_run(scenario: Scenario) -> str:
    """Return the label of the run to view: ``real_time`` if it exists, else the first run."""
    labels = [run.label for run in scenario.runs]
    return "real_time" if "real_time" in labels else labels[0]


def await_watcher(output: IO[bytes]) -> None:
    """Print the address of the page; wait until it is opened, at most for `WATCHER_TIMEOUT`.

    Args:
        output: Standard output of the viewer, JSON lines. A thread reads it until the viewer
            exits.
    """
    messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def read() -> None:
        for line in output:
            messages.put(json.loads(line))
        messages.put(None)  # the viewer has exited; `perform_run` reports it

    threading.Thread(target=read, daemon=True).start()
    content = messages.get()
    if content is None:
        return
    print(f"  open {content['url']} (waiting {WATCHER_TIMEOUT:g} s for it)", flush=True)
    try:
        messages.get(timeout=WATCHER_TIMEOUT)
    except queue.Empty:
        print("  the page is not open yet; the run starts", flush=True)


def wait_for_interrupt(
    summary: dict[str, Any], processes: Sequence[subprocess.Popen[bytes]]
) -> None:
    """Wait for Ctrl-C, or until all nodes have exited; raise `Terminated` after other signals."""
    print(f"  measured {len(summary)} values; the page is open until Ctrl-C", flush=True)
    try:
        while any(process.poll() is None for process in processes):
            time.sleep(0.2)
    except Terminated:
        raise
    except KeyboardInterrupt:
        print(flush=True)


RECORDER = "recorder"
RECORDER_TIMEOUT = 10.0
"""Largest wall time (s) for which nodes wait for the recorder before they start."""


class RunRecorder:
    """A recorder that is ready before the nodes of a run start.

    Attributes:
        file: Path of the MCAP file.
    """

    def __init__(self, file: str, folder: Path):
        """Start the recorder and wait until it is ready.

        Raises:
            ManipDynError: If the recorder exits at its start, for example because the file exists
                or cannot be written.
        """
        self.file = file
        self._process = NodeProcess(RECORDER, ["-p", f"file:={Path(file).resolve()}"], folder)
        line = self._process.output.readline()
        if not line:
            self._process.process.wait()
            raise ManipDynError(_sentence(self._process.log_tail()))

    def end(self) -> dict[str, Any]:
        """Stop the recorder and return the numbers of recorded and lost messages.

        If it failed, return the reason as ``recording_failed``. Later calls return {}.
        """
        if self._process.output.closed:
            return {}
        alive = self._process.process.poll() is None
        output = self._process.stop_and_read()
        if not alive or not output:
            return {"recording_failed": _sentence(self._process.log_tail())}
        content = json.loads(output.splitlines()[-1])
        lost = sum(content["lost"].values())
        return {
            "recorded_messages": content["messages"],
            "recorded_messages_lost": lost,
        }


def awaiting_recorder(run: Run, nodes: Sequence[str]) -> Run:
    """Return the run with overrides that make `nodes` wait for the recorder before they start."""
    waits = tuple((node, "await_recorder", str(RECORDER_TIMEOUT)) for node in nodes)
    return run._replace(overrides=run.overrides + waits)


def _sentence(words: str) -> str:
    """Return the last line of a log tail without the logger's prefix."""
    return words.rpartition(" | ")[2].rpartition("]: ")[2]


class RunFailedError(ManipDynError):
    """A run did not finish, because a node exited or the timeout elapsed.

    Attributes:
        recorded: Summary entries of the recording, as for a finished run.
    """

    recorded: Mapping[str, Any] = MappingProxyType({})


Watch = Callable[[dict[str, Any], Mapping[str, int]], None]
"""Function that is called with a sample of the monitor and the process id of each node."""


def perform_run(
    scenario: Scenario,
    run: Run,
    progress: Callable[[float], None],
    watch: Watch | None = None,
    record: str | None = None,
    view: bool = False,
) -> dict[str, Any]:
    """Perform a run of a scenario and return the summary of the monitor.

    Args:
        scenario: The scenario.
        run: The run of the scenario.
        progress: Function that is called with the completed fraction of the run.
        watch: Function that is called with each sample of the monitor and the process ids of the
            nodes by name.
        record: Path of a new MCAP file for all messages. A failed recording does not affect the
            run. The summary then contains the reason as ``recording_failed``.
        view: Whether to show the nodes in the browser until Ctrl-C.

    Raises:
        RunFailedError: If a node exits early or the run takes longer than its timeout.
        ManipDynError: If the recorder does not start.
    """
    with tempfile.TemporaryDirectory(prefix="manip_dyn_") as folder:
        nodes: dict[str, NodeProcess] = {}
        recorder = None if record is None else RunRecorder(record, Path(folder))
        if recorder is not None:
            run = awaiting_recorder(run, scenario.nodes)
        try:
            if view:
                opens = (("viewer", "open_browser", "true"),)
                viewed_run = run._replace(overrides=run.overrides + opens)
                nodes["viewer"] = ScenarioNode("viewer", scenario, viewed_run, Path(folder))
                await_watcher(nodes["viewer"].output)
            monitor = nodes["monitor"] = ScenarioNode(
                scenario.monitor, scenario, run, Path(folder)
            )
            deadline = time.monotonic() + run.timeout
            for content in _monitor_lines(nodes, monitor, run, deadline):
                if "ready" in content:
                    for name in scenario.nodes:
                        nodes[name] = ScenarioNode(name, scenario, run, Path(folder))
                elif "progress" in content:
                    progress(content["progress"])
                elif "sample" in content and watch is not None:
                    watch(content["sample"], {name: n.process.pid for name, n in nodes.items()})
                elif "summary" in content:
                    summary = content["summary"]
                    if view:
                        wait_for_interrupt(summary, [node.process for node in nodes.values()])
                    return summary | ({} if recorder is None else recorder.end())
            raise RunFailedError(f"the monitor ended without a summary: {monitor.log_tail()}")
        except RunFailedError as error:
            error.recorded = {} if recorder is None else recorder.end()
            raise
        finally:
            stop_all(list(nodes.values()))
            if recorder is not None and (failed := recorder.end().get("recording_failed")):
                # The recorder is still running only if the run was interrupted.
                print(f"manip_dyn: {failed}", file=sys.stderr)


class ScenarioNode(NodeProcess):
    """A node of a scenario with its parameters."""

    def __init__(self, name: str, scenario: Scenario, run: Run, folder: Path):
        """Start the node with the scenario's parameter file and the run's overrides."""
        arguments: list[str] = []
        if name != "viewer":  # the parameter file has no entry for the viewer
            arguments += ["--params-file", str(scenario.params_file)]
        for node, parameter, value in run.overrides:
            if node == name:
                arguments += ["-p", f"{parameter}:={value}"]
        super().__init__(name, arguments, folder)


def isolate() -> None:
    """Restrict discovery to this machine, and handle SIGTERM and SIGHUP like Ctrl-C.

    Raises:
        ManipDynError: If rclpy is not installed.
    """
    if importlib.util.find_spec("rclpy") is None:
        raise ManipDynError(
            "the demo requires rclpy: source ROS 2, or pip install 'manip_dyn[ros]'."
        )
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, raise_terminated)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    profile = str(share_directory() / "config" / "discovery.xml")
    os.environ.setdefault("FASTRTPS_DEFAULT_PROFILES_FILE", profile)


def _monitor_lines(
    nodes: Mapping[str, NodeProcess], monitor: NodeProcess, run: Run, deadline: float
) -> Iterator[dict[str, Any]]:
    """Yield the content of the monitor's JSON lines until it exits.

    Raises:
        RunFailedError: If another node exits, or at the deadline.
    """
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
                    f"node '{node.name}' exited with code {node.process.returncode}: "
                    f"{node.log_tail()}"
                )
        if time.monotonic() > deadline:
            raise RunFailedError(f"the run did not finish within {run.timeout:g} s.")

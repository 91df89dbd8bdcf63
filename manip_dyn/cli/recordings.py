"""Commands about recordings and running nodes: `record`, `replay` and `view`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from manip_dyn.cli.collisions import scene_of
from manip_dyn.cli.outputs import check_writable, view
from manip_dyn.cli.parser import (
    DONE,
    FAILED,
    ROBOT_FILES,
    add_json,
    add_robot_options,
    complete_with,
    examples,
    load_arguments,
)
from manip_dyn.cli.terminal import Bar, error_line
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import bundled_robots
from manip_dyn.recording.messages import required_library
from manip_dyn.recording.reader import MessageReader, read
from manip_dyn.recording.recorder import SUFFIX, check_new

NAMESPACE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
"""Pattern of namespaces that rcl accepts, without the leading slash."""
TOPICS_OF_ALL_NODES = {"/rosout", "/parameter_events"}
"""Topics that every node publishes, including the recorder."""


def configure_record(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn record`."""
    command.description = (
        "The recording ends with Ctrl-C. Foxglove, PlotJuggler, ros2 bag and manip_dyn replay can "
        "read the MCAP file. If the recorder is killed, "
        "at most the last second is lost. At the end, the command prints the numbers of recorded "
        "and lost messages. An existing file is never overwritten."
    )
    command.epilog = examples(
        "manip_dyn record arm.mcap",
        "manip_dyn record arm.mcap --namespace /left --duration 10",
    )
    command.add_argument("file", metavar="FILE", help="a new MCAP file, FILE.mcap")
    command.add_argument(
        "--namespace", default="", help="namespace of the topics (default: all topics)"
    )
    command.add_argument(
        "--duration", type=float, default=0.0, help="duration, s (default: until Ctrl-C)"
    )
    command.set_defaults(run=_record)


def _record(options: argparse.Namespace) -> int:
    parameters = {"file": options.file, "duration": options.duration}
    check_new(options.file)
    check_writable("FILE", options.file)
    required_library("mcap.writer")
    topics: set[str] = set()

    def report(**news: Any) -> None:
        topics.update(news.get("topics", ()))
        _report_recording(**news)

    code = run_node("recorder", options.namespace, parameters, report)
    if code == DONE and not topics - TOPICS_OF_ALL_NODES:
        namespace = f"namespace {options.namespace}" if options.namespace else "this ROS domain"
        removed = "" if topics else f"; the empty file '{options.file}' is removed"
        print(error_line(f"no messages received in {namespace}{removed}"), file=sys.stderr)
        if not topics:
            Path(options.file).unlink()
        return FAILED
    return code


def _report_recording(**news: Any) -> None:
    """Print that a recording has started, or its summary."""
    if "ready" in news:
        print("manip_dyn: recording; press Ctrl-C to stop", file=sys.stderr, flush=True)
    elif news.get("messages"):
        lost = sum(news["lost"].values())
        topics = "".join(f"  {topic:<40} {count}\n" for topic, count in news["topics"].items())
        print(f"{news['recorded']}: {news['messages']} messages, {lost} lost")
        print(topics, end="")


def configure_replay(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn replay`."""
    command.description = (
        "The command publishes the messages on their topics in real time. With --view, the "
        "browser shows the recording instead. With --check, the command repeats a lockstep "
        "simulation with the recorded commands, and checks that the states are bit-identical. "
        "Files of a killed recorder are readable."
    )
    command.epilog = examples(
        "manip_dyn replay arm.mcap --rate 0.5",
        "manip_dyn demo ibm7535_minimum_time --mode lockstep --record run.mcap",
        "manip_dyn replay run.mcap --check",
    )
    complete_with(
        command.add_argument("file", metavar="FILE", help="an MCAP file"), suffixes=(SUFFIX,)
    )
    command.add_argument(
        "--rate", type=float, default=1.0, help="recorded time per wall time (default: 1)"
    )
    command.add_argument("--namespace", default="", help="namespace of the topics (default: none)")
    command.add_argument("--view", action="store_true", help="show the recording in the browser")
    command.add_argument(
        "--check", action="store_true", help="repeat the run in the simulator and compare"
    )
    add_json(command)
    command.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    if options.check and options.view:
        raise ManipDynError("--view must be omitted with --check.")
    if options.view:
        return view(read(options.file))
    if options.check:
        return _check_replay(options)
    MessageReader(options.file)  # raises an error for an unreadable file before the node starts
    parameters = {"file": options.file, "rate": options.rate}
    bars: list[Bar] = []

    def report(progress: float = 0.0, published: int = 0, **_: Any) -> None:
        if not bars:  # a node that fails to start does not report progress
            bars.append(Bar(f"replaying {options.file}"))
        bars[0](progress)
        if published:
            bars[0].close()
            print(f"{published} messages published")

    try:
        return run_node("replayer", options.namespace, parameters, report)
    finally:
        for bar in bars:
            bar.close()


def _check_replay(options: argparse.Namespace) -> int:
    try:
        from manip_dyn.ros.lockstep_replay import check_recording
    except ImportError as error:
        raise ManipDynError(
            "replay --check requires the messages of ROS 2: source ROS 2, or pip install "
            "'manip_dyn[ros]'."
        ) from error
    verdict = check_recording(options.file)
    if options.json:
        print(json.dumps(verdict._asdict()))
    else:
        print(verdict.sentence if verdict.same else f"not the same: {verdict.sentence}")
    return DONE if verdict.same else FAILED


def run_node(
    name: str, namespace: str, parameters: Mapping[str, Any], report: Callable[..., None]
) -> int:
    """Run the recorder or the replayer in this process and return its exit code.

    Args:
        name: "recorder" or "replayer".
        namespace: Namespace of the node.
        parameters: Parameters of the node by name.
        report: Function that is called with the progress of the node as keyword arguments.

    Raises:
        ManipDynError: If the namespace is invalid or rclpy is not installed.
    """
    path = namespace.strip("/")
    if path and not NAMESPACE.fullmatch(path):
        raise ManipDynError(
            "--namespace must be names of letters, digits and underscores that do not start with "
            f"a digit, joined by /, got '{namespace}'."
        )
    if find_spec("rclpy") is None:
        raise ManipDynError(
            f"the {name} requires rclpy: source ROS 2, or pip install 'manip_dyn[ros]'."
        )
    words = ["manip_dyn", "--ros-args"]
    if path:
        words += ["-r", f"__ns:=/{path}"]
    for key, value in parameters.items():
        words += ["-p", f"{key}:={value}"]
    main = import_module("manip_dyn.ros.nodes.recording").main
    return int(main(name, words, report, _print_error))


def _print_error(message: str) -> None:
    print(error_line(message), file=sys.stderr)


def configure_view(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn view`."""
    from manip_dyn.viewer.server import LOCALHOST, PORT

    command.description = (
        "The page of a robot has a slider for each joint. It requires no network. Ctrl-C ends the "
        "command with exit code 0."
    )
    command.epilog = examples(
        "manip_dyn view pa10",
        "manip_dyn view my_arm.urdf",
        "manip_dyn view my_arm.urdf --scene cell.yaml",
        "manip_dyn view run.mcap",
        "manip_dyn view /demo",
    )
    source = command.add_argument(
        "robot",
        nargs="?",
        default="/",
        metavar="WHAT",
        help="shipped robot, path of a URDF or of a recording (.mcap), or a ROS namespace that "
        "starts with / (default: /, the root namespace)",
    )
    complete_with(source, bundled_robots, (*ROBOT_FILES, SUFFIX))
    add_robot_options(command)
    command.add_argument(
        "--meshes",
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder that contains the packages with the meshes; repeatable",
    )
    command.add_argument(
        "--scene",
        metavar="FILE",
        help="YAML file with objects around the arm, which are drawn with the closest pair",
    )
    command.add_argument(
        "--host",
        default=LOCALHOST,
        help="address of the page; 0.0.0.0: all network interfaces (default: this machine only)",
    )
    command.add_argument(
        "--port",
        type=int,
        help=f"port of the page (default: {PORT}, or the next free one)",
    )
    command.add_argument("--dark", action="store_true", help="start in dark mode")
    command.set_defaults(run=_view)


def _view(options: argparse.Namespace) -> int:
    source = options.robot
    if _is_namespace(source):
        return _view_nodes(options)
    from manip_dyn.viewer import file_motion

    scene = scene_of(options)
    arguments = {} if Path(source).suffix == SUFFIX else load_arguments(options)
    motion = file_motion(source, meshes=options.meshes, **arguments)
    port = _port(options)
    return view(motion, scene=scene, host=options.host, port=port, dark=options.dark, wait=True)


def _is_namespace(source: str) -> bool:
    """Return whether the argument of `view` is a ROS namespace and not the path of a file.

    Raises:
        ManipDynError: If it is the path of a folder or of a missing file.
    """
    if not source.startswith("/") or Path(source).is_file():
        return False
    name, above = source.strip("/"), Path(source).parent
    is_path = Path(source).exists() or (above.exists() and above != Path("/"))
    if name and (is_path or not NAMESPACE.fullmatch(name)):
        reason = "it is a folder" if Path(source).is_dir() else "no such file"
        raise ManipDynError(f"WHAT must be a file or a ROS namespace, got '{source}': {reason}.")
    return True


def _port(options: argparse.Namespace) -> int:
    """Return the port of the page, and check that a port that the user selects is free."""
    from manip_dyn.viewer.server import PORT, check_free, viser

    viser()
    if options.port is None:
        return PORT
    check_free(options.host, options.port)
    return int(options.port)


def _view_nodes(options: argparse.Namespace) -> int:
    if options.scene is not None:
        raise ManipDynError(
            f"--scene must be omitted for the ROS namespace '{options.robot}': the page shows the "
            f"scenes of its nodes, got '{options.scene}'."
        )
    if find_spec("rclpy") is None:
        raise ManipDynError(
            f"'{options.robot}' is a ROS namespace, which requires rclpy: source ROS 2, or pip "
            "install 'manip_dyn[ros]'."
        )
    words = ["--ros-args", "--log-level", "warn"]
    if options.robot.strip("/"):
        words += ["-r", f"__ns:={options.robot.rstrip('/')}"]
    parameters = {"host": options.host, "port": _port(options), "dark": str(options.dark).lower()}
    parameters |= {"open_browser": "true"}
    if options.meshes:
        parameters["meshes"] = ":".join(options.meshes)
    for name, value in parameters.items():
        words += ["-p", f"{name}:={value}"]
    code = int(import_module("manip_dyn.ros.nodes.viewer").main(words, _report_page))
    print(flush=True)  # ends the line on which a terminal shows ^C
    return code


def _report_page(url: str = "", **_: Any) -> None:
    if url:
        print(f"manip_dyn: {url}, until Ctrl-C", flush=True)

"""`manip_dyn view`: a page in the browser, of a robot or of what runs."""

from __future__ import annotations

import argparse
import importlib.util
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from manip_dyn.cli.options import DONE, add_robot_options, examples, robot_of
from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.reader import Recording, read
from manip_dyn.recording.recorder import SUFFIX
from manip_dyn.viewer.page.server import LOCALHOST, PORT

if TYPE_CHECKING:
    from manip_dyn.viewer import Motion


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Show a robot, with a slider for each joint, a recording, or what the nodes of a "
        "namespace do, on a page in the browser. The page needs no network; Ctrl-C ends it."
    )
    command.epilog = examples(
        "manip_dyn view pa10",
        "manip_dyn view my_arm.urdf",
        "manip_dyn view run.mcap",
        "manip_dyn view /demo",
    )
    command.add_argument(
        "robot",
        nargs="?",
        default="/",
        metavar="WHAT",
        help="name of a shipped robot, path of a URDF or a recording (.mcap), or a ROS namespace, "
        "which begins with / and is no file (default: /, what runs)",
    )
    add_robot_options(command)
    command.add_argument(
        "--meshes", action="append", default=[], metavar="FOLDER", help="where its packages lie"
    )
    command.add_argument(
        "--host", default=LOCALHOST, help="0.0.0.0: for everybody (default: this machine only)"
    )
    command.add_argument("--port", type=int, default=PORT, help="default: %(default)s or the next")
    command.add_argument("--dark", action="store_true", help="begin with light letters on dark")
    command.set_defaults(run=_view)


def _view(options: argparse.Namespace) -> int:
    what = options.robot
    if what.startswith("/") and not Path(what).is_file():
        return _live(options)
    from manip_dyn.viewer import standing, view

    motion: Motion | Recording
    if Path(what).suffix == SUFFIX:
        motion = read(what)
    else:
        robot = robot_of(options)
        beside = Path(what).resolve().parents if Path(what).is_file() else ()
        motion = standing(robot, meshes=[*options.meshes, *beside])
    view(motion, host=options.host, port=options.port, dark=options.dark, wait=True)
    return DONE


def _live(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("rclpy") is None:
        raise ManipDynError(
            f"'{options.robot}' is a ROS namespace, which needs rclpy; expected a sourced ROS 2 "
            "or pip install 'manip_dyn[ros]'"
        )
    words = ["--ros-args"]
    if options.robot.strip("/"):
        words += ["-r", f"__ns:={options.robot.rstrip('/')}"]
    given = {"host": options.host, "port": options.port, "dark": str(options.dark).lower()}
    given |= {"open_browser": "true"}
    if options.meshes:
        given["meshes"] = ":".join(options.meshes)
    for name, value in given.items():
        words += ["-p", f"{name}:={value}"]
    return int(import_module("manip_dyn.ros.nodes.viewer").main(words))

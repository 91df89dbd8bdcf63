"""`manip_dyn record`: what nodes say, into an MCAP file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from manip_dyn.cli.options import DONE, FAILED, examples
from manip_dyn.cli.outputs import check_place
from manip_dyn.cli.running import run_node
from manip_dyn.cli.terminal import error_line
from manip_dyn.recording.messages import required_library
from manip_dyn.recording.recorder import check_new

OF_EVERY_NODE = {"/rosout", "/parameter_events"}
"""Topics that every node has, the recorder, too."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Record every message of the nodes that run, as it came, until Ctrl-C: an MCAP file for "
        "Foxglove, PlotJuggler, ros2 bag, manip_dyn replay. If the recorder is killed, the file "
        "can be read up to a second before. At the end it says how many messages it has, and how "
        "many did not arrive. A file that is there already is refused."
    )
    command.epilog = examples(
        "manip_dyn record arm.mcap",
        "manip_dyn record arm.mcap --namespace /left --duration 10",
    )
    command.add_argument("file", metavar="FILE", help="a new MCAP file, FILE.mcap")
    command.add_argument("--namespace", default="", help="whose topics (default: all)")
    command.add_argument("--duration", type=float, default=0.0, help="s (default: until Ctrl-C)")
    command.set_defaults(run=_record)


def _record(options: argparse.Namespace) -> int:
    values = {"file": options.file, "duration": options.duration}
    check_new(options.file)
    check_place("FILE", options.file)
    required_library("mcap.writer")
    heard: set[str] = set()

    def tell(**news: Any) -> None:
        heard.update(news.get("topics", ()))
        _tell(**news)

    code = run_node("recorder", options.namespace, values, tell)
    if code == DONE and not heard - OF_EVERY_NODE:
        where = f"in namespace {options.namespace}" if options.namespace else "in this ROS domain"
        left = "" if heard else f"; '{options.file}' would be empty and is not kept"
        print(error_line(f"nothing was heard {where}{left}"), file=sys.stderr)
        if not heard:
            Path(options.file).unlink()
        return FAILED
    return code


def _tell(**news: Any) -> None:
    """Say how it begins and what came of it."""
    if "ready" in news:
        print("manip_dyn: recording; Ctrl-C ends it", file=sys.stderr, flush=True)
        return
    if "recorded" not in news:
        return
    if not news["messages"]:
        return  # that is said in one sentence
    lost = sum(news["lost"].values())
    topics = "".join(f"  {topic:<40} {count}\n" for topic, count in news["topics"].items())
    print(f"{news['recorded']}: {news['messages']} messages, {lost} more did not arrive")
    print(topics, end="")

"""`manip_dyn record`: what nodes say, into an MCAP file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from manip_dyn.cli.options import examples
from manip_dyn.cli.running import run_node


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Record every message of the nodes that run, as it came, until Ctrl-C: an MCAP file for "
        "Foxglove, PlotJuggler, ros2 bag, manip_dyn replay. If the recorder is killed, the file "
        "can be read up to a second before. At the end it says how many messages it has, and how "
        "many did not arrive."
    )
    command.epilog = examples(
        "manip_dyn record arm.mcap",
        "manip_dyn record arm.mcap --namespace /left --duration 10",
    )
    command.add_argument("file", metavar="FILE", help="a new MCAP file")
    command.add_argument("--namespace", default="", help="whose topics (default: all)")
    command.add_argument("--duration", type=float, default=0.0, help="s (default: until Ctrl-C)")
    command.set_defaults(run=_record)


def _record(options: argparse.Namespace) -> int:
    values = {"file": options.file, "duration": options.duration}
    return run_node("recorder", options.namespace, values, _tell)


def _tell(**news: Any) -> None:
    """Say how it begins and what came of it."""
    if "ready" in news:
        print("manip_dyn: recording; Ctrl-C ends it", file=sys.stderr, flush=True)
        return
    lost = sum(news["lost"].values())
    topics = "".join(f"  {topic:<40} {count}\n" for topic, count in news["topics"].items())
    print(f"{news['recorded']}: {news['messages']} messages, {lost} more did not arrive")
    print(topics, end="")

"""`manip_dyn replay`: a recording published again, viewed, or checked by the simulator."""

from __future__ import annotations

import argparse
import json
from typing import Any

from manip_dyn.cli.options import DONE, FAILED, examples
from manip_dyn.cli.outputs import view
from manip_dyn.cli.running import run_node
from manip_dyn.cli.terminal import Bar
from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.reader import MessageReader, read


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Publish a recording on its topics again, in real time; or view it; or check that the "
        "simulator comes to the same states, bit for bit, from the same commands (recordings of a "
        "simulator in lockstep). Reads recordings whose recorder was killed, too."
    )
    command.epilog = examples(
        "manip_dyn replay arm.mcap --rate 0.5",
        "manip_dyn demo ibm7535_minimum_time --mode lockstep --record run.mcap",
        "manip_dyn replay run.mcap --check",
    )
    command.add_argument("file", metavar="FILE", help="an MCAP file")
    command.add_argument("--rate", type=float, default=1.0, help="recorded per wall time")
    command.add_argument("--namespace", default="", help="where to publish (default: none)")
    command.add_argument("--view", action="store_true", help="show it in the browser instead")
    command.add_argument("--check", action="store_true", help="let the simulator do it again")
    command.add_argument("--json", action="store_true", help="print the check as a JSON object")
    command.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    if options.check and options.view:
        raise ManipDynError("--check stands beside --view; expected one of them")
    if options.view:
        return view(read(options.file))
    if options.check:
        return _check(options)
    MessageReader(options.file)  # refused before a node is started
    values = {"file": options.file, "rate": options.rate}
    bars: list[Bar] = []

    def tell(progress: float = 0.0, published: int = 0, **_: Any) -> None:
        if not bars:  # a node that is refused says nothing
            bars.append(Bar(f"replaying {options.file}"))
        bars[0](progress)
        if published:
            bars[0].close()
            print(f"{published} messages published")

    try:
        return run_node("replayer", options.namespace, values, tell)
    finally:
        for bar in bars:
            bar.close()


def _check(options: argparse.Namespace) -> int:
    try:
        from manip_dyn.ros.lockstep_replay import check_recording
    except ImportError as error:
        raise ManipDynError(
            "replay --check needs the messages of ROS 2; expected a sourced ROS 2 or pip install "
            "'manip_dyn[ros]'"
        ) from error
    verdict = check_recording(options.file)
    if options.json:
        print(json.dumps(verdict._asdict()))
    else:
        print(verdict.sentence if verdict.same else f"not the same: {verdict.sentence}")
    return DONE if verdict.same else FAILED

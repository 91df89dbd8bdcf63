"""`manip_dyn demo`: scenarios with real ROS 2 nodes."""

from __future__ import annotations

import argparse

from manip_dyn.demo.demo import demo
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    names = ", ".join(each.name for each in SCENARIOS)
    command.description = (
        "Start the ROS 2 nodes of a scenario on this machine only, measure them from "
        "a subscriber process of its own, stop them and print a summary. Exit code 0: every run "
        "stayed within its bounds."
    )
    command.add_argument("scenario", nargs="?", help=f"one of: {names} (default: three of them)")
    command.add_argument("--all", action="store_true", help="every run of all scenarios")
    command.add_argument("--mode", help="only the run of this label, such as lockstep")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--urdf", help=f"another robot, for {ANY_ROBOT}")
    command.add_argument("--tip", help="its tool link (default: tool0, or the last link)")
    command.set_defaults(run=lambda o: demo(o.scenario, o.mode, o.json, o.urdf, o.tip, o.all))

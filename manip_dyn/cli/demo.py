"""`manip_dyn demo`: scenarios with real ROS 2 nodes."""

from __future__ import annotations

import argparse

from manip_dyn.cli.parser import completed_by, examples
from manip_dyn.cli.terminal import Bar
from manip_dyn.core.errors import ManipDynError
from manip_dyn.demo.runs import demo, soak_command
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    names = ", ".join(each.name for each in SCENARIOS)
    command.description = (
        "Start the ROS 2 nodes of a scenario on this machine only, measure them from "
        "a subscriber process of its own, stop them and print a summary. Exit code 0: every run "
        "stayed within its bounds."
    )
    command.epilog = examples(
        "manip_dyn demo",
        "manip_dyn demo --view",
        "manip_dyn demo pa10_dynamic_circle --mode real_time --record circle.mcap",
        "manip_dyn demo panda_lissajous --urdf my_arm.urdf",
    )
    about = f"one of: {names} (default: three of them)"
    scenario = command.add_argument("scenario", nargs="?", help=about)
    completed_by(scenario, lambda: [each.name for each in SCENARIOS])
    command.add_argument("--all", action="store_true", help="every run of all scenarios")
    command.add_argument("--mode", help="only the run of this label, such as lockstep")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument(
        "--view", action="store_true", help="show one run in the browser, until Ctrl-C"
    )
    command.add_argument("--urdf", help=f"another robot, for {ANY_ROBOT}")
    command.add_argument("--tip", help="its tool link (default: tool0, or the last link)")
    command.add_argument(
        "--record", metavar="FILE", help="keep all messages in a new MCAP file (one for each run)"
    )
    command.add_argument(
        "--soak", type=float, metavar="SECONDS", help="run a tracked arm in real time for so long"
    )
    command.add_argument("--log", metavar="FILE", help="keep the samples of a soak, as JSON")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.soak is not None:
        return soak_command(options.scenario, options.soak, options.json, options.log, Bar)
    if options.log is not None:
        raise ManipDynError(f"--log is '{options.log}' without --soak; expected both or neither")
    chosen = options.scenario, options.mode, options.json, options.urdf, options.tip, options.all
    return demo(*chosen, options.view, options.record, Bar)

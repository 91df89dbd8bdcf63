"""`manip_dyn doctor`: what is installed, and what is missing for what."""

from __future__ import annotations

import argparse
import json

from manip_dyn.cli.installation import examine
from manip_dyn.cli.parser import examples
from manip_dyn.cli.terminal import print_table


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Say what is installed in which version, where compiled code is kept and whether it can "
        "be, what the CPU can, which ROS 2 there is, and what is missing for what. Exit code 0: "
        "nothing is missing that everything needs; 1: something is."
    )
    command.epilog = examples("manip_dyn doctor", "manip_dyn doctor --json")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    found = examine()
    if options.json:
        print(json.dumps(found.content, indent=2))
        return 1 if found.problems else 0
    rows = [
        (f"{part}: {key}", value)
        for part, facts in found.content.items()
        for key, value in facts.items()
    ]
    text = "".join(f"{key:<34} {value}\n" for key, value in rows)
    print_table(("", ""), rows, lambda: text)
    for sentence in found.problems:
        print(f"problem: {sentence}")
    print(
        "see the problems above"
        if found.problems
        else "everything that the package itself needs is there"
    )
    return 1 if found.problems else 0

"""`manip_dyn identify`: what an arm weighs and rubs, from a log."""

from __future__ import annotations

import argparse
import json

import numpy as np

from manip_dyn.cli.options import DONE, FAILED, add_robot_options, examples, robot_of
from manip_dyn.cli.parser import completed_by
from manip_dyn.cli.terminal import print_table, told
from manip_dyn.core.share import shipped_robots
from manip_dyn.identification import Identification, identify
from manip_dyn.identification.parameters import OF_A_JOINT

HEAD = ("base parameter", "estimate", "deviation", "described")


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Estimate the base parameters of an arm, masses and inertias in the combinations that "
        "efforts tell apart, with damping, friction and rotors, from a recording (.mcap) or a CSV "
        "file with the columns t, position_JOINT and effort_JOINT. Exit code 1: there is a base "
        "parameter that the log does not tell."
    )
    command.epilog = examples(
        "manip_dyn simulate rr --effort 60,9 --duration 10 --csv swing.csv",
        "manip_dyn identify swing.csv --robot rr",
        "manip_dyn identify arm.mcap --robot arm.urdf --json",
    )
    command.add_argument("log", help="file .mcap or .csv")
    robot = command.add_argument("--robot", required=True, help="shipped robot, or path of a URDF")
    completed_by(robot, shipped_robots)
    add_robot_options(command)
    command.add_argument(
        "--cutoff", type=float, default=10.0, help="of the efforts' filter, Hz (default: 10)"
    )
    command.add_argument(
        "--known",
        action="append",
        default=[],
        choices=OF_A_JOINT,
        help="take it as described; again for another",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_identify)


def _identify(options: argparse.Namespace) -> int:
    robot = robot_of(options)
    estimated = tuple(each for each in OF_A_JOINT if each not in options.known)
    with told("estimating"):
        found = identify(robot, options.log, cutoff=options.cutoff, estimated=estimated)
    if options.json:
        print(json.dumps(found.content(), indent=2))
    else:
        _print(found)
    return FAILED if found.unseen else DONE


def _print(found: Identification) -> None:
    table = [
        (name, *(f"{each:.5g}" if np.isfinite(each) else "not told" for each in numbers))
        for name, *numbers in zip(
            found.names, found.values, found.deviations, found.described, strict=True
        )
    ]
    text = "".join(f"{a:<28}{b:>12}{c:>12}{d:>12}\n" for a, b, c, d in (HEAD, *table))
    print_table(HEAD, table, lambda: text, numeric=HEAD[1:])
    for joint, residual in zip(found.robot.joint_names, found.residual, strict=True):
        print(f"residual of {joint}: {residual:.3g}")
    print(f"condition number: {found.condition:.3g}")

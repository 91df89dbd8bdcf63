"""`manip_dyn check`: what is wrong or doubtful in a URDF, and what other programs make of it."""

from __future__ import annotations

import argparse
import json

from manip_dyn.cli.options import (
    DONE,
    FAILED,
    add_robot,
    add_robot_options,
    examples,
    loading,
)
from manip_dyn.cli.terminal import print_table, told
from manip_dyn.inspection import Inspection, check
from manip_dyn.inspection.findings import counted, grouped

SHOWN = 4
"""Names of parts that are printed of a finding that many share."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Say what is wrong, doubtful or worth knowing about a URDF or xacro file: inertias that "
        "no body can have, missing masses, limits, axes, friction, mimic joints, misspelt words, "
        "the condition of the mass matrix. Then compare the dynamics with pinocchio and, where "
        "they are installed, MuJoCo and Drake, and name the link and the term that one of them "
        "has otherwise. Exit code 0: no errors, though there may be warnings and notes; 1: "
        "errors, which are what this package refuses; 2: no such file, or it is no URDF."
    )
    command.epilog = examples(
        "manip_dyn check pa10",
        "manip_dyn check arm.urdf --quick",
        "manip_dyn check arm.urdf.xacro --xacro ur_type:=ur5e --json",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument(
        "--quick", action="store_true", help="compare equations that are not compiled"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    with told("checking"):
        found = check(options.robot, **loading(options), compiled=not options.quick)
    if options.json:
        print(json.dumps(found.content(), indent=2))
    else:
        _print(found)
    return DONE if found.success else FAILED


def _print(found: Inspection) -> None:
    rows, lines = [], grouped(found.findings)
    for finding, names in lines:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        part = finding.part + ("s" if len(names) > 1 else "")
        rows.append((finding.level, f"{part} {', '.join(names[:SHOWN])}{more}", finding.told))
    text = "".join(f"{level}: {where}: {what}\n" for level, where, what in rows)
    if rows:
        print_table(("level", "where", "what"), rows, lambda: text)
    peers = {each.peer: list[str]() for each in found.agreements}
    for each in found.agreements:
        if not each.holds:
            peers[each.peer].append(f"{each.quantity} {each.difference:.1g}")
    for peer, differing in peers.items():
        told = f"differs in {', '.join(differing)} (relative)" if differing else "agrees"
        print(f"{peer}: {told}")
    if found.condition is not None:
        print(f"condition number of the mass matrix: up to {found.condition:.2g}")
    print(f"{found.robot}: {counted([finding for finding, _ in lines])}")

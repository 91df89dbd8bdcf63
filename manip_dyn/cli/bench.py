"""`manip_dyn bench`: what this package takes, beside its peers."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from functools import partial
from pathlib import Path

from manip_dyn.bench import SUITES, bench
from manip_dyn.bench.record import clean_commit, keep, suite
from manip_dyn.bench.timing import setting
from manip_dyn.cli.options import DONE
from manip_dyn.cli.parser import add_topics, completed_by, examples
from manip_dyn.cli.terminal import told
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import load_robot

OF_ROBOTS = ("dynamics", "clik")
"""Suites that time any robot; the others have motions of their own."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    names = ", ".join(SUITES)
    command.description = (
        "Time this package beside the peers that are installed (pip install "
        "'manip_dyn[bench]'), in one process, in turn, and print medians and ratios. The suite "
        "'cold' needs no peers: it times first results, with nothing compiled yet."
    )
    command.epilog = examples("manip_dyn bench", "manip_dyn bench clik --robot pa10 --json")
    add_topics(command, {name: partial(_about, name) for name in SUITES})
    which = command.add_argument(
        "suite",
        nargs="?",
        default="dynamics",
        help=f"one of: {names} (default: dynamics); each tells by --help what it measures",
    )
    completed_by(which, lambda: SUITES)
    command.add_argument(
        "--robot",
        action="append",
        help="shipped robot or URDF; may be repeated "
        "(default: pa10, and the Panda of example-robot-data)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument(
        "--keep",
        metavar="FOLDER",
        help="keep the record of a clean commit in it, as SUITE-COMMIT.json (benchmarks/runs)",
    )
    command.set_defaults(run=_bench)


def _about(name: str) -> tuple[str, str]:
    """Return what a suite says of itself, and how it is called."""
    about = inspect.cleandoc(suite(name).__doc__ or "").partition(": ")[2]
    lines = [f"manip_dyn bench {name}", f"manip_dyn bench {name} --json"]
    if name in OF_ROBOTS:
        lines.append(f"manip_dyn bench {name} --robot my_arm.urdf")
    return about[:1].upper() + about[1:], examples(*lines)


def _bench(options: argparse.Namespace) -> int:
    name = options.suite
    if name not in SUITES:
        raise ManipDynError(f"there is no benchmark suite '{name}'{closest(name, SUITES)}")
    if options.robot and name not in OF_ROBOTS:
        raise ManipDynError(f"the suite '{name}' has robots of its own; expected no --robot")
    if options.keep:  # refused before minutes of measuring
        clean_commit(dict(setting(())))
        if options.robot:
            raise ManipDynError("--keep is for the usual robots; expected no --robot")
    robots = [load_robot(each) for each in options.robot or ()]
    with told(f"measuring {name}", writes=True):
        record = bench(name, robots) if robots else bench(name)
    print(json.dumps(record.content(), indent=2) if options.json else record)
    if options.keep:
        print(f"kept in {keep(record, Path(options.keep))}", file=sys.stderr)
    return DONE

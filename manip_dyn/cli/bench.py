"""`manip_dyn bench`: what this package takes, beside its peers."""

from __future__ import annotations

import argparse
import json

from manip_dyn.bench import SUITES, suite
from manip_dyn.bench.robots import usual_robots
from manip_dyn.cli.options import DONE
from manip_dyn.errors import ManipDynError, closest
from manip_dyn.robot import load_robot


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    names = ", ".join(SUITES)
    command.description = (
        "Time this package beside the peers that are installed (pip install "
        "'manip_dyn[bench]'), in one process, in turn, and print medians and ratios. The suite "
        "'cold' needs no peers: it times first results, with nothing compiled yet."
    )
    command.add_argument("suite", nargs="?", default="dynamics", help=f"one of: {names}")
    command.add_argument(
        "--robot", action="append", help="shipped robot or URDF; may be repeated "
        "(default: pa10, and the Panda of example-robot-data)",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    if options.suite not in SUITES:
        raise ManipDynError(
            f"there is no benchmark suite '{options.suite}'{closest(options.suite, SUITES)}"
        )
    bench = suite(options.suite)(*_timed_robots(options))
    print(json.dumps(bench.content(), indent=2) if options.json else bench)
    return DONE


def _timed_robots(options: argparse.Namespace) -> list:
    """Return what the suite takes: the integrators have motions of their own."""
    if options.suite in ("dynamics", "clik"):
        return [[load_robot(name) for name in options.robot] if options.robot else usual_robots()]
    if options.robot:
        raise ManipDynError(
            f"the suite '{options.suite}' has robots of its own; expected no --robot"
        )
    return []

"""The commands of `manip_dyn` that compare: methods, bench, study."""

from __future__ import annotations

import argparse
import json

from manip_dyn.bench import SUITES, usual_robots
from manip_dyn.errors import ManipDynError, closest
from manip_dyn.integrate.page import method_table
from manip_dyn.robot import load_robot
from manip_dyn.studies import PAPERS, study


def add_reports(commands) -> None:
    """Add the commands to a parser's subcommands."""
    _add_methods(commands)
    _add_bench(commands)
    _add_study(commands)


# ------------------------------------------------------------------------ methods
def _add_methods(commands) -> None:
    command = commands.add_parser(
        "methods",
        help="list the integration methods",
        description="List the integration methods: order, order of the solution they are compared "
        "with, evaluations per step, end of the real stability interval, source.",
    )
    command.set_defaults(run=_methods)


def _methods(_options: argparse.Namespace) -> int:
    print(method_table(), end="")
    return 0


# -------------------------------------------------------------------------- bench
def _add_bench(commands) -> None:
    names = ", ".join(SUITES)
    command = commands.add_parser(
        "bench",
        help="time this package beside its peers in one process",
        description="Time this package beside the peers that are installed (pip install "
        "'manip_dyn[bench]'), in one process, in turn, and print medians and ratios.",
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
    bench = SUITES[options.suite](*_timed_robots(options))
    print(json.dumps(bench.content(), indent=2) if options.json else bench)
    return 0


def _timed_robots(options: argparse.Namespace) -> list:
    """Return what the suite takes: the integrators have motions of their own."""
    if options.suite in ("dynamics", "clik"):
        return [[load_robot(name) for name in options.robot] if options.robot else usual_robots()]
    if options.robot:
        raise ManipDynError(
            f"the suite '{options.suite}' has robots of its own; expected no --robot"
        )
    return []


# -------------------------------------------------------------------------- study
def _add_study(commands) -> None:
    items = "; ".join(f"{name}: {', '.join(paper.items)}" for name, paper in PAPERS.items())
    command = commands.add_parser(
        "study",
        help="recompute a paper's tables and figures",
        description="Recompute a paper's tables and figures, published beside computed, and "
        f"judge its claims. Papers and their items: {items}.",
    )
    command.add_argument("paper", help=f"one of: {', '.join(PAPERS)}")
    command.add_argument("item", nargs="?", default="all", help="table or figure (default: all)")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--out", metavar="DIR", help="write PNG, SVG and CSV files into it")
    command.set_defaults(run=lambda o: study(o.paper, o.item, o.json, o.out))

"""`manip_dyn prepare`: everything compiled ahead, for images and CI."""

from __future__ import annotations

import argparse
import sys
import time

from manip_dyn.cli.options import DONE, add_robot, examples
from manip_dyn.cli.parser import completed_by
from manip_dyn.cli.terminal import Bar, is_terminal
from manip_dyn.core.cache.folder import cache_directory
from manip_dyn.core.interruptible import tidied
from manip_dyn.integration import METHODS
from manip_dyn.prepare import cores, count_jobs, prepare

ALL = "all"


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Compile ahead, on all cores, what commands, nodes and examples use, for the shipped "
        "robots and mechanisms or for the robots that are named: kernels, simulations (one or "
        "many, free and within limits, under efforts, gravity compensation and braking), "
        "tracking, plans, their execution and that of sweeps. All of it by RK4 with fixed steps, "
        "unless --method asks for others, too; arms of scenarios and examples by the methods of "
        "these. Not covered: minimum time of more than three joints, functions and paths of your "
        "own, simulations that end at a joint limit, 'export', 'study' and 'bench': these compile "
        "when they first run. It stays in the cache folder, MANIP_DYN_CACHE."
    )
    command.epilog = examples(
        "manip_dyn prepare",
        "manip_dyn prepare pa10 my_arm.urdf",
        "manip_dyn prepare pa10 --method rodas5p --method rkdp87",
        "manip_dyn prepare pa10 --method all",
    )
    add_robot(command, nargs="*")
    method = command.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME",
        help="also simulate and track by this integration method, with fixed steps and with "
        f"tolerances; may be repeated; '{ALL}': by each, a minute of CPU time for 7 joints",
    )
    completed_by(method, lambda: (ALL, *METHODS))
    command.add_argument(
        "--processes", type=int, default=0, help="0, the default: one for each core"
    )
    command.set_defaults(run=_prepare)


def _methods(names: list[str]) -> list[str]:
    """Return the methods that are asked for, each once and by its own name."""
    if ALL in names:
        names = [*METHODS]
    return [*dict.fromkeys(METHODS[each].name if each in METHODS else each for each in names)]


def _prepare(options: argparse.Namespace) -> int:
    with tidied():  # by default SIGTERM would end this process alone
        return _prepared(options)


def _prepared(options: argparse.Namespace) -> int:
    methods = _methods(options.method)
    began, count, every = time.monotonic(), 0, count_jobs(options.robot, methods)
    bar = Bar(f"{every} jobs") if is_terminal(sys.stdout) else None
    try:
        jobs = prepare(options.robot, options.processes, methods)
        for number, (job, seconds, refused) in enumerate(jobs, 1):
            note = f"   (not for this one: {refused})" if refused else ""
            what = f"{job.kind} {job.method}"
            print(f"{job.about:<22}{what:<28}{seconds:>7.1f} s{note}", flush=True)
            count += not refused
            if bar:
                bar(number / every)
    finally:
        if bar:
            bar.close()
    print(
        f"{count} jobs in {time.monotonic() - began:.0f} s on {options.processes or cores()} "
        f"core(s), the times above in CPU seconds; kept in {cache_directory()}"
    )
    return DONE

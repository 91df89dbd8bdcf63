"""`manip_dyn prepare`: everything compiled ahead, for images and CI."""

from __future__ import annotations

import argparse
import sys
import time

from manip_dyn.cli.options import DONE, add_robot, examples
from manip_dyn.cli.terminal import Bar, is_terminal
from manip_dyn.core.cache.folder import cache_directory
from manip_dyn.core.interruptible import tidied
from manip_dyn.prepare import cores, count_jobs, prepare


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Compile ahead, on all cores, what commands, nodes and examples use, for the shipped "
        "robots and mechanisms or for the robots that are named. It stays in the cache folder, "
        "MANIP_DYN_CACHE."
    )
    command.epilog = examples("manip_dyn prepare", "manip_dyn prepare pa10 my_arm.urdf")
    add_robot(command, nargs="*")
    command.add_argument(
        "--processes", type=int, default=0, help="0, the default: one for each core"
    )
    command.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> int:
    with tidied():  # by default SIGTERM would end this process alone
        return _prepared(options)


def _prepared(options: argparse.Namespace) -> int:
    began, count, every = time.monotonic(), 0, count_jobs(options.robot)
    bar = Bar(f"{every} jobs") if is_terminal(sys.stdout) else None
    try:
        jobs = prepare(options.robot, options.processes)
        for number, ((kind, about), seconds, refused) in enumerate(jobs, 1):
            note = f"   (not for this one: {refused})" if refused else ""
            print(f"{about:<22}{kind:<16}{seconds:>7.1f} s{note}", flush=True)
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

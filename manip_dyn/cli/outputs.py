"""What `plan`, `simulate` and `track` make beside what they print: pictures, tables, files."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from manip_dyn.cli.options import DONE
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

PERIOD = 0.01
"""Time between the rows of a plan, s; those of the others are their samples."""


def add_output_options(command: argparse.ArgumentParser) -> None:
    """Add where a result goes."""
    group = command.add_argument_group("files and views")
    group.add_argument("--plot", metavar="FILE", help="draw it into a PNG, SVG or PDF file")
    group.add_argument("--csv", metavar="FILE", help="write its samples into a CSV file")
    group.add_argument("--record", metavar="FILE", help="write it into an MCAP file")
    group.add_argument("--view", action="store_true", help="show it in the browser")


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse, before anything is computed, what could not be written.

    Raises:
        ManipDynError: With what to install.
    """
    if options.plot and not find_spec("matplotlib"):
        raise ManipDynError("--plot needs matplotlib; expected pip install 'manip_dyn[plot]'")
    if options.record and not (find_spec("mcap") and find_spec("rosbags")):
        raise ManipDynError(
            "--record needs mcap and rosbags; expected pip install 'manip_dyn[record]'"
        )
    if options.view:
        _viewer()


def write_csv(file: str, columns: Iterable[str], rows: Matrix) -> None:
    """Write numbers (m, k), as many digits as they have, under the names of the columns."""
    try:
        with open(file, "w", encoding="utf-8", newline="") as opened:
            table = csv.writer(opened, lineterminator="\n")
            table.writerow(columns)
            table.writerows(np.asarray(rows).tolist())
    except OSError as error:
        raise ManipDynError(f"table '{file}' cannot be written: {error.strerror}") from error


def motion_table(robot: Robot, t: Vector, **parts: Matrix) -> tuple[list[str], Matrix]:
    """Return columns and rows of times (m,) and parts (m, n) such as positions, by joint."""
    names = [f"{part}_{joint}" for part in parts for joint in robot.joint_names]
    return ["t", *names], np.column_stack([t, *parts.values()])


def save_and_view(options: argparse.Namespace, result: Any, robot: Robot) -> None:
    """Record a result and show it, if that is asked for."""
    if options.record:
        from manip_dyn.recording import record

        record(result, options.record, robot=robot)
    if options.view:
        view(result, robot=robot)


def view(result: Any, **about: Any) -> int:
    """Show a result or a recording in the browser until Ctrl-C.

    Raises:
        ManipDynError: If there is no viewer, or what it needs is not installed.
    """
    _viewer().view(result, **about)
    return DONE


def _viewer() -> Any:
    for module in ("manip_dyn.viewer", "viser"):
        if not find_spec(module):
            raise ManipDynError(f"the view needs {module}; expected pip install 'manip_dyn[view]'")
    return import_module("manip_dyn.viewer")

"""What `plan`, `simulate` and `track` make beside what they print: pictures, tables, files."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.cli.options import DONE
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.extras import check_installed
from manip_dyn.recording.recorder import check_new
from manip_dyn.robot import Robot

PICTURES = (".png", ".svg", ".pdf")
PERIOD = 0.01
"""Time between the rows of a plan, s; those of the others are their samples."""


def add_output_options(command: argparse.ArgumentParser) -> None:
    """Add where a result goes."""
    group = command.add_argument_group("files and views")
    group.add_argument("--plot", metavar="FILE", help="draw it into a PNG, SVG or PDF file")
    group.add_argument("--csv", metavar="FILE", help="write its samples into a CSV file")
    group.add_argument("--record", metavar="FILE", help="write it into a new MCAP file, FILE.mcap")
    group.add_argument("--view", action="store_true", help="show it in the browser")


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse, before anything is computed, what could not be written.

    Raises:
        ManipDynError: With what to install, or why a file cannot be written.
    """
    if options.plot:
        check_installed(("matplotlib",), "--plot needs", "plot")
    if options.plot and Path(options.plot).suffix.lower() not in PICTURES:
        raise ManipDynError(f"--plot is '{options.plot}'; expected a file {', '.join(PICTURES)}")
    if options.record:
        check_installed(("mcap", "rosbags"), "--record needs", "record")
        check_new(options.record)
    for name in ("plot", "csv", "record"):
        if getattr(options, name):
            check_place(f"--{name}", getattr(options, name))
    if options.view:
        _viewer()


def check_place(option: str, file: str) -> None:
    """Refuse a path where no file can be written; nothing is written yet."""
    path = Path(file)
    why = ""
    if path.is_dir():
        why = "it is a folder"
    elif not path.parent.is_dir():
        why = f"there is no folder '{path.parent}'"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        why = "Permission denied"
    if why:
        raise ManipDynError(f"{option} '{file}' cannot be written: {why}")


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
    check_installed(("viser",), "the view needs", "view")
    return import_module("manip_dyn.viewer")

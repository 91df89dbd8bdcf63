"""Output of results: pictures, CSV files, recordings and views in the browser."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.cli.collisions import scene_of
from manip_dyn.cli.parser import DONE
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import check_installed
from manip_dyn.recording.recorder import check_new
from manip_dyn.robot import Robot

PICTURES = (".png", ".svg", ".pdf")
PERIOD = 0.01
"""Maximum time between the CSV rows of a plan, s. Other results have one row per sample."""


def add_output_options(command: argparse.ArgumentParser) -> None:
    """Add the options for files and views to a command."""
    group = command.add_argument_group("files and views")
    group.add_argument("--plot", metavar="FILE", help="draw the result in a PNG, SVG or PDF file")
    group.add_argument("--csv", metavar="FILE", help="write the samples to a CSV file")
    group.add_argument("--record", metavar="FILE", help="write a new MCAP file, FILE.mcap")
    group.add_argument("--view", action="store_true", help="show the result in the browser")


def check_outputs(options: argparse.Namespace) -> None:
    """Check that all requested outputs are possible, before the computation starts.

    Raises:
        ManipDynError: If a library is missing, a file name has the wrong suffix, the file of a
            recording exists, or a file cannot be written.
    """
    if options.plot:
        check_installed(("matplotlib",), "--plot needs", "plot")
    if options.plot and Path(options.plot).suffix.lower() not in PICTURES:
        raise ManipDynError(f"--plot must end in {', '.join(PICTURES)}, got '{options.plot}'.")
    if options.record:
        check_installed(("mcap", "rosbags"), "--record needs", "record")
        check_new(options.record)
    for name in ("plot", "csv", "record"):
        if getattr(options, name):
            check_writable(f"--{name}", getattr(options, name))
    if options.view:
        _viewer()


def check_writable(option: str, file: str) -> None:
    """Check that a file can be written, without creating it.

    Raises:
        ManipDynError: If the path is a folder, its parent folder is missing, or the file (or the
            parent folder of a new file) is not writable.
    """
    path = Path(file)
    reason = ""
    if path.is_dir():
        reason = "it is a folder"
    elif not path.parent.is_dir():
        reason = f"there is no folder '{path.parent}'"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        reason = "Permission denied"
    if reason:
        raise ManipDynError(f"{option} '{file}' cannot be written: {reason}.")


def write_csv(file: str, columns: Iterable[str], rows: Matrix) -> None:
    """Write the names of k columns and their values `rows` (m, k) to a CSV file.

    An incomplete file is removed.

    Raises:
        ManipDynError: If the file cannot be written.
    """
    is_open = False
    try:
        with open(file, "w", encoding="utf-8", newline="") as stream:
            is_open = True
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(columns)
            table.writerows(np.asarray(rows).tolist())
    except OSError as error:
        if is_open and Path(file).is_file():
            Path(file).unlink()
        raise ManipDynError(f"table '{file}' cannot be written: {error.strerror}.") from error


def motion_table(robot: Robot, t: Vector, **quantities: Matrix) -> tuple[list[str], Matrix]:
    """Return the column names and the rows of a CSV file of a motion, with time first.

    Args:
        robot: The arm.
        t: Times (m,), s.
        **quantities: Joint quantities (m, n) by name, such as ``position``, which prefixes the
            names of the columns.
    """
    names = [f"{quantity}_{joint}" for quantity in quantities for joint in robot.joint_names]
    return ["t", *names], np.column_stack([t, *quantities.values()])


def save_and_view(options: argparse.Namespace, result: Any, robot: Robot) -> None:
    """Record a result and show it in the browser, if the options request it."""
    if options.record:
        from manip_dyn.recording import record

        record(result, options.record, robot=robot)
    if options.view:
        view(result, robot=robot, scene=scene_of(options))


def view(result: Any, **settings: Any) -> int:
    """Show a result or a recording in the browser until Ctrl-C; return the exit code `DONE`.

    Args:
        result: A result, as for `manip_dyn.viewer.view`.
        **settings: Keyword arguments of that function.

    Raises:
        ManipDynError: If viser is not installed, or the result cannot be shown.
    """
    viewer = _viewer()
    try:
        viewer.view(result, **settings)
    except KeyboardInterrupt:  # while the page is drawn
        print(flush=True)  # ends the line on which a terminal shows ^C
    return DONE


def _viewer() -> Any:
    check_installed(("viser",), "the view needs", "view")
    return import_module("manip_dyn.viewer")

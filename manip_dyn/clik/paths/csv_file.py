"""Paths from CSV files with the columns t, x, y, z, qx, qy, qz, qw."""

from __future__ import annotations

import csv
from pathlib import Path as File

import numpy as np

from manip_dyn.clik.paths.waypoints import Waypoints, ways_between
from manip_dyn.clik.task.pose import UNIT
from manip_dyn.core.checks import Vector, positive
from manip_dyn.core.errors import ManipDynError

COLUMNS = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")


def path_from_csv(
    file: str | File,
    *,
    ramp: float = 0.0,
    rounds: int = 1,
    max_linear_speed: float = 5.0,
    max_angular_speed: float = 20.0,
) -> Waypoints:
    """Return the smooth path through the poses of a CSV file.

    Each line is a time, s, a position in the base frame, m, and a quaternion; a first line with
    the names of the columns and lines that begin with # are skipped.

    Args:
        file: Name of the file.
        ramp: Duration of a smooth start and stop, s; 0: the times of the file.
        rounds: How often a closed path is run through.
        max_linear_speed: What is faster between two lines is a jump, m/s.
        max_angular_speed: The same for the orientation, rad/s.

    Raises:
        ManipDynError: Naming line and column of what cannot be read, of times that do not rise, of
            a quaternion that is not of length 1, and of a jump.
    """
    limits = (
        positive("max_linear_speed", max_linear_speed, "m/s"),
        positive("max_angular_speed", max_angular_speed, "rad/s"),
    )
    lines, rows = _read(File(file))
    _check_rows(file, lines, rows)
    poses = [(row[1:4], row[4:] / np.linalg.norm(row[4:])) for row in rows]
    from scipy.spatial.transform import Rotation  # slow to load

    ways = ways_between(rows[:, 1:4], Rotation.from_quat(rows[:, 4:]))
    _check_jumps(file, lines, rows[:, 0], ways, limits)
    return Waypoints(poses, rows[:, 0], ramp=ramp, rounds=rounds)


def _read(file: File) -> tuple[list[int], Vector]:
    """Return the numbers of the lines and what stands there (k, 8)."""
    lines: list[int] = []
    rows: list[list[float]] = []
    try:
        with file.open(newline="", encoding="utf-8") as text:
            for number, entries in enumerate(csv.reader(text), start=1):
                if not entries or entries[0].lstrip().startswith("#"):
                    continue
                if not rows and tuple(entry.strip() for entry in entries) == COLUMNS:
                    continue
                rows.append(_row(file, number, entries))
                lines.append(number)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ManipDynError(f"path file '{file}' cannot be read: {error}") from error
    if len(rows) < 2:
        raise ManipDynError(f"path file '{file}' has {len(rows)} poses; expected two or more")
    return lines, np.array(rows)


def _row(file: File, number: int, entries: list[str]) -> list[float]:
    if len(entries) != len(COLUMNS):
        raise ManipDynError(
            f"path file '{file}', line {number} has {len(entries)} columns; expected "
            f"{len(COLUMNS)}: {', '.join(COLUMNS)}"
        )
    row = []
    for name, entry in zip(COLUMNS, entries, strict=True):
        try:
            value = float(entry)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise ManipDynError(
                f"path file '{file}', line {number}, column {name} is '{entry.strip()}'; expected "
                "a finite number"
            )
        row.append(value)
    return row


def _check_rows(file: str | File, lines: list[int], rows: Vector) -> None:
    lengths = np.linalg.norm(rows[:, 4:], axis=1)
    for number, length in zip(lines, lengths, strict=True):
        if abs(length - 1.0) > UNIT:
            raise ManipDynError(
                f"path file '{file}', line {number}, columns qx to qw are a quaternion of length "
                f"{length:.4g}; expected 1"
            )
    for i in np.flatnonzero(np.diff(rows[:, 0]) <= 0.0)[:1]:
        raise ManipDynError(
            f"path file '{file}', line {lines[i + 1]}, column t is {rows[i + 1, 0]:g} after "
            f"{rows[i, 0]:g}; expected rising times"
        )


def _check_jumps(file, lines: list[int], times: Vector, ways, limits) -> None:
    kinds = zip(ways, limits, ("m", "rad"), ("x to z", "qx to qw"), strict=True)
    for step, limit, unit, columns in kinds:
        speeds = step / np.diff(times)
        for i in np.flatnonzero(speeds > limit)[:1]:
            raise ManipDynError(
                f"path file '{file}', line {lines[i + 1]}, columns {columns}: the path jumps by "
                f"{step[i]:.4g} {unit} in {times[i + 1] - times[i]:.4g} s; expected a continuous "
                f"path of at most {limit:g} {unit}/s"
            )

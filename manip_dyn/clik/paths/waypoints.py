"""Splines through waypoints: twice continuously differentiable in position and orientation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path as File
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import UNIT, checked_pose
from manip_dyn.clik.paths.path import SPLINE, Path, Timing
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

SPEED_BOUNDS = (100.0, 1000.0)
"""What is faster from one waypoint to the next is a jump, m/s and rad/s."""


class Waypoints(Path):
    """A smooth curve through poses: cubic splines for position and rotation (scipy's)."""

    def __init__(
        self,
        poses: Sequence[tuple[ArrayLike, ArrayLike]],
        times: ArrayLike | None = None,
        *,
        linear_speed: float = 0.1,
        angular_speed: float = 0.5,
        ramp: float = 1.0,
        rounds: int = 1,
    ):
        """Describe the curve in the base frame.

        Args:
            poses: Two or more of position (3,), m, and orientation: rotation matrix (3, 3) or
                quaternion (4,).
            times: When they are passed (k,), s, rising; a ramp delays them. Default: from the
                speeds along the straight lines between them.
            linear_speed: For the default times, m/s.
            angular_speed: For the default times, rad/s.
            ramp: Duration of the smooth start and of the stop, s; 0 for the bare times.
            rounds: How often a closed curve is run through.
        """
        checked = [checked_pose(f"waypoint {i}", pose) for i, pose in enumerate(poses, start=1)]
        if len(checked) < 2:
            raise ManipDynError(f"there are {len(checked)} waypoints; expected two or more")
        places = np.array([pose.position for pose in checked])
        from scipy.spatial.transform import Rotation  # slow to load

        rotations = Rotation.from_matrix(np.array([pose.rotation for pose in checked]))
        self.length, self.angle = displacements_between(places, rotations)
        if times is None:
            speeds = (
                positive("linear speed", linear_speed, "m/s"),
                positive("angular speed", angular_speed, "rad/s"),
            )
            passed = _default_times(self.length, self.angle, speeds)
        else:
            passed = _increasing(finite_vector("times", times, len(checked)))
            _check_jumps(passed, self.length, self.angle)
        closed = _is_closed(places, rotations)
        if not isinstance(rounds, int) or rounds < 1 or (rounds > 1 and not closed):
            raise ManipDynError(
                f"rounds is {rounds!r}; expected 1, or more where the last waypoint is the first"
            )
        self._set(passed - passed[0], places, rotations, closed, rounds, ramp)

    def _set(
        self,
        times: Vector,
        places: Vector,
        rotations: Rotation,
        closed: bool,
        rounds: int,
        ramp: float,
    ) -> None:
        one_round = float(times[-1])
        again = [times[1:] + lap * one_round for lap in range(1, rounds)]
        knots = np.concatenate([times, *again])
        order = [*range(len(times)), *(list(range(1, len(times))) * (rounds - 1))]
        along, turns = places[order], rotations[order]
        if closed:
            along[-1] = along[0]
        periodic = closed and len(along) > 3
        from scipy.interpolate import CubicSpline  # slow to load, and other paths need none
        from scipy.spatial.transform import RotationSpline

        position = CubicSpline(knots, along, bc_type="periodic" if periodic else "natural")
        rotation = RotationSpline(knots, turns)
        timing = Timing(1.0, ramp, float(knots[-1]))
        self.parameters = np.concatenate(
            [
                [SPLINE, *timing.numbers(), len(knots) - 1],
                knots,
                position.c.ravel(),
                rotation.interpolator.c.ravel(),
                turns.as_matrix()[:-1].ravel(),
            ]
        )
        self.duration = timing.duration
        self.period = one_round if closed else None
        self.settled = timing.ramp


def displacements_between(places: Vector, rotations: Rotation) -> tuple[Vector, Vector]:
    """Return distances, m, and angles, rad, from each waypoint to the next (k - 1,)."""
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return lengths, (rotations[:-1].inv() * rotations[1:]).magnitude()


def _default_times(lengths: Vector, angles: Vector, speeds: tuple[float, float]) -> Vector:
    spans = np.maximum(lengths / speeds[0], angles / speeds[1])
    if spans.min() < 1e-9:
        i = int(np.argmin(spans)) + 1
        raise ManipDynError(
            f"waypoints {i} and {i + 1} are the same pose; expected different ones"
        )
    return np.concatenate([[0.0], np.cumsum(spans)])


def _check_jumps(times: Vector, *steps: Vector) -> None:
    for step, limit, unit in zip(steps, SPEED_BOUNDS, ("m", "rad"), strict=True):
        for i in np.flatnonzero(step / np.diff(times) > limit)[:1]:
            raise ManipDynError(
                f"waypoints {i + 1} and {i + 2} are {step[i]:.4g} {unit} apart in "
                f"{times[i + 1] - times[i]:.4g} s; expected a continuous path of at most "
                f"{limit:g} {unit}/s"
            )


def _increasing(times: Vector) -> Vector:
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if falls.size:
        i = int(falls[0])
        raise ManipDynError(
            f"time {i + 2} is {times[i + 1]:g} s after {times[i]:g} s; expected rising times"
        )
    return times


def _is_closed(places: Vector, rotations: Rotation) -> bool:
    """Return whether the last waypoint is the first."""
    gap = float(np.linalg.norm(places[-1] - places[0]))
    return gap < 1e-9 and float((rotations[0].inv() * rotations[-1]).magnitude()) < 1e-7


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
    lines, rows = _read_rows(File(file))
    _check_rows(file, lines, rows)
    poses = [(row[1:4], row[4:] / np.linalg.norm(row[4:])) for row in rows]
    from scipy.spatial.transform import Rotation  # slow to load

    ways = displacements_between(rows[:, 1:4], Rotation.from_quat(rows[:, 4:]))
    _check_row_jumps(file, lines, rows[:, 0], ways, limits)
    return Waypoints(poses, rows[:, 0], ramp=ramp, rounds=rounds)


def _read_rows(file: File) -> tuple[list[int], Vector]:
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
                rows.append(_parsed_row(file, number, entries))
                lines.append(number)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ManipDynError(f"path file '{file}' cannot be read: {error}") from error
    if len(rows) < 2:
        raise ManipDynError(f"path file '{file}' has {len(rows)} poses; expected two or more")
    return lines, np.array(rows)


def _parsed_row(file: File, number: int, entries: list[str]) -> list[float]:
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


def _check_row_jumps(file, lines: list[int], times: Vector, ways, limits) -> None:
    kinds = zip(ways, limits, ("m", "rad"), ("x to z", "qx to qw"), strict=True)
    for step, limit, unit, columns in kinds:
        speeds = step / np.diff(times)
        for i in np.flatnonzero(speeds > limit)[:1]:
            raise ManipDynError(
                f"path file '{file}', line {lines[i + 1]}, columns {columns}: the path jumps by "
                f"{step[i]:.4g} {unit} in {times[i + 1] - times[i]:.4g} s; expected a continuous "
                f"path of at most {limit:g} {unit}/s"
            )

"""Splines through waypoints: twice continuously differentiable in position and orientation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path as File
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import UNIT, checked_pose
from manip_dyn.clik.paths.path import Path, Timing, evaluate_spline
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

SPEED_BOUNDS = (100.0, 1000.0)
"""Speeds between waypoints above which a motion is a jump, m/s and rad/s."""


class Waypoints(Path):
    """A smooth curve through poses: cubic splines for position and rotation (from SciPy)."""

    function = evaluate_spline

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
            poses: Two or more pairs of position (3,), m, and orientation: rotation matrix (3, 3)
                or quaternion (4,).
            times: Increasing times (k,) of the poses, s; a ramp delays them. Default: computed
                from the speeds and from the distances and angles between the poses.
            linear_speed: Linear speed for the default times, m/s.
            angular_speed: Angular speed for the default times, rad/s.
            ramp: Duration of the smooth start and of the stop, s; 0 for exact times.
            rounds: Number of laps of a closed curve.
        """
        checked = [checked_pose(f"waypoint {i}", pose) for i, pose in enumerate(poses, start=1)]
        if len(checked) < 2:
            raise ManipDynError(f"poses must be two or more waypoints, got {len(checked)}.")
        positions = np.array([pose.position for pose in checked])
        from scipy.spatial.transform import Rotation  # slow to load

        rotations = Rotation.from_matrix(np.array([pose.rotation for pose in checked]))
        self.length, self.angle = displacements_between(positions, rotations)
        if times is None:
            speeds = (
                positive("linear speed", linear_speed, "m/s"),
                positive("angular speed", angular_speed, "rad/s"),
            )
            knots = _default_times(self.length, self.angle, speeds)
        else:
            knots = _increasing(finite_vector("times", times, len(checked)))
            _check_jumps(knots, self.length, self.angle)
        closed = _is_closed(positions, rotations)
        if not isinstance(rounds, int) or rounds < 1 or (rounds > 1 and not closed):
            raise ManipDynError(
                "rounds must be 1, or an integer above 1 if the last waypoint equals the first, "
                f"got {rounds!r}."
            )
        self._set(knots - knots[0], positions, rotations, closed, rounds, ramp)

    def _set(
        self,
        times: Vector,
        positions: Vector,
        rotations: Rotation,
        closed: bool,
        rounds: int,
        ramp: float,
    ) -> None:
        lap_time = float(times[-1])
        further_laps = [times[1:] + lap * lap_time for lap in range(1, rounds)]
        knots = np.concatenate([times, *further_laps])
        order = [*range(len(times)), *(list(range(1, len(times))) * (rounds - 1))]
        points, turns = positions[order], rotations[order]
        if closed:
            points[-1] = points[0]
        periodic = closed and len(points) > 3
        from scipy.interpolate import CubicSpline  # slow to load, not used by other paths
        from scipy.spatial.transform import RotationSpline

        position = CubicSpline(knots, points, bc_type="periodic" if periodic else "natural")
        rotation = RotationSpline(knots, turns)
        timing = Timing(1.0, ramp, float(knots[-1]))
        self.parameters = np.concatenate(
            [
                [*timing.numbers(), len(knots) - 1],
                knots,
                position.c.ravel(),
                rotation.interpolator.c.ravel(),
                turns.as_matrix()[:-1].ravel(),
            ]
        )
        self.duration = timing.duration
        self.period = lap_time if closed else None
        self.settled = timing.ramp


def displacements_between(positions: Vector, rotations: Rotation) -> tuple[Vector, Vector]:
    """Return distances (k - 1,), m, and angles (k - 1,), rad, between consecutive waypoints."""
    lengths = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    return lengths, (rotations[:-1].inv() * rotations[1:]).magnitude()


def _default_times(lengths: Vector, angles: Vector, speeds: tuple[float, float]) -> Vector:
    spans = np.maximum(lengths / speeds[0], angles / speeds[1])
    if spans.min() < 1e-9:
        i = int(np.argmin(spans)) + 1
        raise ManipDynError(
            f"consecutive waypoints must differ, got the same pose for waypoints {i} and {i + 1}."
        )
    return np.concatenate([[0.0], np.cumsum(spans)])


def _check_jumps(times: Vector, *steps: Vector) -> None:
    for step, limit, unit in zip(steps, SPEED_BOUNDS, ("m", "rad"), strict=True):
        for i in np.flatnonzero(step / np.diff(times) > limit)[:1]:
            raise ManipDynError(
                f"waypoints must be at most {limit:g} {unit}/s apart, got {step[i]:.4g} {unit} in "
                f"{times[i + 1] - times[i]:.4g} s from waypoint {i + 1} to {i + 2}."
            )


def _increasing(times: Vector) -> Vector:
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if falls.size:
        i = int(falls[0])
        raise ManipDynError(
            f"times must increase, got {times[i]:g} s followed by {times[i + 1]:g} s."
        )
    return times


def _is_closed(positions: Vector, rotations: Rotation) -> bool:
    gap = float(np.linalg.norm(positions[-1] - positions[0]))
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

    The columns t, x, y, z, qx, qy, qz, qw contain a time in s, a position in m in the base frame,
    and a quaternion. Empty lines, lines that start with #, and a header with these names before
    the first pose are skipped.

    Args:
        file: Path of the file.
        ramp: Duration of a smooth start and stop, s; 0 for the times of the file.
        rounds: Number of laps of a closed path.
        max_linear_speed: Largest speed between two lines, m/s; a faster motion counts as a jump.
        max_angular_speed: Largest angular speed between two lines, rad/s.

    Raises:
        ManipDynError: If the file cannot be read or an argument is invalid. Also if an entry is
            not a number, times do not increase, the norm of a quaternion is not 1, or the path
            jumps; these messages contain line and column.
    """
    limits = (
        positive("max_linear_speed", max_linear_speed, "m/s"),
        positive("max_angular_speed", max_angular_speed, "rad/s"),
    )
    lines, rows = _read_rows(File(file))
    _check_rows(file, lines, rows)
    poses = [(row[1:4], row[4:] / np.linalg.norm(row[4:])) for row in rows]
    from scipy.spatial.transform import Rotation  # slow to load

    steps = displacements_between(rows[:, 1:4], Rotation.from_quat(rows[:, 4:]))
    _check_row_jumps(file, lines, rows[:, 0], steps, limits)
    return Waypoints(poses, rows[:, 0], ramp=ramp, rounds=rounds)


def _read_rows(file: File) -> tuple[list[int], Vector]:
    """Return the line numbers and the values (k, 8) of the data lines."""
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
        raise ManipDynError(f"path file '{file}' cannot be read: {error}.") from error
    if len(rows) < 2:
        raise ManipDynError(f"path file '{file}' must have two or more poses, got {len(rows)}.")
    return lines, np.array(rows)


def _parsed_row(file: File, number: int, entries: list[str]) -> list[float]:
    if len(entries) != len(COLUMNS):
        raise ManipDynError(
            f"path file '{file}', line {number} must have the columns {', '.join(COLUMNS)}, got "
            f"{len(entries)} columns."
        )
    row = []
    for name, entry in zip(COLUMNS, entries, strict=True):
        try:
            value = float(entry)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise ManipDynError(
                f"path file '{file}', line {number}, column {name} must be a finite number, got "
                f"'{entry.strip()}'."
            )
        row.append(value)
    return row


def _check_rows(file: str | File, lines: list[int], rows: Vector) -> None:
    lengths = np.linalg.norm(rows[:, 4:], axis=1)
    for number, length in zip(lines, lengths, strict=True):
        if abs(length - 1.0) > UNIT:
            raise ManipDynError(
                f"path file '{file}', line {number}, columns qx to qw must be a quaternion of "
                f"length 1, got length {length:.4g}."
            )
    for i in np.flatnonzero(np.diff(rows[:, 0]) <= 0.0)[:1]:
        raise ManipDynError(
            f"path file '{file}', line {lines[i + 1]}, column t must increase, got "
            f"{rows[i, 0]:g} followed by {rows[i + 1, 0]:g}."
        )


def _check_row_jumps(file, lines: list[int], times: Vector, steps, limits) -> None:
    kinds = zip(steps, limits, ("m", "rad"), ("x to z", "qx to qw"), strict=True)
    for step, limit, unit, columns in kinds:
        speeds = step / np.diff(times)
        for i in np.flatnonzero(speeds > limit)[:1]:
            raise ManipDynError(
                f"path file '{file}', line {lines[i + 1]}, columns {columns}: the path must be "
                f"continuous, at most {limit:g} {unit}/s, got a jump of {step[i]:.4g} {unit} in "
                f"{times[i + 1] - times[i]:.4g} s."
            )

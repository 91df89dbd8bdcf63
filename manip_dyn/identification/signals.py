"""Measured signals: logs in CSV files, zero-phase filters and derivatives."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from manip_dyn.core.checks import Array, Matrix, Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot


def from_csv(file: Path, robot: Robot) -> tuple[Vector, Matrix, Matrix]:
    """Return times (m,), positions (m, n) and efforts (m, n) of a file.

    They are its columns ``t``, ``position_JOINT`` and ``effort_JOINT``; others are left out.

    Raises:
        ManipDynError: If the file cannot be read, a column is missing, or an entry is no number.
    """
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            head, *rows = list(csv.reader(opened)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ManipDynError(f"log '{file}' cannot be read: {reason}") from error
    wanted = ["t", *(f"{part}_{j}" for part in ("position", "effort") for j in robot.joint_names)]
    for name in wanted:
        if name not in head:
            raise ManipDynError(f"log '{file}' has no column '{name}'{closest(name, head)}")
    places = [head.index(name) for name in wanted]
    numbers = []
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        try:
            numbers.append([float(row[k]) for k in places])
        except (ValueError, IndexError) as error:
            raise ManipDynError(
                f"log '{file}', line {line}: {error}; expected a number in each column"
            ) from error
    table = np.array(numbers).reshape(len(numbers), len(wanted))
    return table[:, 0], table[:, 1 : 1 + robot.n], table[:, 1 + robot.n :]


ORDER = 4
"""Of the Butterworth filter, which runs forwards and backwards."""
FEWEST = 30
"""Samples without which nothing is filtered."""


def evenly(t: Vector, *signals: Matrix) -> tuple[float, list[Matrix]]:
    """Return the period, s, and the signals (m, n) at even times, by linear interpolation.

    Raises:
        ManipDynError: If the times (m,) do not rise, or there are too few.
    """
    if len(t) < FEWEST:
        raise ManipDynError(f"the log has {len(t)} samples; expected {FEWEST} or more")
    steps = np.diff(t)
    if np.any(steps <= 0.0):
        at = int(np.argmin(steps))
        raise ManipDynError(f"t is {t[at]:g}, then {t[at + 1]:g} s; expected times that rise")
    period = float(t[-1] - t[0]) / (len(t) - 1)
    even = t[0] + period * np.arange(len(t))
    if np.abs(even - t).max() < 1e-6 * period:
        return period, list(signals)
    return period, [np.array([np.interp(even, t, x) for x in each.T]).T for each in signals]


def low_passed(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) without what is faster than `cutoff`, Hz, and without delay."""
    if cutoff >= 0.45 / period:
        return signal
    from scipy.signal import butter, sosfiltfilt  # loads slowly

    return sosfiltfilt(butter(ORDER, cutoff, fs=1.0 / period, output="sos"), signal, axis=0)


def rate(signal: Matrix, period: float) -> Matrix:
    """Return the time derivative of a signal (m, n): central differences of fourth order.

    At both ends, two samples each, those of `numpy.gradient`.
    """
    result = np.gradient(signal, period, axis=0, edge_order=2)
    inner = 8.0 * (signal[3:-1] - signal[1:-3]) - (signal[4:] - signal[:-4])
    result[2:-2] = inner / (12.0 * period)
    return result


def decimated(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) filtered, with as many samples as differ, without both ends.

    What is cut off is what a filter makes up there.
    """
    step = max(1, round(0.5 / (cutoff * period)))
    return without_ends(low_passed(signal, period, cutoff), period, cutoff)[::step]


def without_ends(signal: Array, period: float, cutoff: float) -> Array:
    """Return a filtered signal (m, ...) without two periods of `cutoff` at both ends."""
    if cutoff >= 0.45 / period:
        return signal[2 : len(signal) - 2]
    margin = min(len(signal) // 8, round(2.0 / (cutoff * period)))
    return signal[margin : len(signal) - margin]

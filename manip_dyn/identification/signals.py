"""Measured signals: logs in CSV files, zero-phase filters and derivatives."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from manip_dyn.core.checks import Array, Matrix, Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot


def from_csv(file: Path, robot: Robot) -> tuple[Vector, Matrix, Matrix]:
    """Return times (m,), positions (m, n) and efforts (m, n) of a CSV file.

    Its columns are ``t``, ``position_JOINT`` and ``effort_JOINT``; other columns are ignored.

    Raises:
        ManipDynError: If the file cannot be read, or lacks a column or a number.
    """
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            head, *rows = list(csv.reader(opened)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ManipDynError(f"log '{file}' cannot be read: {reason}") from error
    kinds = ("position", "effort")
    columns = ["t", *(f"{kind}_{joint}" for kind in kinds for joint in robot.joint_names)]
    for name in columns:
        if name not in head:
            raise ManipDynError(f"log '{file}' has no column '{name}'{closest(name, head)}")
    indices = [head.index(name) for name in columns]
    numbers = []
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        try:
            numbers.append([float(row[k]) for k in indices])
        except (ValueError, IndexError) as error:
            raise ManipDynError(
                f"log '{file}', line {line} must have a number in each column: {error}."
            ) from error
    table = np.array(numbers).reshape(len(numbers), len(columns))
    return table[:, 0], table[:, 1 : 1 + robot.n], table[:, 1 + robot.n :]


ORDER = 4
"""Order of the Butterworth filter, which runs forwards and backwards."""
MINIMUM_SAMPLES = 30


def evenly(t: Vector, *signals: Matrix) -> tuple[float, list[Matrix]]:
    """Return the sampling period, s, and signals (m, n) interpolated at uniform times.

    Raises:
        ManipDynError: If the times (m,) do not increase, or there are too few.
    """
    if len(t) < MINIMUM_SAMPLES:
        raise ManipDynError(f"log must have at least {MINIMUM_SAMPLES} samples, got {len(t)}.")
    steps = np.diff(t)
    if np.any(steps <= 0.0):
        k = int(np.argmin(steps))
        raise ManipDynError(f"t must increase, got {t[k]:g} s followed by {t[k + 1]:g} s.")
    period = float(t[-1] - t[0]) / (len(t) - 1)
    even = t[0] + period * np.arange(len(t))
    if np.abs(even - t).max() < 1e-6 * period:
        return period, list(signals)
    return period, [
        np.array([np.interp(even, t, column) for column in signal.T]).T for signal in signals
    ]


def low_passed(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) after a zero-phase low-pass filter with `cutoff`, Hz."""
    if cutoff >= 0.45 / period:
        return signal
    from scipy.signal import butter, sosfiltfilt  # slow to import

    return sosfiltfilt(butter(ORDER, cutoff, fs=1.0 / period, output="sos"), signal, axis=0)


def rate(signal: Matrix, period: float) -> Matrix:
    """Return the time derivative of a signal (m, n) by central differences of fourth order.

    The two samples at either end are those of `numpy.gradient`.
    """
    result = np.gradient(signal, period, axis=0, edge_order=2)
    inner = 8.0 * (signal[3:-1] - signal[1:-3]) - (signal[4:] - signal[:-4])
    result[2:-2] = inner / (12.0 * period)
    return result


def decimated(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) low-passed and downsampled, without the filter's end effects."""
    step = max(1, round(0.5 / (cutoff * period)))
    return without_ends(low_passed(signal, period, cutoff), period, cutoff)[::step]


def without_ends(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) without two periods of `cutoff` at both ends."""
    if cutoff >= 0.45 / period:
        return signal[2 : len(signal) - 2]
    margin = min(len(signal) // 8, round(2.0 / (cutoff * period)))
    return signal[margin : len(signal) - margin]

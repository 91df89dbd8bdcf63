"""Trajectory of an extremal: sampled states and costates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Matrix, Tensor, Vector

SAMPLES = 16
"""Number of samples per arc; cubic interpolation adds three values between two samples."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A sampled motion with costates.

    Attributes:
        times: Sample times (k,), s, including both ends of every arc.
        arcs: Arc of each sample (k,).
        states: (q, v, p) at the samples (k, 4 n).
        switching: Switching functions (k, n).
        slopes: Rates of the switching functions (k, n), 1/s.
        hamiltonians: H (k,).
        normalized_efforts: Normalized efforts (k, n) between the limits; 1 for full efforts.
        forces: Contributions of the limits to -p_v' (k, n).
        strengths: Decrease of S'' by the full effort (k,) on singular arcs; 0 elsewhere.
    """

    times: Vector
    arcs: Vector
    states: Tensor
    switching: Matrix
    slopes: Matrix
    hamiltonians: Vector
    normalized_efforts: Matrix
    forces: Matrix
    strengths: Vector


def refined_samples(along: Trajectory) -> NDArray[np.int64]:
    """Return the index of the sample at or before each value of `refined`."""
    return np.append(np.repeat(np.arange(len(along.times) - 1), 4), len(along.times) - 1)


def refined_arcs(along: Trajectory) -> NDArray[np.int64]:
    """Return the arc of each value of `refined`."""
    return along.arcs[refined_samples(along)].astype(np.int64)


def refined(along: Trajectory, joint: int) -> tuple[Vector, Vector]:
    """Return times and values of a switching function, with three values between two samples.

    Values between samples are interpolated by cubics through values and slopes.
    """
    t, s, r = along.times, along.switching[:, joint], along.slopes[:, joint]
    h = np.diff(t)[:, None]
    z = np.array([0.0, 0.25, 0.5, 0.75])
    cubic = (
        (1 + 2 * z) * (1 - z) ** 2 * s[:-1, None]
        + z * (1 - z) ** 2 * h * r[:-1, None]
        + z**2 * (3 - 2 * z) * s[1:, None]
        + z**2 * (z - 1) * h * r[1:, None]
    )
    times = t[:-1, None] + z * h
    return np.append(times.ravel(), t[-1]), np.append(cubic.ravel(), s[-1])

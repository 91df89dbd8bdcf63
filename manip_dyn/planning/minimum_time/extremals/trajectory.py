"""Trajectory of an extremal: its motion with costates at samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Matrix, Tensor, Vector

SAMPLES = 16
"""Samples per arc; cubic interpolation adds three values between any two of them."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion with costates at samples.

    Attributes:
        times: Sample times (k,), s, including both ends of every arc.
        arcs: The arc of each sample (k,).
        states: (q, v, p) at the samples (k, 4 n).
        switching: Switching functions (k, n).
        slopes: Their rates (k, n), 1/s.
        hamiltonians: H (k,).
        normalized_efforts: Efforts over their limits (k, n) where they lie between them, else 1.
        forces: Contributions of the limits to -p_v' (k, n).
        strengths: Decrease of S'' by the full effort (k,) on singular arcs, else 0.
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
    """Return the sample before or at each value of `refined`."""
    return np.append(np.repeat(np.arange(len(along.times) - 1), 4), len(along.times) - 1)


def refined_arcs(along: Trajectory) -> NDArray[np.int64]:
    """Return the arc of each value of `refined`."""
    return along.arcs[refined_samples(along)].astype(np.int64)


def refined(along: Trajectory, joint: int) -> tuple[Vector, Vector]:
    """Return times and values of a switching function, with three values between any two samples.

    The values between samples are on the cubic through values and slopes.
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

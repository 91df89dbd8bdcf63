"""Lissajous figures."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.path import Path, harmonic
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import checked_rotation
from manip_dyn.errors import ManipDynError
from manip_dyn.validate import finite_vector, positive


class Lissajous(Path):
    """Harmonic motions along three axes, p_i = c_i + a_i sin(f_i s + g_i), s = 2 pi per period."""

    def __init__(
        self,
        center: ArrayLike,
        amplitudes: ArrayLike,
        frequencies: ArrayLike,
        rotation: ArrayLike,
        period: float = 20.0,
        *,
        phases: ArrayLike = (0.0, 0.0, 0.0),
        axes: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ramp: float = 1.0,
        rounds: float | None = None,
    ):
        """Describe the figure in the base frame.

        Args:
            center: c (3,), m.
            amplitudes: a (3,), m.
            frequencies: f (3,), whole numbers: oscillations per period.
            rotation: Orientation of the tool, rotation matrix (3, 3) or quaternion (4,).
            period: Time of one lap, s.
            phases: g (3,), rad.
            axes: Directions of the three motions, the columns of a rotation matrix (3, 3).
            ramp: Duration of the smooth start (and stop, if there is an end), s.
            rounds: After how many to stop; default: never.
        """
        middle = finite_vector("lissajous center", center, 3)
        sizes = finite_vector("lissajous amplitudes", amplitudes, 3)
        counts = finite_vector("lissajous frequencies", frequencies, 3)
        shifts = finite_vector("lissajous phases", phases, 3)
        columns = checked_rotation("lissajous axes", axes)
        if np.any(counts != np.round(counts)) or not np.any(counts * sizes):
            raise ManipDynError(
                f"lissajous frequencies are {counts.tolist()} with amplitudes {sizes.tolist()}; "
                "expected whole numbers that give a motion"
            )
        end = inf if rounds is None else 2.0 * np.pi * positive("rounds", rounds)
        self.period = positive("period", period, "s")
        timing = Timing(2.0 * np.pi / self.period, ramp, end)
        self.parameters = harmonic(
            timing,
            middle,
            checked_rotation("tool rotation", rotation),
            waves=[
                (size * column, count, shift)
                for size, column, count, shift in zip(
                    sizes, columns.T, counts, shifts, strict=True
                )
            ],
        )
        self.settled = timing.ramp
        self.duration = timing.time_at(2.0 * np.pi) if rounds is None else timing.duration

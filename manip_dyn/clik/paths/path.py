"""What a path is: numbers and a compiled function that turns them into pose and twist."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.evaluate import HARMONIC, evaluate
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import DESIRED, ROTATION, TWIST, Pose
from manip_dyn.core.checks import Vector


class Path:
    """Where the tool should be; frames as in `clik.task.pose`.

    A path of your own is a subclass that sets `parameters`, `duration` and `function`: a global
    function compiled by numba, ``function(t, parameters, out)``, which writes position (3),
    rotation matrix by rows (9) and twist (6) at time t into `out`::

        class Mine(md.Path):
            function = my_function

            def __init__(self):
                self.parameters, self.duration = np.array([0.1]), 5.0

    Attributes:
        parameters: Numbers of the path.
        duration: Time from start to end, or of one lap, s; infinite without either.
        period: Time of one lap at full speed, s; None if there are no laps.
        settled: When the path has come up to speed, s.
        function: The compiled function.
    """

    parameters: Vector
    duration: float = inf
    period: float | None = None
    settled: float = 0.0
    function: Callable[..., None] = staticmethod(evaluate)

    def __init_subclass__(cls) -> None:
        """Keep Python from handing the path itself to its function as the first argument."""
        own = vars(cls).get("function")
        if callable(own) and not isinstance(own, staticmethod):
            cls.function = staticmethod(own)

    def pose(self, t: float) -> Pose:
        """Return the desired pose at time `t` in s."""
        out = self._at(t)
        return Pose(out[:ROTATION].copy(), out[ROTATION:TWIST].reshape(3, 3).copy())

    def twist(self, t: float) -> Vector:
        """Return the desired linear and angular velocity (6,), base frame, m/s and rad/s."""
        return self._at(t)[TWIST:].copy()

    def _at(self, t: float) -> Vector:
        out = np.empty(DESIRED)
        self.function(float(t), self.parameters, out)
        return out


def harmonic(
    timing: Timing,
    center: ArrayLike,
    rotation: ArrayLike,
    slope: ArrayLike = (0.0, 0.0, 0.0),
    waves: Any = (),
    turn: ArrayLike = (0.0, 0.0, 0.0),
) -> Vector:
    """Return the parameters of a harmonic curve, see `evaluate`.

    Args:
        timing: Its timing law.
        center: c (3,), m.
        rotation: R_0 (3, 3).
        slope: d (3,), m per s.
        waves: Up to three of amplitude (3,) in m, frequency, phase in rad.
        turn: w (3,), rad per s.
    """
    amplitudes, frequencies, phases = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for j, (amplitude, frequency, phase) in enumerate(waves):
        amplitudes[j], frequencies[j], phases[j] = amplitude, frequency, phase
    parts = (slope, amplitudes, frequencies, phases, turn, rotation)
    head = [HARMONIC, *timing.numbers(), *np.ravel(center)]
    return np.concatenate([head, *map(np.ravel, parts)])

"""Paths of the tool: parameters and a compiled function that computes pose and twist over time.

A path is a geometric curve s -> pose with a timing law s(t).

Timing. Over a ramp of T seconds the speed ds/dt rises as 10 u^3 - 15 u^4 + 6 u^5 with u = t / T.
The first two derivatives of this quintic blend are zero at both ends (Biagiotti, Melchiorri,
Trajectory Planning for Automatic Machines and Robots, section 2.1.5). Then the speed is constant.
At the end it falls along the same curve. If there is no ramp, the speed is constant from the
start, as on the circle of Sariyildiz et al. (2011).

A path is an array of numbers and a compiled function, which is called by its address, so one
compiled loop follows all kinds of paths. The numbers are the timing (cruise, ramp, end, duration),
followed by the curve:

    harmonic  p = c + d s + sum_j a_j sin(f_j s + g_j), R = exp(w s) R_0: c, d, a_1, a_2, a_3
              (3 numbers each), f, g (3), w (3), R_0 by rows (9). Lines, circles, Lissajous figures
              and moving points have this form exactly.
    spline    m segments: m, knots (m + 1), coefficients of the position (4, m, 3) and of the
              rotation vector (4, m, 3), highest power first, rotation matrices R_i at the starts
              of the segments (m, 9); within a segment R = R_i exp(cubic).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, inf, isinf, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import DESIRED, ROTATION, TWIST, Pose
from manip_dyn.core.checks import Vector, not_negative, positive
from manip_dyn.core.compiled import compiled, inlined


@dataclass(frozen=True)
class Timing:
    """Timing law s(t) of a path.

    Attributes:
        rate: ds/dt between the ramps.
        ramp: Duration of the smooth start and of the stop, s; 0 for none.
        end: Value of s at the end; infinite for an endless path.
    """

    rate: float
    ramp: float = 0.0
    end: float = inf

    def __post_init__(self) -> None:
        """Check rate and ramp."""
        positive("rate", self.rate)
        not_negative("ramp", self.ramp, "s")

    @property
    def cruise(self) -> float:
        """Largest ds/dt: less than `rate` if the path is shorter than its ramps."""
        return min(self.rate, self.end / self.ramp) if self.ramp > 0.0 else self.rate

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return inf if isinf(self.end) else self.end / self.cruise + self.ramp

    def time_at(self, s: float) -> float:
        """Return the time (s) at which the path reaches a value `s` between its ramps."""
        return s / self.cruise + 0.5 * self.ramp

    def numbers(self) -> list[float]:
        """Return the arguments of `progress` after `t`: cruise, ramp, end and duration."""
        return [self.cruise, self.ramp, self.end, self.duration]


CURVE = 4
"""Offset of the curve in the parameters of a path."""


@compiled(short=True)
def evaluate_harmonic(t, p, out):
    """Write pose and twist of a harmonic path at time `t` (s) into `out` (18,), see `poses`."""
    s, speed = progress(t, p[0], p[1], p[2], p[3])
    for i in range(3):
        position, slope = p[CURVE + i] + p[CURVE + 3 + i] * s, p[CURVE + 3 + i]
        out[i], out[TWIST + i] = position, slope * speed
    for j in range(3):
        frequency = p[CURVE + 15 + j]
        angle = frequency * s + p[CURVE + 18 + j]
        sine, slope = sin(angle), cos(angle) * frequency * speed
        for i in range(3):
            amplitude = p[CURVE + 6 + 3 * j + i]
            out[i] += amplitude * sine
            out[TWIST + i] += amplitude * slope
    x, y, z = p[CURVE + 21], p[CURVE + 22], p[CURVE + 23]
    _write_rotation(x * s, y * s, z * s, p, CURVE + 24, True, out)
    out[TWIST + 3], out[TWIST + 4], out[TWIST + 5] = x * speed, y * speed, z * speed


@compiled(short=True)
def evaluate_spline(t, p, out):
    """Write pose and twist of a spline path at time `t` (s) into `out` (18,), see `poses`."""
    s, speed = progress(t, p[0], p[1], p[2], p[3])
    count = int(p[CURVE])
    knots = CURVE + 1
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if p[knots + middle] <= s:
            low = middle
        else:
            high = middle
    u = s - p[knots + low]
    position = knots + count + 1 + 3 * low
    turn = position + 12 * count
    rotation = knots + count + 1 + 24 * count + 9 * low
    stride = 3 * count
    for i in range(3):
        value, slope = _cubic(p, position + i, stride, u)
        out[i], out[TWIST + i] = value, slope * speed
    x, dx = _cubic(p, turn, stride, u)
    y, dy = _cubic(p, turn + 1, stride, u)
    z, dz = _cubic(p, turn + 2, stride, u)
    _write_rotation(x, y, z, p, rotation, False, out)
    # Angular velocity in the tool's axes, w = J_r(r) r', then rotated into the base frame.
    _, b, c = _rotation_factors(x * x + y * y + z * z)
    ax, ay, az = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    wx = dx - b * ax + c * (y * az - z * ay)
    wy = dy - b * ay + c * (z * ax - x * az)
    wz = dz - b * az + c * (x * ay - y * ax)
    for i in range(3):
        row = ROTATION + 3 * i
        out[TWIST + 3 + i] = speed * (out[row] * wx + out[row + 1] * wy + out[row + 2] * wz)


@inlined
def _cubic(p, first, stride, u):
    """Return value and slope at `u` of a cubic with coefficients `stride` entries apart."""
    a, b, c, d = p[first], p[first + stride], p[first + 2 * stride], p[first + 3 * stride]
    return d + u * (c + u * (b + u * a)), c + u * (2.0 * b + 3.0 * u * a)


@inlined
def _rotation_factors(squared):
    """Return sin(x)/x, (1 - cos x)/x^2 and (x - sin x)/x^3 as functions of x^2."""
    if squared < 1e-2:
        a = 1.0 - squared / 6.0 * (1.0 - squared / 20.0 * (1.0 - squared / 42.0))
        b = 0.5 - squared / 24.0 * (1.0 - squared / 30.0 * (1.0 - squared / 56.0))
        c = 1.0 / 6.0 - squared / 120.0 * (1.0 - squared / 42.0 * (1.0 - squared / 72.0))
        return a, b, c
    angle = sqrt(squared)
    a = sin(angle) / angle
    return a, (1.0 - cos(angle)) / squared, (1.0 - a) / squared


@inlined
def _write_rotation(x, y, z, p, first, before, out):
    """Write exp(r) R if `before`, else R exp(r), with r = (x, y, z) and R = p[first:]."""
    a, b, _ = _rotation_factors(x * x + y * y + z * z)
    sign = 1.0 if before else -1.0
    # Rows of exp(r), or of its transpose.
    e = (
        (1.0 - b * (y * y + z * z), b * x * y - sign * a * z, b * x * z + sign * a * y),
        (b * x * y + sign * a * z, 1.0 - b * (x * x + z * z), b * y * z - sign * a * x),
        (b * x * z - sign * a * y, b * y * z + sign * a * x, 1.0 - b * (x * x + y * y)),
    )
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                if before:
                    total += e[i][k] * p[first + 3 * k + j]
                else:
                    total += p[first + 3 * i + k] * e[j][k]
            out[ROTATION + 3 * i + j] = total


@inlined
def progress(t, cruise, ramp, end, duration):
    """Return the path parameter s and ds/dt at time `t` (s)."""
    if t > duration * (1.0 + 1e-12):
        return end, 0.0
    if ramp == 0.0:
        s = cruise * t
        return (s if s < end else end), cruise
    if t <= 0.0:
        return 0.0, 0.0
    if t < ramp:
        length, speed = _unit_ramp(t / ramp)
        return cruise * ramp * length, cruise * speed
    if t <= duration - ramp:
        return cruise * (t - 0.5 * ramp), cruise
    length, speed = _unit_ramp((duration - t if t < duration else 0.0) / ramp)
    return end - cruise * ramp * length, cruise * speed


@inlined
def _unit_ramp(u):
    """Return distance and speed at u (0 to 1) of a smooth quintic start from speed 0 to 1."""
    cube = u * u * u
    return cube * u * (2.5 + u * (u - 3.0)), cube * (10.0 + u * (6.0 * u - 15.0))


class Path:
    """Desired pose and twist of the tool over time; frames as in `clik.law.poses`.

    A user-defined path is a subclass that sets `parameters`, `duration` and `function`: a global
    function compiled by numba, ``function(t, parameters, out)``, which writes position (3),
    rotation matrix by rows (9) and twist (6) at time t into `out`::

        class MyPath(md.Path):
            function = my_function

            def __init__(self):
                self.parameters, self.duration = np.array([0.1]), 5.0

    Attributes:
        parameters: Parameters of `function`.
        duration: Time from start to end, or of one lap, s; infinite if the path has neither.
        period: Time of one lap at full speed, s; None for paths without laps.
        settled: Time at which the path reaches its full speed, s.
        function: Compiled function that evaluates the path.
    """

    parameters: Vector
    duration: float = inf
    period: float | None = None
    settled: float = 0.0
    function: Callable[..., None] = staticmethod(evaluate_harmonic)

    def __init_subclass__(cls) -> None:
        """Make `function` a static method, so that it is called without the path."""
        function = vars(cls).get("function")
        if callable(function) and not isinstance(function, staticmethod):
            cls.function = staticmethod(function)

    def pose(self, t: float) -> Pose:
        """Return the desired pose at time `t` (s)."""
        out = self._at(t)
        return Pose(out[:ROTATION].copy(), out[ROTATION:TWIST].reshape(3, 3).copy())

    def twist(self, t: float) -> Vector:
        """Return the desired twist (6,) at time `t` (s), in m/s and rad/s in the base frame."""
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
    """Return the parameters of a harmonic path, see the module docstring.

    Args:
        timing: Timing law of the curve.
        center: Centre c (3,), m.
        rotation: Initial rotation R_0 (3, 3).
        slope: Displacement d (3,), m, per unit of the path parameter.
        waves: Up to three tuples of amplitude (3,), m, frequency, and phase, rad.
        turn: Rotation vector w (3,), rad, per unit of the path parameter.
    """
    amplitudes, frequencies, phases = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for j, (amplitude, frequency, phase) in enumerate(waves):
        amplitudes[j], frequencies[j], phases[j] = amplitude, frequency, phase
    parts = (slope, amplitudes, frequencies, phases, turn, rotation)
    head = [*timing.numbers(), *np.ravel(center)]
    return np.concatenate([head, *map(np.ravel, parts)])

"""Pose and twist of a path in compiled code: a timing law, then one of two kinds of curve.

A path is an array of numbers, so that one compiled loop follows all of them:

    0       kind: HARMONIC or SPLINE
    1..4    timing: cruise, ramp, end, duration, see `timing`
    5..     the curve

    HARMONIC  p = c + d s + sum_j a_j sin(f_j s + g_j), R = exp(w s) R_0: c, d, a_1, a_2, a_3
              (3 numbers each), f, g (3), w (3), R_0 by rows (9). Lines, circles, Lissajous figures
              and points that move are of this kind, and exact.
    SPLINE    m pieces: m, knots (m + 1), coefficients of the position (4, m, 3) and of the
              rotation vector (4, m, 3), highest power first, rotations at the knots (m, 9);
              within a piece R = R_i exp(cubic).
"""

from __future__ import annotations

from math import cos, sin, sqrt

from manip_dyn.clik.task.pose import ROTATION, TWIST
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.compiled.late import late

HARMONIC, SPLINE = 0.0, 1.0
CURVE = 5
"""Where the numbers of the curve begin."""


@compiled(short=True)
def evaluate(t, parameters, out):
    """Write pose and twist at time `t`, s, into `out` (18,), see `clik.task.pose`."""
    s, speed = progress(t, parameters[1], parameters[2], parameters[3], parameters[4])
    if parameters[0] == HARMONIC:
        _harmonic(s, speed, parameters, out)
    else:
        _spline(s, speed, parameters, out)


@inlined
def _harmonic(s, speed, p, out):
    for i in range(3):
        place, slope = p[CURVE + i] + p[CURVE + 3 + i] * s, p[CURVE + 3 + i]
        out[i], out[TWIST + i] = place, slope * speed
    for j in range(3):
        frequency = p[CURVE + 15 + j]
        angle = frequency * s + p[CURVE + 18 + j]
        sine, slope = sin(angle), cos(angle) * frequency * speed
        for i in range(3):
            amplitude = p[CURVE + 6 + 3 * j + i]
            out[i] += amplitude * sine
            out[TWIST + i] += amplitude * slope
    x, y, z = p[CURVE + 21], p[CURVE + 22], p[CURVE + 23]
    _write_turned(x * s, y * s, z * s, p, CURVE + 24, True, out)
    out[TWIST + 3], out[TWIST + 4], out[TWIST + 5] = x * speed, y * speed, z * speed


@late
def _spline(s, speed, p, out):
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
        place, slope = _cubic(p, position + i, stride, u)
        out[i], out[TWIST + i] = place, slope * speed
    x, dx = _cubic(p, turn, stride, u)
    y, dy = _cubic(p, turn + 1, stride, u)
    z, dz = _cubic(p, turn + 2, stride, u)
    _write_turned(x, y, z, p, rotation, False, out)
    # Angular velocity in the tool's axes, w = J_r(r) r', and turned into the base frame.
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
    """Return value and slope of a cubic whose coefficients are `stride` apart."""
    a, b, c, d = p[first], p[first + stride], p[first + 2 * stride], p[first + 3 * stride]
    return d + u * (c + u * (b + u * a)), c + u * (2.0 * b + 3.0 * u * a)


@inlined
def _rotation_factors(squared):
    """Return sin(x)/x, (1 - cos x)/x^2 and (x - sin x)/x^3 for x^2, by series where x is small."""
    if squared < 1e-2:
        a = 1.0 - squared / 6.0 * (1.0 - squared / 20.0 * (1.0 - squared / 42.0))
        b = 0.5 - squared / 24.0 * (1.0 - squared / 30.0 * (1.0 - squared / 56.0))
        c = 1.0 / 6.0 - squared / 120.0 * (1.0 - squared / 42.0 * (1.0 - squared / 72.0))
        return a, b, c
    angle = sqrt(squared)
    a = sin(angle) / angle
    return a, (1.0 - cos(angle)) / squared, (1.0 - a) / squared


@inlined
def _write_turned(x, y, z, p, first, before, out):
    """Write exp(r) R or, if not `before`, R exp(r), with r = (x, y, z) and R = p[first:]."""
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
    """Return s and ds/dt at time `t`, s."""
    if t > duration * (1.0 + 1e-12):
        return end, 0.0
    if ramp == 0.0:
        s = cruise * t
        return (s if s < end else end), cruise
    if t <= 0.0:
        return 0.0, 0.0
    if t < ramp:
        length, speed = _ramp(t / ramp)
        return cruise * ramp * length, cruise * speed
    if t <= duration - ramp:
        return cruise * (t - 0.5 * ramp), cruise
    length, speed = _ramp((duration - t if t < duration else 0.0) / ramp)
    return end - cruise * ramp * length, cruise * speed


@inlined
def _ramp(u):
    """Return the length and the speed of the unit ramp at u in 0..1."""
    cube = u * u * u
    return cube * u * (2.5 + u * (u - 3.0)), cube * (10.0 + u * (6.0 * u - 15.0))

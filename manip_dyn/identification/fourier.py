"""Periodic motions as finite Fourier series, which begin and end at rest.

Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), Optimal robot excitation and
identification, eq. 11; velocities and accelerations are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector


class Fourier(NamedTuple):
    """Joint motions q_j(t) = center_j + sum_l a_jl sin(l w t) / (l w) - b_jl cos(l w t) / (l w).

    Attributes:
        center: (n,), rad or m.
        a: Velocities in phase, (n, harmonics), rad/s or m/s.
        b: Velocities out of phase, (n, harmonics), rad/s or m/s.
        period: s.
    """

    center: Vector
    a: Matrix
    b: Matrix
    period: float

    def at(self, t: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (m, n) at the times (m,)."""
        rates = 2.0 * np.pi / self.period * np.arange(1, self.a.shape[1] + 1)
        phases = np.multiply.outer(t, rates)
        sines, cosines = np.sin(phases), np.cos(phases)
        q = self.center + sines @ (self.a / rates).T - cosines @ (self.b / rates).T
        v = cosines @ self.a.T + sines @ self.b.T
        gain = cosines @ (self.b * rates).T - sines @ (self.a * rates).T
        return q, v, gain

    def within(self, low: Vector, high: Vector, fastest: Vector, samples: Vector) -> Fourier:
        """Return it about the middle of its range, as wide as positions and speeds allow.

        Args:
            low: Lower positions (n,).
            high: Upper positions (n,).
            fastest: Largest speeds (n,).
            samples: Times (m,) at which the limits are looked at.
        """
        q, v, _ = self._replace(center=np.zeros(len(low))).at(samples)
        top, bottom = q.max(axis=0), q.min(axis=0)
        scale = np.minimum(
            (high - low) / np.maximum(top - bottom, 1e-12),
            fastest / np.maximum(np.abs(v).max(axis=0), 1e-12),
        )[:, None]
        center = 0.5 * (low + high) - 0.5 * scale[:, 0] * (top + bottom)
        return Fourier(center, scale * self.a, scale * self.b, self.period)


def series(shape: Vector, joints: int, period: float) -> Fourier:
    """Return a series about zero by free numbers (2 joints harmonics,): at rest at both ends."""
    a, b = shape.reshape(2, joints, -1)
    orders = np.arange(1, a.shape[1] + 1)
    a = a - a.mean(axis=1, keepdims=True)  # the sum of a is the first velocity
    b = b - np.outer(b @ orders, orders) / (orders @ orders)  # and of l b the acceleration
    return Fourier(np.zeros(joints), a, b, period)

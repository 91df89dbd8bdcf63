"""How a long run went: rate, gaps and energy balance, in constant memory."""

from __future__ import annotations

import numpy as np


class SoakLog:
    """What is kept of a run: no states, only what they come to.

    Attributes:
        states: How many joint states came.
        lost: How many are missing between them, by their stamps.
        residual: The newest energy balance residual, J.
        largest_residual: The largest by amount, J.
    """

    def __init__(self, period: float):
        """Begin; `period` is the time between joint states, s."""
        self._period_ns = round(1e9 * period)
        self.states = self.lost = 0
        self.residual = self.largest_residual = 0.0
        self._first_at = self._at = 0.0
        self._stamp_ns = 0
        self._worst: dict[str, float] = {}
        self._p99: list[float] = []

    def add(self, at: float, stamp_ns: int) -> None:
        """Add a joint state that came at a time, s, of a clock that nobody sets."""
        if self.states == 0:
            self._first_at = at
        else:
            gap = round((stamp_ns - self._stamp_ns) / self._period_ns)
            self.lost += max(0, gap - 1)
        self.states += 1
        self._at, self._stamp_ns = at, stamp_ns

    def add_residual(self, residual: float) -> None:
        """Add an energy balance residual, J."""
        self.residual = residual
        self.largest_residual = max(self.largest_residual, abs(residual))

    def add_window(self, p99: float, largest: float) -> None:
        """Add what a node says of its last periods: 99th percentile and maximum, s."""
        self._p99.append(p99)
        self._worst["max"] = max(self._worst.get("max", 0.0), largest)

    @property
    def elapsed(self) -> float:
        """Time from the first joint state to the last, s."""
        return self._at - self._first_at

    @property
    def rate(self) -> float:
        """Joint states per time, 1/s."""
        return (self.states - 1) / self.elapsed if self.elapsed > 0.0 else 0.0

    def summary(self) -> dict[str, float]:
        """Return what the run came to."""
        wanted = 1e9 / self._period_ns
        return {
            "duration_s": self.elapsed,
            "states": self.states,
            "lost_states": self.lost,
            "rate_hz": self.rate,
            "rate_error": abs(self.rate / wanted - 1.0),
            "median_p99_period_error_s": float(np.median(self._p99)) if self._p99 else 0.0,
            "largest_p99_period_error_s": max(self._p99, default=0.0),
            "max_period_error_s": self._worst.get("max", 0.0),
            "energy_residual_J": self.residual,
            "largest_energy_residual_J": self.largest_residual,
        }

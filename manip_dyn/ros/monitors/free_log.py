"""How a motion without commands went, measured from joint states alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.ros.monitors.samples import missed


@dataclass
class FreeLog:
    """A motion from the simulated time zero on, without commands.

    Attributes:
        goal: Where it should be at the end (n,), rad or m.
        duration: When that is, simulated s.
    """

    goal: Vector
    duration: float
    _rows: dict[int, Vector] = field(default_factory=dict)

    def add(self, stamp_ns: int, q: Vector, v: Vector) -> None:
        """Add a state up to the duration."""
        if stamp_ns <= round(self.duration * 1e9):
            self._rows[stamp_ns] = np.concatenate([q, v])

    @property
    def fraction(self) -> float:
        """How much of the motion was heard, if its start was."""
        return max(self._rows) * 1e-9 / self.duration if 0 in self._rows else 0.0

    def summary(self) -> dict[str, float]:
        """Return the error at the end, and the fastest joint speed."""
        n = len(self.goal)
        t = np.array(sorted(self._rows)) * 1e-9
        rows = np.array([self._rows[stamp] for stamp in sorted(self._rows)])
        return {
            "samples": len(t),
            "missed_samples": missed(t),
            "duration_s": float(t[-1]),
            "final_position_error": float(np.abs(rows[-1, :n] - self.goal).max()),
            "max_velocity": float(np.abs(rows[:, n:]).max()),
        }

"""The timing law s(t) of a path: constant speed, with smooth start and stop if wanted.

Over a ramp of T seconds the speed ds/dt rises along 10 u^3 - 15 u^4 + 6 u^5, u = t / T, whose
first two derivatives are zero at both ends (the quintic blend; Biagiotti, Melchiorri, Trajectory
Planning for Automatic Machines and Robots, section 2.1.5); then it is constant; at the end it
falls along the same curve. Without a ramp it is constant from the first moment on, as the circle
of Sariyildiz et al. (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

from manip_dyn.core.checks import not_negative, positive


@dataclass(frozen=True)
class Timing:
    """How fast a path is run through.

    Attributes:
        rate: ds/dt between the ramps.
        ramp: Duration of the smooth start, and of the stop, s; 0 for none.
        end: Value of s at the end; infinite for a path without one.
    """

    rate: float
    ramp: float = 0.0
    end: float = inf

    def __post_init__(self) -> None:
        """Refuse rates and ramps that give no motion."""
        positive("rate", self.rate)
        not_negative("ramp", self.ramp, "s")

    @property
    def cruise(self) -> float:
        """ds/dt that is reached: less than `rate` where the path is over before."""
        return min(self.rate, self.end / self.ramp) if self.ramp > 0.0 else self.rate

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return inf if isinf(self.end) else self.end / self.cruise + self.ramp

    def time_at(self, s: float) -> float:
        """Return when an s is passed that lies behind the start's ramp, s."""
        return s / self.cruise + 0.5 * self.ramp

    def numbers(self) -> list[float]:
        """Return the arguments of `evaluate.progress` after the time."""
        return [self.cruise, self.ramp, self.end, self.duration]

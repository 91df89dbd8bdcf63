"""Simulated time tied to the wall clock: how far it has fallen behind, beyond what is let pass."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LAG = 0.5
"""How far stamps may be from the wall clock before they are tied to it anew, s."""


@dataclass
class WallAnchor:
    """The moment at which simulated time and wall clock were last tied together.

    Attributes:
        wall_ns: Wall clock then.
        time_ns: Simulated time then.
        rate: Simulated time that should pass in wall time since.
    """

    wall_ns: int = 0
    time_ns: int = 0
    rate: float = 1.0

    def tie(self, wall_ns: int, time_ns: int, rate: float) -> None:
        """Tie both together at present."""
        self.wall_ns, self.time_ns, self.rate = wall_ns, time_ns, rate

    def lag_ns(self, wall_ns: int, time_ns: int, period_ns: int) -> int:
        """Return what simulated time lacks, if that is more than `MAX_LAG`; else 0.

        The wall clock may have been set back: then it is negative. What is returned is taken as
        made up: from then on the lag is measured anew.

        Args:
            wall_ns: Wall clock now.
            time_ns: Simulated time now.
            period_ns: The lag is rounded to whole periods, so that stamps stay on their grid.
        """
        lag = (wall_ns - self.wall_ns) * self.rate - (time_ns - self.time_ns)
        if abs(lag) <= MAX_LAG * 1e9:
            return 0
        self.tie(wall_ns, time_ns, self.rate)
        return round(lag / period_ns) * period_ns


def fell_behind(lag_ns: int, what: str) -> str:
    """Return the sentence that tells of a lag, and of what goes on from the present."""
    return (
        f"{lag_ns * 1e-9:.3f} s of wall time passed without a step (suspended, too slow, or the "
        f"clock was set): {what} go on from the present"
    )

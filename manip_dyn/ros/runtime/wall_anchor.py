"""Time tied to the wall clock: how far it has fallen behind, beyond what is let pass."""

from __future__ import annotations

MAX_STALL = 1.0
"""A gap as long as this is a suspend, or a step of the clock, s; stamps do not wait for it."""
MAX_LAG = 5.0
"""How far stamps may be from the wall clock where many short gaps add up, s."""


class WallAnchor:
    """The moment at which a time that runs like the wall clock was last tied to it."""

    def __init__(self, wall_ns: int = 0, time_ns: int = 0):
        """Tie both together, ns."""
        self.tie(wall_ns, time_ns)

    def tie(self, wall_ns: int, time_ns: int) -> None:
        """Tie both together at present, ns."""
        self._apart_ns, self._lag_ns = wall_ns - time_ns, 0

    def behind_ns(self, wall_ns: int, time_ns: int) -> int:
        """Return what the time lacks, however much."""
        return wall_ns - time_ns - self._apart_ns

    def lag_ns(self, wall_ns: int, time_ns: int, period_ns: int) -> int:
        """Return what the time lacks, if that is too much by `MAX_STALL` or `MAX_LAG`; else 0.

        The wall clock may have been set back: then it is negative. What is returned is taken as
        made up: from then on the lag is measured anew.

        Args:
            wall_ns: Wall clock now.
            time_ns: The time now.
            period_ns: The lag is rounded to whole periods, so that stamps stay on their grid.
        """
        before, self._lag_ns = self._lag_ns, self.behind_ns(wall_ns, time_ns)
        lag, stall = self._lag_ns, self._lag_ns - before
        if abs(lag) <= MAX_LAG * 1e9 and abs(stall) <= MAX_STALL * 1e9:
            return 0
        self.tie(wall_ns, time_ns)
        return round(lag / period_ns) * period_ns


def fell_behind(lag_ns: int, what: str) -> str:
    """Return the sentence that tells of a lag, and of what goes on from the present."""
    return (
        f"{lag_ns * 1e-9:.3f} s of wall time passed without a step (suspended, too slow, or the "
        f"clock was set): {what} go on from the present"
    )

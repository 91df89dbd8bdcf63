"""What a search raises that finds no timing; `refusal` says it in words."""

from __future__ import annotations


class NoTimingError(Exception):
    """A search found nothing.

    Attributes:
        code: ``lost``: no speed leads on; ``still``: the motion would come to rest; ``begin``:
            the speed at the begin is not among those that lead on; ``unlimited``: nothing limits
            the speed; ``rough``: limits are not met between grid points; ``jerk``: nor are
            those of jerk.
        s: Where.
        low: Least speed ds/dt at the begin that leads on.
        high: Greatest one.
    """

    def __init__(self, code: str, s: float, low: float = 0.0, high: float = 0.0):
        """Take what happened, where, and the speeds at the begin that lead on."""
        super().__init__(code)
        self.code, self.s, self.low, self.high = code, float(s), float(low), float(high)

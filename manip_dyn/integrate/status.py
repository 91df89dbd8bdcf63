"""How an integration ended, as a code that compiled loops return."""

from enum import IntEnum


class Status(IntEnum):
    """Why an integration stopped."""

    SUCCESS = 0
    """The end of the time span was reached."""
    EVENT = 1
    """A terminal event was found."""
    NON_FINITE = 2
    """The right-hand side or the state became infinite or NaN."""
    STEP_UNDERFLOW = 3
    """The tolerances would need a step below the smallest one."""
    TOO_MANY_STEPS = 4
    """The number of steps, failed ones included, reached its limit."""
    PAUSED = 5
    """A record is full: make room and go on; `integrate` never returns it."""

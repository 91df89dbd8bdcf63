"""How an integration, a simulation or a tracked path ended; a code that compiled loops return."""

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
    OFF_PATH = 6
    """The tool did not follow its path; of `track` alone."""

    @property
    def meaning(self) -> str:
        """The same in words."""
        return MEANINGS[self]


MEANINGS = {
    Status.SUCCESS: "the end was reached",
    Status.EVENT: "a terminal event was found",
    Status.NON_FINITE: "numbers became infinite or NaN",
    Status.STEP_UNDERFLOW: "the tolerances need too small a step",
    Status.TOO_MANY_STEPS: "too many steps",
    Status.PAUSED: "a record is full",
    Status.OFF_PATH: "the path was lost",
}


SUCCESS, EVENT, NON_FINITE, STEP_UNDERFLOW, TOO_MANY_STEPS, PAUSED, _ = (int(s) for s in Status)
PASSED, FAILED = -1, -2
"""What a part of a step says, if not one of these: go on, or try again with a shorter step."""

"""How following a joint trajectory ends: the codes of the action FollowJointTrajectory."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from manip_dyn.core.errors import ManipDynError


class Code(IntEnum):
    """Result codes by the action's names."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Outcome(NamedTuple):
    """A code for programs and a sentence for people."""

    code: Code
    sentence: str


class RefusedTrajectoryError(ManipDynError):
    """A trajectory that is not followed at all.

    Attributes:
        code: Why.
    """

    def __init__(self, code: Code, sentence: str):
        """Take the code and the sentence."""
        super().__init__(f"{code.name}: {sentence}")
        self.code = code

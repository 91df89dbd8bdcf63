"""A fault: what is done to nodes that run, and what is to be seen of them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK, WARN, ERROR = "OK", "WARN", "ERROR"


@dataclass(frozen=True)
class Case:
    """One row of the table of docs/reliability.md.

    Attributes:
        name: Its name.
        system: What it is done to: the key of a system in `faults.systems`.
        done: What is done, in words.
        do: Does it, to that system; may return a sentence that came of it.
        node: Whose /diagnostics tell of it.
        state: The state that they tell.
        level: Its level.
        words: What their sentence has.
        logged: What the log has, one sentence, as a warning or an error; empty: nothing.
        ends: Whether the arm then is at "rest", is "following" what it is told, or is "gone" with
            the simulator that was killed; whether a mechanism is "moving" or "gone".
        by_hand: Whether only `record_faults.py` runs it, not the tests.
    """

    name: str
    system: str
    done: str
    do: Callable[[Any], None]
    node: str
    state: str
    level: str
    words: str
    logged: tuple[str, ...] = ()
    ends: str = "rest"
    by_hand: bool = False


@dataclass(frozen=True)
class Outcome:
    """What was seen.

    Attributes:
        case: The name of the case.
        state: The state that the node told.
        level: Its level.
        sentence: Its sentence, or what the log said.
        beyond: How far a joint was beyond its limits at most, rad or m.
        speed: The highest speed of a joint, rad/s or m/s.
        rise: By how much the kinetic energy rose at most from one braked state to the next, J.
        ends: How the arm ended, see `Case`.
    """

    case: str
    state: str
    level: str
    sentence: str
    beyond: float
    speed: float
    rise: float
    ends: str

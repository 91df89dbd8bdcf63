"""Fault cases: a fault of running nodes and its expected consequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK, WARN, ERROR = "OK", "WARN", "ERROR"


@dataclass(frozen=True)
class Case:
    """One row of the table of docs/fault_cases.md.

    Attributes:
        name: Unique name.
        system: The system with the fault, a key of `faults.matrix.SYSTEMS`.
        done: Description of the fault.
        do: Causes the fault in a system; may return a sentence to check instead of diagnostics.
        node: The node that reports the fault on /diagnostics.
        state: The reported state.
        level: The reported level.
        words: A part of the reported sentence.
        logged: Words of one warning or error on the log; empty: not checked.
        ends: The final condition of the arm: "rest", "following" its commands, or "gone" with a
            killed simulator. A mechanism ends "moving" or "gone".
        by_hand: Whether only `record_faults.py` runs the case, not the tests.
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
    """The observed outcome of a case.

    Attributes:
        case: The name of the case.
        state: The state that the node reported.
        level: The level that the node reported.
        sentence: The sentence that the node reported or logged.
        beyond: The largest distance of a joint beyond its limits, rad or m.
        speed: The highest speed of a joint, rad/s or m/s.
        rise: The largest rise of the kinetic energy between two braked states, J.
        ends: The final condition, see `Case`.
    """

    case: str
    state: str
    level: str
    sentence: str
    beyond: float
    speed: float
    rise: float
    ends: str

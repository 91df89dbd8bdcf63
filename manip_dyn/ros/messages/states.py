"""States of a node as rows of a table: name, level, and what it says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN

LEVELS = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}


class State(NamedTuple):
    """A state of a node.

    Attributes:
        name: The value of the key `state`.
        level: OK, WARN or ERROR of a diagnostic status.
        sentence: What is told, with the names of values in braces.
        code: Why, where a state has several reasons.
    """

    name: str
    level: bytes
    sentence: str
    code: str = ""

    def says(self, **values: object) -> str:
        """Return the sentence with its values."""
        return self.sentence.format(**values)


def rows(states: Iterable[State]) -> list[str]:
    """Return the rows of a Markdown table: state, code, level, sentence."""
    return [
        f"| {state.name} | {f'`{state.code}`' if state.code else ''} | {LEVELS[state.level]} "
        f"| {state.sentence} |"
        for state in states
    ]

"""States of a node as rows of a table: name, level, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN

LEVELS = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}
PLACES = {
    "beginning": "executing: what, and when it ends",
    "distance": "how far, m and rad,",
    "end": "reached the goal: when, and how late",
    "fastest": "the fastest joint, and how fast",
    "fault": "why it cannot go on",
    "lead": "how many",
    "method": "by which method",
    "news": "off the path, out of reach, near a singularity or at a joint limit, and by how much",
    "others": "their nodes",
    "outside": "which, where, and the limits",
    "overruns": "how many",
    "percent": "how much",
    "reason": "why",
    "seconds": "how many",
    "silence": "how many",
    "topic": "the topic",
}
"""What stands in the table of a page for each value of a sentence."""


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
        f"| `{state.name}` | {f'`{state.code}`' if state.code else ''} | {LEVELS[state.level]} "
        f"| {_in_words(state.sentence)} |"
        for state in states
    ]


def _in_words(sentence: str) -> str:
    """Return a sentence with what its values are, in italics, in their places."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: f"*{PLACES[found[1]]}*", sentence)

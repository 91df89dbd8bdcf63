"""What the words of a status mean: borne out, partly, contradicted, or left open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

TIMES = "\u00d7"
KINDS = {
    "good": (
        *("confirmed", "reproduced", "as published", "has its order", "not above", "arrived"),
        *("arrives", "fits the figure"),
    ),
    "part": (
        *("partly confirmed", "close", "corrected", "steeper", "flatter"),
        *("arrives, not at the printed time", "arrives, at the printed time for some digits"),
        "fits the figure without the load only",
    ),
    "bad": ("refuted", "differs", "above", "does not arrive", "missing"),
    "open": ("not reproducible", "not measured", "not published", "no number to compare"),
}
"""Kinds of statuses, and the words of each."""
SECONDS, AT_THE_LIMIT = "seconds", "steps at the limit of stability"
"""What a claim counts that another machine does not repeat: times, and steps that the limit of
stability rules, which move by percents with the last bits of another BLAS."""
OF = {words: kind for kind, told in KINDS.items() for words in told}


def counted(statuses: Sequence[str]) -> str:
    """Return statuses with how often each is there; one alone as it is."""
    counts = Counter(statuses)
    if len(counts) == 1:
        return statuses[0]
    return ", ".join(f"{count} {TIMES} {each}" for each, count in counts.items())


def parts(status: str) -> list[str]:
    """Return the single statuses of one that `counted` and others joined."""
    return [part for each in status.split("; ") for part in re.split(rf", (?=\d+ {TIMES} )", each)]


def kind_of(part: str) -> str:
    """Return of which of `KINDS` a single status is; empty where it is none, "drawn" for one."""
    words = re.sub(rf"^\d+ {TIMES} ", "", part)
    if " (" in words and words.split(" (")[0] in OF:
        return "part"  # another verdict with other times
    return OF.get(words, "")

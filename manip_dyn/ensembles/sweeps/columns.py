"""Columns of a table: values of one kind, and why a value is of none or of another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.errors import ManipDynError

WORDS = {
    "number": "a number",
    "numbers": "a list of numbers",
    "text": "a text",
    "yes": "true or false",
}
"""Kinds of values; of kinds that are as frequent the first is taken for meant."""
OF_TYPE = {bool: "yes", int: "number", float: "number", str: "text", list: "numbers"}
LARGEST = 2**63


class Unusable(NamedTuple):
    """A value that a case cannot have, and why."""

    reason: str


class Column(NamedTuple):
    """Plain values, None where there is none, and why: a sentence by place."""

    values: list[Any]
    faults: dict[int, str]


def column(name: str, given: Sequence[Any]) -> Column:
    """Return values of one kind, that of most of them; numbers are floats if one of them is."""
    values: list[Any] = []
    faults: dict[int, str] = {}
    for place, value in enumerate(given):
        try:
            values.append(_plain(name, value))
        except ManipDynError as error:
            values.append(None)
            faults[place] = str(error)
    usual = _usual(values)
    for place, value in enumerate(values):
        if value is not None and OF_TYPE[type(value)] != usual:
            values[place] = None
            faults[place] = f"{name} is {value!r}; expected {WORDS[usual]}, as in other cases"
    if any(type(value) is float for value in values):
        values = [float(value) if type(value) is int else value for value in values]
    return Column(values, faults)


def misfits(rows: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> dict[int, str]:
    """Return which rows of results a table cannot keep beside the others, and why.

    Args:
        rows: Values by name.
        known: Kinds of names that are known before: those of `WORDS`, or ``whole``.
    """
    found: dict[int, str] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        kinds = [_kept_as(row.get(name)) for row in rows]
        usual = {"whole": "number"}.get(known.get(name, ""), known.get(name)) or _most(kinds)
        for place, kind in enumerate(kinds):
            if kind not in (usual, None):
                shown = " ".join(repr(rows[place][name]).split())[:60]
                wanted = WORDS.get(usual, "a number, a text or a list of numbers")
                found[place] = f"the result '{name}' is {shown}; expected {wanted}"
    return found


def _usual(values: Sequence[Any]) -> str:
    return _most([None if value is None else OF_TYPE[type(value)] for value in values])


def _most(kinds: Sequence[str | None]) -> str:
    counts = Counter(kind for kind in kinds if kind in WORDS)
    return max(WORDS, key=lambda kind: counts[kind]) if counts else ""


def _kept_as(value: Any) -> str | None:
    """Return the kind of a result, None if there is none, or a text that is no kind."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        inside = {_kept_as(each) for each in value} - {None}
        return "numbers" if inside <= {"number", "numbers"} else "mixed"
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        return "too large"
    if isinstance(value, str) and not value.isascii() and _broken(value):
        return "no text"
    return OF_TYPE.get(type(value), type(value).__name__)


def _broken(text: str) -> bool:
    """Whether a text has halves of characters, which no file can keep."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Unusable):
        raise ManipDynError(value.reason)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        return [float(_number(name, each)) for each in value]
    return value if isinstance(value, (str, bool)) else _number(name, value)


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and not -LARGEST <= value < LARGEST:
        raise ManipDynError(f"{name} is a number beyond 2^63; expected a smaller one")
    if not whole and not (isinstance(value, float) and math.isfinite(value)):
        shown = " ".join(repr(value).split())[:80]
        raise ManipDynError(f"{name} is {shown}; expected a finite number, a text or numbers")
    return value

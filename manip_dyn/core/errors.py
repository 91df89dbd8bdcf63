"""The one exception root: whatever a user can cause is a `ManipDynError`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class ManipDynError(Exception):
    """Bad input, told in one sentence: what it is, its value, what was expected."""


def closest(name: object, known: Iterable[str]) -> str:
    """Return a hint such as ``; did you mean 'step'?`` or the list of what is known."""
    known = list(known)
    alike = {str(each).lower(): each for each in reversed(known)}
    near = difflib.get_close_matches(str(name).lower(), alike, n=1)
    if near:
        return f"; did you mean '{alike[near[0]]}'?"
    return f"; known: {', '.join(known)}" if known else ""


def shortened(value: Any) -> str:
    """Return a value as a message shows it: in one line, and not all of it if it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."

"""The base class of errors that a user can cause, and helpers for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class ManipDynError(Exception):
    """Error that a user can cause, such as an invalid argument or a missing library."""


def closest(name: object, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name.

    It suggests a similar name, as in ``; did you mean 'step'?``. If none is similar, it lists all
    names.
    """
    names = list(names)
    by_lower_case = {str(candidate).lower(): candidate for candidate in reversed(names)}
    near = difflib.get_close_matches(str(name).lower(), by_lower_case, n=1)
    if near:
        return f"; did you mean '{by_lower_case[near[0]]}'?"
    return f"; known: {', '.join(names)}." if names else "."


def shortened(value: Any) -> str:
    """Return the `repr` of a value on one line, shortened to at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."

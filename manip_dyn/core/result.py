"""What results have in common: they say in one line how they ended."""

from __future__ import annotations

from typing import Any


class Result:
    """A result with `status` and `reason`; arrays of thousands of numbers are no way to show it.

    Attributes:
        status: How it ended.
        reason: The same in words.
    """

    status: Any
    reason: str

    def __repr__(self) -> str:
        """Return class, status and reason."""
        status = getattr(self.status, "name", self.status)
        return f"{type(self).__name__}({status}: {self.reason})"

"""Base classes of results."""

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


class PickledByArguments:
    """Keeps the arguments that it was made of, and is made of them again where it is unpickled."""

    _made_of: tuple[Any, ...]

    def __new__(cls, *arguments: Any) -> Any:
        """Keep the arguments."""
        made = super().__new__(cls)
        made._made_of = arguments
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made."""
        return type(self), self._made_of

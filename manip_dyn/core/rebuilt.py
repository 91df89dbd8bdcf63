"""Objects that are pickled as what they were made of.

What compiled code works with are addresses of one process: another one makes its own.
"""

from __future__ import annotations

from typing import Any


class Rebuilt:
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

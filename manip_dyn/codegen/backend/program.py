"""A straight-line function as text, before it is compiled or run as plain Python."""

from __future__ import annotations

from typing import NamedTuple


class Program(NamedTuple):
    """A straight-line function as text.

    Attributes:
        name: For messages.
        inputs: Names of its input arrays, each with one axis.
        dimensions: Number of axes of its output array, ``out``.
        text: Lines that assign arithmetic, ``sin`` and ``cos`` of names, constants and entries
            of the arrays to names and to entries of ``out``. Text, and not Python functions,
            because parsing tens of thousands of lines as one function costs too much memory.
    """

    name: str
    inputs: tuple[str, ...]
    dimensions: int
    text: str

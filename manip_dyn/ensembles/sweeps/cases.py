"""The cases of a sweep: what varies from one to the next, by name."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.sweeps import samples

RESERVED = ("case", "success", "status", "reason")
"""Columns that every sweep has of its own."""


class Cases(Sequence[dict[str, Any]]):
    """Cases by number, each a dictionary with the same names.

    Values are numbers, booleans, texts, or lists of numbers. ``a * b`` is every case of `a` with
    every one of `b`. Cases that are sampled are the same for the same seed.

    Attributes:
        names: What varies.
    """

    def __init__(self, cases: Iterable[Mapping[str, Any]]):
        """Take cases one by one, all with the same names.

        Raises:
            ManipDynError: If there are none, names differ or are reserved, or a value is none
                that a table can keep.
        """
        rows = [dict(each) for each in cases]
        if not rows:
            raise ManipDynError("there are no cases; expected at least one")
        self.names = tuple(str(name) for name in rows[0])
        for name in self.names:
            if name in RESERVED:
                raise ManipDynError(f"cases have the name '{name}', which every sweep has itself")
        for number, row in enumerate(rows):
            if tuple(row) != self.names:
                raise ManipDynError(
                    f"case {number} has {', '.join(row) or 'no names'}; expected the names of "
                    f"case 0, {', '.join(self.names)}"
                )
        columns = [_column(name, [row[name] for row in rows]) for name in self.names]
        self._rows = list(zip(*columns, strict=True)) if columns else [() for _ in rows]

    @classmethod
    def grid(cls, **axes: Sequence[Any]) -> Cases:
        """Return every combination of the values of each name; the last one varies fastest."""
        for name, values in axes.items():
            if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
                raise ManipDynError(f"grid: {name} is {values!r}; expected a list of values")
        return cls(dict(zip(axes, row, strict=True)) for row in itertools.product(*axes.values()))

    @classmethod
    def random(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return `count` cases, uniform between (low, high) of each name.

        Both may be lists, for vectors.
        """
        return cls(samples.cases("random", count, seed, ranges))

    @classmethod
    def sobol(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return a scrambled Sobol sequence; counts that are powers of two fill space best."""
        return cls(samples.cases("sobol", count, seed, ranges))

    @classmethod
    def latin_hypercube(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return a Latin hypercube: `count` even layers of each name, one case in each."""
        return cls(samples.cases("latin_hypercube", count, seed, ranges))

    def __mul__(self, other: Cases) -> Cases:
        """Return every case of this with every one of another; those of the other vary faster."""
        for name in other.names:
            if name in self.names:
                raise ManipDynError(f"'{name}' is varied twice; expected it once")
        return Cases(a | b for a, b in itertools.product(self, other))

    def __len__(self) -> int:
        """Return how many cases there are."""
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        """Return a case."""
        if isinstance(number, slice):
            return [dict(zip(self.names, row, strict=True)) for row in self._rows[number]]
        return dict(zip(self.names, self._rows[number], strict=True))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the cases."""
        return (dict(zip(self.names, row, strict=True)) for row in self._rows)

    def identity(self, task: str) -> str:
        """Return a hash of these cases, every digit of them, and of what is done with them."""
        content = json.dumps([task, self.names, self._rows], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


def _column(name: str, values: list[Any]) -> list[Any]:
    """Return plain values, all of one kind: numbers are floats if one of them is."""
    plain = [_plain(name, value) for value in values]
    kinds = {type(value) for value in plain}
    if kinds == {int, float}:
        return [float(value) for value in plain]
    if len(kinds) > 1:
        several = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ManipDynError(f"{name} has values of several kinds, {several}; expected one")
    return plain


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        return [float(_number(name, each)) for each in value]
    return value if isinstance(value, (str, bool)) else _number(name, value)


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ManipDynError(f"{name} is {value!r}; expected a finite number, a text or numbers")
    return value

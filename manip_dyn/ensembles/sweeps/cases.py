"""The cases of a sweep: what varies from one to the next, by name."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from math import prod
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.sweeps import samples
from manip_dyn.ensembles.sweeps.columns import Unusable, column

RESERVED = ("case", "success", "status", "reason")
"""Columns that every sweep has of its own."""


class Cases(Sequence[dict[str, Any]]):
    """Cases by number, each a dictionary with the same names.

    Values are numbers, booleans, texts, or lists of numbers. ``a * b`` is every case of `a` with
    every one of `b`. Cases that are sampled are the same for the same seed.

    Attributes:
        names: What varies.
        faults: Why a case cannot be done, a sentence by its number: other names than most have, a
            value of another kind or none at all. Its row says so; what it has not is None.
    """

    def __init__(self, cases: Iterable[Mapping[str, Any]]):
        """Take cases one by one, all with the same names.

        Raises:
            ManipDynError: If there are none, or a name is reserved.
        """
        given = list(cases) if isinstance(cases, Iterable) else [cases]
        rows = [dict(each) if isinstance(each, Mapping) else None for each in given]
        shared = [tuple(row) for row in rows if row is not None]
        if not given:
            raise ManipDynError("there are no cases; expected at least one")
        if not shared:
            shown = " ".join(repr(given[0]).split())[:60]
            raise ManipDynError(f"a case is {shown}; expected a dictionary of names and values")
        usual = Counter(map(frozenset, shared)).most_common(1)[0][0]
        names = next(each for each in shared if frozenset(each) == usual)
        for name in names:
            if name in RESERVED:
                raise ManipDynError(f"cases have the name '{name}', which every sweep has itself")
        self.names = tuple(str(name) for name in names)
        self.faults: dict[int, str] = {}
        columns = [column(str(name), [_of(row, name) for row in rows]) for name in names]
        for each in columns:
            for number, reason in each.faults.items():
                self.faults.setdefault(number, reason)
        for number, row in enumerate(rows):
            if row is None or frozenset(row) != usual:
                shown = ", ".join(map(str, row)) if row else f"{given[number]!r}"[:60]
                wanted = ", ".join(self.names) or "no names"
                self.faults[number] = f"the case has {shown}; expected {wanted}"
        values = [each.values for each in columns]
        self._rows = list(zip(*values, strict=True)) if values else [() for _ in rows]

    @classmethod
    def grid(cls, **axes: Sequence[Any]) -> Cases:
        """Return every combination of the values of each name; the last one varies fastest."""
        for name, values in axes.items():
            if isinstance(values, str) or not _is_list(values):
                raise ManipDynError(f"grid: {name} is {values!r}; expected a list of values")
        if not axes:
            raise ManipDynError("grid: nothing varies; expected names with lists of values")
        _check_count(prod(len(values) for values in axes.values()))
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
        if not isinstance(other, Cases):
            raise ManipDynError(f"cases are multiplied with {other!r}; expected other cases")
        for name in other.names:
            if name in self.names:
                raise ManipDynError(f"'{name}' is varied twice; expected it once")
        _check_count(len(self) * len(other))
        made = copy(self)
        made.names = self.names + other.names
        made._rows = [a + b for a, b in itertools.product(self._rows, other._rows)]
        pairs = enumerate(itertools.product(range(len(self)), range(len(other))))
        reasons = {number: self.faults.get(i) or other.faults.get(j) for number, (i, j) in pairs}
        made.faults = {number: reason for number, reason in reasons.items() if reason}
        return made

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
        faults = [self.faults] if self.faults else []
        content = json.dumps([task, self.names, self._rows, *faults], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


def _of(row: Mapping[Any, Any] | None, name: Any) -> Any:
    return Unusable("") if row is None or name not in row else row[name]


def _is_list(values: Any) -> bool:
    try:
        return len(values) > 0
    except TypeError:
        return False


def _check_count(count: int) -> None:
    if count > samples.MOST:
        raise ManipDynError(f"there are {count} cases; expected {samples.MOST} at most")

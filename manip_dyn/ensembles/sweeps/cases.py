"""Cases of a sweep: named values that vary, their samples, and checks of table columns.

Samples in a box are random, a Sobol sequence or a Latin hypercube, reproducible by their seed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from math import prod
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, whole_number
from manip_dyn.core.errors import ManipDynError

KIND_NAMES = {
    "number": "a number",
    "numbers": "a list of numbers",
    "text": "a text",
    "yes": "true or false",
}
"""Kinds of values; of kinds that are as frequent the first is taken for meant."""
KIND_OF_TYPE = {bool: "yes", int: "number", float: "number", str: "text", list: "numbers"}
LARGEST = 2**63


class InvalidValue(NamedTuple):
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
    usual = _most_frequent_kind(values)
    for place, value in enumerate(values):
        if value is not None and KIND_OF_TYPE[type(value)] != usual:
            values[place] = None
            faults[place] = f"{name} is {value!r}; expected {KIND_NAMES[usual]}, as in other cases"
    if any(type(value) is float for value in values):
        values = [float(value) if type(value) is int else value for value in values]
    return Column(values, faults)


def invalid_results(rows: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> dict[int, str]:
    """Return which rows of results a table cannot keep beside the others, and why.

    Args:
        rows: Values by name.
        known: Kinds of names that are known before: those of `WORDS`, or ``whole``.
    """
    found: dict[int, str] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        kinds = [_kind_of(row.get(name)) for row in rows]
        usual = {"whole": "number"}.get(known.get(name, ""), known.get(name)) or _frequent_kind(
            kinds
        )
        for place, kind in enumerate(kinds):
            if kind not in (usual, None):
                shown = " ".join(repr(rows[place][name]).split())[:60]
                wanted = KIND_NAMES.get(usual, "a number, a text or a list of numbers")
                found[place] = f"the result '{name}' is {shown}; expected {wanted}"
    return found


def _most_frequent_kind(values: Sequence[Any]) -> str:
    return _frequent_kind(
        [None if value is None else KIND_OF_TYPE[type(value)] for value in values]
    )


def _frequent_kind(kinds: Sequence[str | None]) -> str:
    counts = Counter(kind for kind in kinds if kind in KIND_NAMES)
    return max(KIND_NAMES, key=lambda kind: counts[kind]) if counts else ""


def _kind_of(value: Any) -> str | None:
    """Return the kind of a result, None if there is none, or a text that is no kind."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        inside = {_kind_of(each) for each in value} - {None}
        return "numbers" if inside <= {"number", "numbers"} else "mixed"
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        return "too large"
    if isinstance(value, str) and not value.isascii() and _has_surrogates(value):
        return "no text"
    return KIND_OF_TYPE.get(type(value), type(value).__name__)


def _has_surrogates(text: str) -> bool:
    """Whether a text has halves of characters, which no file can keep."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, InvalidValue):
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


SAMPLINGS = ("random", "sobol", "latin_hypercube")
MOST_CASES = 10_000_000
"""Cases of a sweep; each takes some 100 bytes before anything is done."""


def sampled_cases(
    kind: str, count: int, seed: int, ranges: Mapping[str, Any]
) -> Iterator[dict[str, float | list[float]]]:
    """Yield `count` cases between the ends (low, high) of each name, numbers or vectors of them.

    Raises:
        ManipDynError: If a number or a range is none.
    """
    for name, value, least in (("count", count, 1), ("seed", seed, 0)):
        whole_number(f"{kind}: {name}", value, least)
    if count > MOST_CASES:
        raise ManipDynError(f"{kind}: count is {count}; expected {MOST_CASES} at most")
    if not ranges:
        raise ManipDynError(f"{kind}: nothing varies; expected names with [low, high]")
    boxes = {name: _range(f"{kind}: {name}", given) for name, given in ranges.items()}
    low = np.concatenate([np.atleast_1d(box[0]) for box in boxes.values()])
    high = np.concatenate([np.atleast_1d(box[1]) for box in boxes.values()])
    for point in low + (high - low) * _unit(kind, count, seed, len(low)):
        place, case = 0, {}
        for name, (begin, _) in boxes.items():
            size = np.size(begin)
            part = point[place : place + size].tolist()
            case[name], place = part if np.ndim(begin) else part[0], place + size
        yield case


def _unit(kind: str, count: int, seed: int, dimensions: int) -> Matrix:
    """Return points (count, dimensions) in the unit cube."""
    generator = np.random.default_rng(seed)
    if kind == "random":
        return generator.random((count, dimensions))
    from scipy.stats import qmc  # loads slowly

    kinds: dict[str, Any] = {"sobol": qmc.Sobol, "latin_hypercube": qmc.LatinHypercube}
    with warnings.catch_warnings():  # counts need not be powers of two, see `Cases.sobol`
        warnings.simplefilter("ignore", UserWarning)
        return kinds[kind](dimensions, seed=generator).random(count)


def _range(what: str, given: Any) -> tuple[Vector, Vector]:
    try:
        low, high = (np.array(each, dtype=np.float64) for each in given)
    except (TypeError, ValueError) as error:
        raise ManipDynError(f"{what} is {given!r}; expected [low, high]") from error
    if low.shape != high.shape or low.ndim > 1 or not np.all(np.isfinite(high - low)):
        raise ManipDynError(f"{what} is {given!r}; expected two finite numbers, or two lists")
    if np.any(high < low):
        raise ManipDynError(f"{what} is {given!r}; expected low before high")
    return low, high


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
        return cls(sampled_cases("random", count, seed, ranges))

    @classmethod
    def sobol(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return a scrambled Sobol sequence; counts that are powers of two fill space best."""
        return cls(sampled_cases("sobol", count, seed, ranges))

    @classmethod
    def latin_hypercube(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return a Latin hypercube: `count` even layers of each name, one case in each."""
        return cls(sampled_cases("latin_hypercube", count, seed, ranges))

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
    return InvalidValue("") if row is None or name not in row else row[name]


def _is_list(values: Any) -> bool:
    try:
        return len(values) > 0
    except TypeError:
        return False


def _check_count(count: int) -> None:
    if count > MOST_CASES:
        raise ManipDynError(f"there are {count} cases; expected {MOST_CASES} at most")

"""Cases of a sweep: named values that vary, sampling, and checks of table columns.

Samples are random points, a Sobol sequence or a Latin hypercube. They are reproducible by seed.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, whole_number
from manip_dyn.core.errors import ManipDynError

KIND_NAMES = {
    "number": "a number",
    "numbers": "a list of numbers",
    "text": "a string",
    "yes": "true or false",
}
"""Kinds of values; the first one is used if several are equally frequent."""
KIND_OF_TYPE = {bool: "yes", int: "number", float: "number", str: "text", list: "numbers"}
LARGEST = 2**63


class InvalidValue(NamedTuple):
    """Invalid value of a case, with the reason."""

    reason: str


class Column(NamedTuple):
    """Plain values, with None for invalid ones, and the reasons by index."""

    values: list[Any]
    faults: dict[int, str]


def column(name: str, raw: Sequence[Any]) -> Column:
    """Return a column of plain values of the most frequent kind; other values are invalid.

    Integers are converted to floats if there are floats.
    """
    values: list[Any] = []
    faults: dict[int, str] = {}
    for index, value in enumerate(raw):
        try:
            values.append(_plain(name, value))
        except ManipDynError as error:
            values.append(None)
            faults[index] = str(error)
    usual = _most_frequent_kind(values)
    for index, value in enumerate(values):
        if value is not None and KIND_OF_TYPE[type(value)] != usual:
            values[index] = None
            faults[index] = (
                f"{name} must be {KIND_NAMES[usual]}, as in other cases, got {value!r}."
            )
    if any(type(value) is float for value in values):
        values = [float(value) if type(value) is int else value for value in values]
    return Column(values, faults)


def invalid_results(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> dict[int, str]:
    """Return the reasons why rows of results do not fit a table, by row index.

    Args:
        rows: Values by name.
        kinds: Predefined kinds by name: keys of `KIND_NAMES`, or ``whole``. For other names, the
            most frequent kind is expected.
    """
    reasons: dict[int, str] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        row_kinds = [_kind_of(row.get(name)) for row in rows]
        usual = {"whole": "number"}.get(kinds.get(name, ""), kinds.get(name)) or _frequent_kind(
            row_kinds
        )
        for index, kind in enumerate(row_kinds):
            if kind not in (usual, None):
                text = " ".join(repr(rows[index][name]).split())[:60]
                expected = KIND_NAMES.get(usual, "a number, a string or a list of numbers")
                reasons[index] = f"the result '{name}' must be {expected}, got {text}."
    return reasons


def _most_frequent_kind(values: Sequence[Any]) -> str:
    return _frequent_kind(
        [None if value is None else KIND_OF_TYPE[type(value)] for value in values]
    )


def _frequent_kind(kinds: Sequence[str | None]) -> str:
    counts = Counter(kind for kind in kinds if kind in KIND_NAMES)
    return max(KIND_NAMES, key=lambda kind: counts[kind]) if counts else ""


def _kind_of(value: Any) -> str | None:
    """Return the kind of a result, None if it is missing, or a phrase for an invalid value."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        inside = {_kind_of(item) for item in value} - {None}
        return "numbers" if inside <= {"number", "numbers"} else "mixed"
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        return "too large"
    if isinstance(value, str) and not value.isascii() and _has_surrogates(value):
        return "an invalid string"
    return KIND_OF_TYPE.get(type(value), type(value).__name__)


def _has_surrogates(text: str) -> bool:
    """Return whether a string contains lone surrogates, which cannot be stored in files."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, InvalidValue):
        raise ManipDynError(value.reason)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        return [float(_number(name, item)) for item in value]
    return value if isinstance(value, (str, bool)) else _number(name, value)


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and not -LARGEST <= value < LARGEST:
        raise ManipDynError(f"{name} must be below 2^63, got a larger number.")
    if not whole and not (isinstance(value, float) and math.isfinite(value)):
        shown = " ".join(repr(value).split())[:80]
        raise ManipDynError(f"{name} must be a finite number, a string or numbers, got {shown}.")
    return value


SAMPLINGS = ("random", "sobol", "latin_hypercube")
MOST_CASES = 10_000_000
"""Maximum number of cases of a sweep; each number of a case requires 8 bytes."""


def sampled_columns(
    kind: str, count: int, seed: int, ranges: Mapping[str, Any]
) -> dict[str, Vector]:
    """Return values (count,) or (count, k) between the bounds (low, high) of each name.

    Args:
        kind: One of `SAMPLINGS`.
        count: Number of cases.
        seed: Seed of the random numbers.
        ranges: Bounds by name: two numbers, or two lists for a list of numbers.

    Raises:
        ManipDynError: If a number or a range is invalid.
    """
    for name, value, least in (("count", count, 1), ("seed", seed, 0)):
        whole_number(f"{kind}: {name}", value, least)
    if count > MOST_CASES:
        raise ManipDynError(f"{kind}: count must be at most {MOST_CASES}, got {count}.")
    if not ranges:
        raise ManipDynError(f"{kind} must have names with ranges [low, high], got none.")
    boxes = {name: _range(f"{kind}: {name}", ends) for name, ends in ranges.items()}
    low = np.concatenate([np.atleast_1d(box[0]) for box in boxes.values()])
    high = np.concatenate([np.atleast_1d(box[1]) for box in boxes.values()])
    points = low + (high - low) * _unit(kind, count, seed, len(low))
    offset, columns = 0, {}
    for name, (begin, _) in boxes.items():
        values = points[:, offset : offset + np.size(begin)]
        columns[name], offset = values if np.ndim(begin) else values[:, 0], offset + np.size(begin)
    return columns


def _unit(kind: str, count: int, seed: int, dimensions: int) -> Matrix:
    """Return points (count, dimensions) in the unit cube."""
    generator = np.random.default_rng(seed)
    if kind == "random":
        return generator.random((count, dimensions))
    from scipy.stats import qmc  # slow to load

    kinds: dict[str, Any] = {"sobol": qmc.Sobol, "latin_hypercube": qmc.LatinHypercube}
    with warnings.catch_warnings():  # counts need not be powers of two, see `Cases.sobol`
        warnings.simplefilter("ignore", UserWarning)
        return kinds[kind](dimensions, seed=generator).random(count)


def _range(name: str, ends: Any) -> tuple[Vector, Vector]:
    try:
        low, high = (np.array(end, dtype=np.float64) for end in ends)
    except (TypeError, ValueError) as error:
        raise ManipDynError(f"{name} must be [low, high], got {ends!r}.") from error
    if low.shape != high.shape or low.ndim > 1 or not np.all(np.isfinite(high - low)):
        raise ManipDynError(f"{name} must be two finite numbers, or two lists, got {ends!r}.")
    if np.any(high < low):
        raise ManipDynError(f"{name} must be low before high, got {ends!r}.")
    return low, high


BLOCK = 10_000
"""Number of cases that are converted to Python objects at the same time."""
RESERVED = ("case", "success", "status", "reason")
"""Names of columns that are reserved in every sweep."""


class Cases(Sequence[dict[str, Any]]):
    """Cases of a parameter sweep, numbered from 0: dictionaries with the same keys.

    Values are numbers, booleans, strings, or lists of numbers. ``a * b`` is the product of all
    cases of `a` with all cases of `b`. Sampled cases are reproducible by seed.

    Attributes:
        names: Names of the varied values.
        faults: Why a case is invalid, by its number: its keys differ from those of most cases, or
            a value has another type. Invalid and missing values are None. In the results of a
            sweep, the row of such a case contains the reason.
    """

    def __init__(self, cases: Iterable[Mapping[str, Any]]):
        """Create cases from dictionaries with the same names.

        Raises:
            ManipDynError: If there are no cases, no case is a dictionary, or a name is reserved.
        """
        items = list(cases) if isinstance(cases, Iterable) else [cases]
        rows = [dict(item) if isinstance(item, Mapping) else None for item in items]
        row_names = [tuple(row) for row in rows if row is not None]
        if not items:
            raise ManipDynError("cases must have at least one case, got none.")
        if not row_names:
            text = " ".join(repr(items[0]).split())[:60]
            raise ManipDynError(f"a case must be a dictionary of names and values, got {text}.")
        usual = Counter(map(frozenset, row_names)).most_common(1)[0][0]
        names = next(candidate for candidate in row_names if frozenset(candidate) == usual)
        self.names = _checked_names(names)
        self.faults: dict[int, str] = {}
        columns = [column(str(name), [_of(row, name) for row in rows]) for name in names]
        for values in columns:
            for number, reason in values.faults.items():
                self.faults.setdefault(number, reason)
        for number, row in enumerate(rows):
            if row is None or frozenset(row) != usual:
                text = ", ".join(map(str, row)) if row else f"{items[number]!r}"[:60]
                expected = ", ".join(self.names) or "no names"
                self.faults[number] = f"the case must have {expected}, got {text}."
        self._count = len(rows)
        self._columns = [_compact(values.values) for values in columns]

    @classmethod
    def _sampled(cls, kind: str, count: int, seed: int, ranges: Mapping[str, Any]) -> Cases:
        cases = cls.__new__(cls)
        columns = sampled_columns(kind, count, seed, ranges)
        cases.names, cases.faults = _checked_names(columns), {}
        cases._count, cases._columns = count, [*columns.values()]
        return cases

    @classmethod
    def grid(cls, **axes: Sequence[Any]) -> Cases:
        """Return all combinations of the values of each name; the last name varies fastest."""
        for name, values in axes.items():
            if isinstance(values, str) or not _is_list(values):
                raise ManipDynError(f"grid: {name} must be a list of values, got {values!r}.")
        if not axes:
            raise ManipDynError("grid must have names with lists of values, got none.")
        _check_count(prod(len(values) for values in axes.values()))
        by_name = (cls({name: value} for value in axis) for name, axis in axes.items())
        return reduce(cls.__mul__, by_name)

    @classmethod
    def random(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return cases whose values are drawn from uniform distributions.

        Args:
            count: Number of cases.
            seed: Seed of the random numbers.
            **ranges: Bounds of the values by name, such as ``mass=(0.5, 2.0)``; for a list of
                numbers, a list of lower and a list of upper bounds.

        Raises:
            ManipDynError: If an argument is invalid.
        """
        return cls._sampled("random", count, seed, ranges)

    @classmethod
    def sobol(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return `count` cases of a scrambled Sobol sequence, with the arguments of `random`.

        The cases are distributed most evenly if `count` is a power of two.
        """
        return cls._sampled("sobol", count, seed, ranges)

    @classmethod
    def latin_hypercube(cls, count: int, seed: int = 0, **ranges: Any) -> Cases:
        """Return a Latin hypercube: one case in each of `count` equal intervals of each name.

        The arguments are those of `random`.
        """
        return cls._sampled("latin_hypercube", count, seed, ranges)

    def __mul__(self, other: Cases) -> Cases:
        """Return the product with other cases, which vary faster."""
        if not isinstance(other, Cases):
            raise ManipDynError(f"cases can only be multiplied by Cases, got {other!r}.")
        for name in other.names:
            if name in self.names:
                raise ManipDynError(f"each name must vary once, got '{name}' twice.")
        _check_count(len(self) * len(other))
        product = copy(self)
        product.names = self.names + other.names
        product._count = len(self) * len(other)
        first, second = np.divmod(np.arange(product._count), len(other))
        product._columns = [
            *(_selected(values, first) for values in self._columns),
            *(_selected(values, second) for values in other._columns),
        ]
        product.faults = {}
        if self.faults or other.faults:
            for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
                if reason := self.faults.get(i) or other.faults.get(j):
                    product.faults[number] = reason
        return product

    def __len__(self) -> int:
        """Return the number of cases."""
        return self._count

    def __getitem__(self, number: Any) -> Any:
        """Return a case, or the `Cases` of a slice."""
        numbers = range(self._count)[number]
        if isinstance(numbers, int):
            values = (_plain_values(values[numbers]) for values in self._columns)
            return dict(zip(self.names, values, strict=True))
        part = copy(self)
        part._count = len(numbers)
        part._columns = [values[number] for values in self._columns]
        part.faults = {}
        if self.faults:
            reasons = ((i, self.faults.get(k)) for i, k in enumerate(numbers))
            part.faults = {i: reason for i, reason in reasons if reason}
        return part

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the cases."""
        for rows in self._blocks():
            yield from (dict(zip(self.names, row, strict=True)) for row in rows)

    def _blocks(self) -> Iterator[list[tuple]]:
        """Yield the values of all cases in blocks."""
        for first in range(0, self._count, BLOCK):
            block = slice(first, min(first + BLOCK, self._count))
            columns = [_plain_values(values[block]) for values in self._columns]
            yield list(zip(*columns, strict=True)) if columns else [()] * (block.stop - first)

    def identity(self, task: str) -> str:
        """Return a hash of the cases and the task."""
        content = json.dumps([task, self.names, self.faults])
        digest = hashlib.sha256(content.encode())
        for rows in self._blocks():
            digest.update(json.dumps(rows).encode())
        return digest.hexdigest()


def _checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    for name in names:
        if name in RESERVED:
            raise ManipDynError(f"names of cases must not be reserved, got '{name}'.")
    return tuple(str(name) for name in names)


def _compact(values: list[Any]) -> Any:
    """Return values as an array if all are floats, integers, or lists of the same length."""
    kinds = set(map(type, values))
    if kinds in ({float}, {int}) or (kinds == {list} and len(set(map(len, values))) == 1):
        return np.array(values)
    return values


def _selected(values: Any, indices: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values[indices]
    return [values[i] for i in indices.tolist()]


def _plain_values(values: Any) -> Any:
    """Return a value or values of a column without numpy types."""
    return values.tolist() if isinstance(values, (np.ndarray, np.generic)) else values


def _of(row: Mapping[Any, Any] | None, name: Any) -> Any:
    return InvalidValue("") if row is None or name not in row else row[name]


def _is_list(values: Any) -> bool:
    try:
        return len(values) > 0
    except TypeError:
        return False


def _check_count(count: int) -> None:
    if count > MOST_CASES:
        raise ManipDynError(f"a sweep must have at most {MOST_CASES} cases, got {count}.")

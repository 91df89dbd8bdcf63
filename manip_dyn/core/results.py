"""Base classes: results with a status, counts of an integration, and pickling by arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.deprecation import warn_deprecated
from manip_dyn.core.imports import required_module


class Result:
    """A result with a status and a reason, which its `repr` shows.

    Attributes:
        status: Status of the computation.
        reason: Explanation of the status in one sentence.
    """

    status: Any
    reason: str

    def __repr__(self) -> str:
        """Return class, method, duration and status in one line, without the long arrays.

        The reason is added if there is no duration or the computation was not successful.
        """
        status = str(getattr(self.status, "name", self.status)).lower()
        duration = self._duration()
        if duration is None or not getattr(self, "success", True):
            status = f"{status}: {self.reason}"
        words = [getattr(self, "method", ""), "" if duration is None else f"{duration:.5g} s"]
        return f"{type(self).__name__}({', '.join([*filter(None, words), status])})"

    def _repr_html_(self) -> str:
        """Return a table of the numbers and the sizes of the arrays, for notebooks."""
        entries = {"": repr(self), "reason": self.reason}
        for name in getattr(self, "__dataclass_fields__", {}):
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.size > LONGEST_ROW:
                entries[name] = f"array {value.shape}"
            elif isinstance(value, np.ndarray | list | tuple | str | int | float):
                entries.setdefault(name, str(value))
        return html_table(entries.items())

    def _duration(self) -> float | None:
        """Return the duration or the last time (s), or None if there is no time."""
        times: Sequence[float] = getattr(self, "t", [])
        last = times[-1] if len(times) else None
        return getattr(self, "t_final", last)


LONGEST_ROW = 12
"""Largest number of array elements that are shown in notebooks."""


def html_table(rows: Iterable[Iterable[object]]) -> str:
    """Return an HTML table."""
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def data_frame(t: Vector, joints: Sequence[object], **quantities: Matrix) -> Any:
    """Return a pandas DataFrame with the column ``t`` and a column per joint and quantity.

    Args:
        t: Times (m,), s.
        joints: Names of the joints (n,).
        **quantities: Joint quantities (m, n) by name, such as ``position``, which prefixes the
            names of the columns.

    Raises:
        ManipDynError: If pandas is not installed.
    """
    pandas = required_module("pandas", "data frames need", "pandas")
    names = [f"{quantity}_{joint}" for quantity in quantities for joint in joints]
    return pandas.DataFrame(np.column_stack([t, *quantities.values()]), columns=["t", *names])


@dataclass(frozen=True)
class Statistics:
    """Counts of an integration. For N integrations, each count is an array (N,).

    Attributes:
        steps: Number of accepted steps.
        failures: Number of rejected steps.
        evaluations: Number of evaluations of the right-hand side or of its Taylor series.
    """

    steps: Any = 0
    failures: Any = 0
    evaluations: Any = 0

    def __add__(self, other: Statistics) -> Statistics:
        """Return the sums of the counts."""
        return Statistics(
            self.steps + other.steps,
            self.failures + other.failures,
            self.evaluations + other.evaluations,
        )

    def keys(self) -> Iterable[str]:
        """Return the names of the counts, for ``dict(statistics)``. Deprecated."""
        return [field.name for field in fields(self)]

    def __getitem__(self, name: str) -> Any:
        """Return a count by its name. Deprecated: use the attributes."""
        if name not in self.keys():
            raise KeyError(name)
        warn_deprecated(f"statistics[{name!r}]", f"statistics.{name}")
        return getattr(self, name)


class ResultWithStatistics(Result):
    """A result of an integration.

    Attributes:
        statistics: Counts of steps, failures and evaluations.
    """

    statistics: Statistics

    @property
    def steps(self) -> int:
        """Number of accepted steps. Deprecated: use `statistics.steps`."""
        return self._count("steps")

    @property
    def failures(self) -> int:
        """Number of rejected steps. Deprecated: use `statistics.failures`."""
        return self._count("failures")

    @property
    def evaluations(self) -> int:
        """Number of evaluations. Deprecated: use `statistics.evaluations`."""
        return self._count("evaluations")

    def _count(self, name: str) -> int:
        warn_deprecated(f"{type(self).__name__}.{name}", f"statistics.{name}", stacklevel=4)
        return getattr(self.statistics, name)


class PickledByArguments:
    """Base class of objects that are pickled as the positional arguments of their constructor."""

    _arguments: tuple[Any, ...]

    def __new__(cls, *arguments: Any) -> Any:
        """Create an object and store the arguments for pickling."""
        instance = super().__new__(cls)
        instance._arguments = arguments
        return instance

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the arguments."""
        return type(self), self._arguments

"""Base classes: results with a status, counts of an integration, and pickling by arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from manip_dyn.core.deprecation import warn_deprecated


class Result:
    """A result with a status and a reason, which its `repr` shows.

    Attributes:
        status: Status of the computation.
        reason: Explanation of the status in one sentence.
    """

    status: Any
    reason: str

    def __repr__(self) -> str:
        """Return a string with class, status and reason, without the long arrays."""
        status = getattr(self.status, "name", self.status)
        return f"{type(self).__name__}({status}: {self.reason})"


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

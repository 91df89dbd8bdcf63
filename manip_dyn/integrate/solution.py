"""What an integration returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Array, Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.result import Result
from manip_dyn.integrate.steps.dense import DenseOutput
from manip_dyn.integrate.steps.status import Status


class FoundEvents(NamedTuple):
    """The events that were found, in the order of their finding.

    Attributes:
        times: When (k,), s.
        states: States (k, m) before the events' action.
        indices: Which of the event functions (k,).
    """

    times: Vector
    states: Matrix
    indices: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Result):
    """A motion of k samples, and how it was found.

    Attributes:
        t: Times (k,), s: of every step, or those that were asked for as far as they were reached.
        y: States (k, m).
        status: How it ended.
        reason: The same in one sentence.
        t_last: Time that was reached, s.
        y_last: State (m,) at that time.
        steps: Steps that passed.
        failures: Steps that were tried again with a shorter one.
        evaluations: Evaluations of the right-hand side, or of the series.
        events: The events that were found.
        method: Name of the method.
        dense: The motion between the steps, if it was asked for.
    """

    t: Vector
    y: Matrix
    status: Status
    reason: str
    t_last: float
    y_last: Vector
    steps: int
    failures: int
    evaluations: int
    events: FoundEvents
    method: str
    dense: DenseOutput | None = None

    @property
    def success(self) -> bool:
        """Whether the end of the time span or a terminal event was reached."""
        return self.status in (Status.SUCCESS, Status.EVENT)

    def __call__(self, t: ArrayLike) -> Array:
        """Return the states (..., m) at times t (...), s, inside the integrated span."""
        if self.dense is None:
            raise ManipDynError("this solution has no dense output; expected dense=True")
        times = np.asarray(t, dtype=np.float64)
        ends = sorted((self.dense.spans[0, 0], self.t_last))
        if not np.all((times >= ends[0]) & (times <= ends[1])):
            raise ManipDynError(f"t is {times}; expected times from {ends[0]:g} to {ends[1]:g} s")
        return self.dense(times)
